"""What lies in the graphs of libraries that are made of tensors: PyTorch Geometric and DGL."""

from typing import Any

import numpy as np

from . import _arrays

#: Arguments of ``Graph.from_edges``, and masks for training, validation and test.
Parts = tuple[dict[str, Any], tuple[Any, Any, Any]]


def of_pyg(data: Any) -> Parts:
    """Of ``Data``; of a transposed ``adj_t`` where that has taken the place of ``edge_index``."""
    get = lambda name: getattr(data, name, None)
    edges, weights = get("edge_index"), get("edge_weight")
    if weights is None and get("edge_attr") is not None:
        attributes = _arrays.tensor(data.edge_attr)
        if attributes.ndim == 1 or attributes.shape[1] == 1:
            weights = attributes.reshape(-1)
    if edges is None:
        if get("adj_t") is None:
            raise ValueError("graph: neither edge_index nor adj_t; without edges there is no graph to learn from")
        matrix = _matrix(data.adj_t).tocoo()
        edges, weights = np.stack([matrix.col, matrix.row]), matrix.data
    nodes = get("num_nodes")
    parts = {
        "edges": edges,
        "num_nodes": int(nodes) if nodes is not None else None,
        "weights": _tensor(weights),
        "features": _tensor(get("x")),
        "labels": _tensor(get("y")),
    }
    return parts, (get("train_mask"), get("val_mask"), get("test_mask"))


def of_dgl(graph: Any, features: str, label: str) -> Parts:
    """Of a graph with one kind of nodes and edges."""
    if not getattr(graph, "is_homogeneous", True):
        raise ValueError("graph: several kinds of nodes or edges; give one kind, as dgl.to_homogeneous(graph) does")
    known = graph.ndata
    get = lambda name: known[name] if name in known else None
    sources, targets = graph.edges()
    parts = {
        "edges": np.stack([_arrays.tensor(sources), _arrays.tensor(targets)]),
        "num_nodes": int(graph.num_nodes()),
        "weights": _tensor(graph.edata["weight"] if "weight" in graph.edata else None),
        "features": _tensor(get(features)),
        "labels": _tensor(get(label)),
    }
    return parts, (get("train_mask"), get("val_mask"), get("test_mask"))


def _tensor(values: Any) -> Any:
    return None if values is None else _arrays.tensor(values)


def _matrix(adjacency: Any) -> Any:
    """A sparse tensor, or what torch_sparse has instead, as a SciPy matrix."""
    if hasattr(adjacency, "to_torch_sparse_coo_tensor"):
        adjacency = adjacency.to_torch_sparse_coo_tensor()
    return _arrays.tensor(adjacency)
