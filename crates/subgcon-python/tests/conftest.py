"""Graphs that tests share, and the command beside the package."""

import os
import pathlib
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp

ROOT = pathlib.Path(__file__).resolve().parents[3]
SHARED = ROOT.parent / "shared" / "data"


class Toy:
    """Three blocks of nodes with features that tell them apart, badly."""

    def __init__(self, nodes=150, width=12, seed=0, weighted=False):
        rng = np.random.default_rng(seed)
        self.y = np.arange(nodes) * 3 // nodes
        odds = np.where(self.y[:, None] == self.y[None], 0.12, 0.01)
        upper = np.triu(rng.random((nodes, nodes)) < odds, 1)
        weights = np.triu(rng.integers(1, 5, (nodes, nodes))) if weighted else 1
        matrix = (upper * weights).astype("f4")
        self.A = sp.csr_array(matrix + matrix.T)
        likely = np.where(np.arange(width)[None] % 3 == self.y[:, None], 0.6, 0.2)
        self.X = (rng.random((nodes, width)) < likely).astype("f4") + rng.random((nodes, width), dtype="f4") / 8
        self.edges = np.array(sp.triu(self.A).nonzero())


@pytest.fixture
def toy():
    return Toy()


@pytest.fixture
def weighted():
    return Toy(weighted=True)


@pytest.fixture(scope="session")
def command():
    if "SUBGCON" not in os.environ:
        pytest.skip("the environment variable SUBGCON does not name the command")

    def run(*arguments):
        done = subprocess.run([os.environ["SUBGCON"], *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def shared():
    if not SHARED.is_dir():
        pytest.skip("../shared/data is not there")
    return SHARED
