"""What lies in the graphs of libraries that are made of tensors: PyTorch Geometric and DGL."""

from typing import Any

import numpy as np

from . import _arrays

#: Arguments of ``Graph.from_edges``, and masks for training, validation and test.
Parts = tuple[dict[str, Any], tuple[Any, Any, Any]]


def is_heterogeneous(thing: Any) -> bool:
    """Whether it is PyTorch Geometric's graph of several kinds of nodes or edges, which no method takes."""
    return hasattr(thing, "to_homogeneous") and hasattr(thing, "edge_types")


def several_kinds(remedy: str) -> ValueError:
    """What is said of such a graph."""
    return ValueError(f"graph: several kinds of nodes or edges; give one kind, as {remedy} does")


def of_pyg(data: Any) -> Parts:
    """Of ``Data``; of a transposed ``adj_t`` where that has taken the place of ``edge_index``."""
    if is_heterogeneous(data):
        raise several_kinds("to_homogeneous()")
    get = lambda name: getattr(data, name, None)
    edges, nodes, weights = get("edge_index"), get("num_nodes"), get("edge_weight")
    if edges is None:
        if get("adj_t") is None:
            raise ValueError("graph: neither edge_index nor adj_t; without edges there is no graph to learn from")
        targets, sources, values, shape = _arrays.entries_of(_torch(data.adj_t))
        edges, nodes = np.stack([sources, targets]), shape[0] if nodes is None else nodes
        # Where no weights were put there it holds ones.
        weights = weights if weights is not None or (values == 1).all() else values
    if weights is None and get("edge_attr") is not None:
        attributes = _arrays.dense(data.edge_attr, "edge_attr")
        if attributes.ndim == 1 or attributes.shape[1] == 1:
            weights = attributes.reshape(-1)
    parts = {
        "edges": edges,
        "num_nodes": int(nodes) if nodes is not None else None,
        "weights": weights,
        "features": _tensor(get("x")),
        "labels": get("y"),
    }
    return parts, (get("train_mask"), get("val_mask"), get("test_mask"))


def of_dgl(graph: Any, features: str, label: str) -> Parts:
    """Of a graph with one kind of nodes and edges."""
    if not getattr(graph, "is_homogeneous", True):
        raise several_kinds("dgl.to_homogeneous(graph)")
    known = graph.ndata
    get = lambda name: known[name] if name in known else None
    sources, targets = graph.edges()
    parts = {
        "edges": np.stack([_arrays.tensor(sources), _arrays.tensor(targets)]),
        "num_nodes": int(graph.num_nodes()),
        "weights": graph.edata["weight"] if "weight" in graph.edata else None,
        "features": _tensor(get(features)),
        "labels": get(label),
    }
    return parts, (get("train_mask"), get("val_mask"), get("test_mask"))


def _tensor(values: Any) -> Any:
    return None if values is None else _arrays.tensor(values)


def _torch(adjacency: Any) -> Any:
    """A sparse tensor of PyTorch's, also where torch_sparse has one of its own."""
    convert = getattr(adjacency, "to_torch_sparse_coo_tensor", None)
    return adjacency if convert is None else convert()
