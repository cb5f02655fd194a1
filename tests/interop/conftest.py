"""The command under test, and what other programs see in its stores."""

import json
import os
import pathlib
import subprocess

import numpy as np
import pyarrow.feather
import pytest
import scipy.sparse as sp

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"


@pytest.fixture(scope="session")
def subgcon():
    def run(*arguments, fails=False):
        done = subprocess.run(
            [os.environ["SUBGCON"], *map(str, arguments)], capture_output=True, text=True
        )
        assert (done.returncode != 0) == fails, done.stderr
        return done.stderr if fails else done.stdout

    return run


@pytest.fixture
def shared():
    if not SHARED.is_dir():
        pytest.skip("../shared/data is not there")
    return SHARED


class Opened:
    """A store as NumPy, SciPy and pyarrow see it."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.manifest = json.loads((self.path / "manifest.json").read_text())
        load = lambda name: np.load(self.path / f"{name}.npy", mmap_mode="r")
        offsets, neighbours = load("offsets"), load("neighbours")
        n = self.manifest["nodes"]
        weights = load("weights") if self.manifest["weighted"] else np.ones(len(neighbours), "f4")
        self.adjacency = sp.csr_matrix((weights, neighbours, offsets.astype("i8")), shape=(n, n))
        self.ids = pyarrow.feather.read_table(self.path / "ids.arrow")["id"].to_pylist()
        self.features = self.labels = self.splits = None
        if self.manifest["features"]:
            width = self.manifest["features"]["width"]
            if self.manifest["features"]["storage"] == "dense":
                self.features = np.asarray(load("features"))
                assert self.features.shape == (n, width)
            else:
                parts = (load("feature_values"), load("feature_columns"), load("feature_offsets"))
                parts = (parts[0], parts[1], parts[2].astype("i8"))
                self.features = sp.csr_matrix(parts, shape=(n, width)).toarray()
        if self.manifest["labels"]:
            self.labels = load("labels")
        if self.manifest["splits"]:
            self.splits = load("splits")


@pytest.fixture
def opened():
    return Opened


def symmetric(rows, columns, n, values=None):
    """The adjacency by SciPy: both directions, no self-loops; of repeats the largest value."""
    rows, columns = np.asarray(rows), np.asarray(columns)
    values = np.ones(len(rows), "f4") if values is None else np.asarray(values, "f4")
    keep = (rows != columns) & (values > 0)
    best = {}
    for r, c, v in zip(rows[keep].tolist(), columns[keep].tolist(), values[keep].tolist()):
        for pair in ((r, c), (c, r)):
            best[pair] = max(best.get(pair, 0.0), v)
    if not best:
        return sp.csr_matrix((n, n), dtype="f4")
    pairs = np.array(list(best))
    return sp.csr_matrix((np.array(list(best.values()), "f4"), pairs.T), shape=(n, n))


def same_matrix(left, right):
    return left.shape == right.shape and (left != right).nnz == 0
