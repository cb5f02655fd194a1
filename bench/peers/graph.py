"""A subgcon store as tensors: structure, features, labels and splits as every method gets them."""

import dataclasses
import json
import pathlib

import numpy as np
import scipy.sparse
import torch


@dataclasses.dataclass
class Graph:
    path: pathlib.Path
    adjacency: scipy.sparse.csr_matrix  # both directions of an undirected edge
    edge_index: torch.Tensor  # (2, arcs)
    features: torch.Tensor  # (nodes, width), rows of absolute sum 1 where they are not zero
    labels: torch.Tensor  # (nodes) of classes, -1 for none; or (nodes, classes) of 0 and 1
    classes: int
    several: bool
    splits: list  # of (name, roles): 0 unused, 1 train, 2 validation, 3 test
    contiguous: bool

    @property
    def nodes(self):
        return self.adjacency.shape[0]


def load(path):
    path = pathlib.Path(path)
    manifest = json.loads((path / "manifest.json").read_text())
    if manifest["features"] is None or manifest["labels"] is None:
        raise SystemExit(f"{path}: features and labels are needed to compare; import it with both")
    array = lambda name: np.load(path / f"{name}.npy")
    offsets, neighbours = array("offsets").astype(np.int64), array("neighbours").astype(np.int64)
    nodes = len(offsets) - 1
    adjacency = scipy.sparse.csr_matrix((np.ones(len(neighbours), np.float32), neighbours, offsets), (nodes, nodes))
    sources = np.repeat(np.arange(nodes), np.diff(offsets))
    if manifest["features"]["storage"] == "dense":
        features = array("features")
    else:
        parts = array("feature_values"), array("feature_columns"), array("feature_offsets").astype(np.int64)
        features = scipy.sparse.csr_matrix(parts, (nodes, manifest["features"]["width"])).toarray()
    sums = np.abs(features).sum(1, keepdims=True)
    features = features / np.where(sums > 0, sums, 1)
    labels = array("labels")
    names = [split["name"] for split in manifest["splits"]]
    roles = array("splits") if names else []
    return Graph(
        path,
        adjacency,
        torch.from_numpy(np.stack([sources, neighbours])),
        torch.from_numpy(features.astype(np.float32)),
        torch.from_numpy(labels.astype(np.float32 if labels.ndim == 2 else np.int64)),
        manifest["labels"]["classes"],
        labels.ndim == 2,
        list(zip(names, roles)),
        manifest["ids"]["contiguous"],
    )


def save(graph, rows, path):
    """Embeddings with the store's ids beside them, as `subgcon eval` reads them."""
    np.save(path, np.ascontiguousarray(rows, np.float32))
    if not graph.contiguous:
        import pyarrow

        with pyarrow.ipc.open_file(graph.path / "ids.arrow") as reader:
            ids = reader.read_all()["id"].to_pylist()
        if isinstance(ids[0], int):
            np.save(path.with_suffix(".ids.npy"), np.array(ids, np.int64))
        else:
            path.with_suffix(".ids.txt").write_text("".join(f"{one}\n" for one in ids))
