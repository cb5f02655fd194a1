"""Which kind of graph is it?"""

import os
from typing import Any

import numpy as np

from . import _arrays, _tensors
from ._graph import Graph


def as_graph(source: Any, *, num_nodes: int | None = None, **options: Any) -> Graph:
    """A graph from whatever holds one.

    A :class:`Graph`, the path of a graph store, a SciPy sparse matrix, a (2, m) array of node numbers, a square
    array, an edge table of pandas, polars or pyarrow, a pair of an edge table and a node table, or a graph of
    NetworkX, igraph, PyTorch Geometric or DGL. ``options`` go to the ``Graph.from_…`` method that fits.

    >>> import scipy.sparse as sp
    >>> as_graph(sp.eye(3, k=1))
    Graph(nodes=3, edges=2)
    """
    if isinstance(source, Graph):
        return source
    if isinstance(source, (str, os.PathLike)):
        return Graph.open(source)
    if _arrays.is_sparse(source):
        return Graph.from_matrix(source, **options)
    if _arrays.is_table(source):
        return Graph.from_tables(source, **options)
    if isinstance(source, (tuple, list)) and len(source) == 2 and all(_arrays.is_table(part) for part in source):
        return Graph.from_tables(source[0], source[1], **options)
    library = _arrays.library(source)
    if library == "networkx":
        return Graph.from_networkx(source, **options)
    if library == "igraph":
        return Graph.from_igraph(source, **options)
    if library == "dgl":
        return Graph.from_dgl(source, **options)
    if hasattr(source, "edge_index") or _tensors.is_heterogeneous(source):
        return Graph.from_pyg(source, **options)
    array = _arrays.tensor(source)
    if _arrays.is_sparse(array):
        return Graph.from_matrix(array, **options)
    if array.ndim == 2 and array.shape[0] == array.shape[1] and array.shape[0] != 2 and array.dtype.kind in "iufb":
        return Graph.from_matrix(array, **options)
    if array.ndim == 2 and array.shape[0] == 2:
        return Graph.from_edges(array, num_nodes=num_nodes, **options)
    raise ValueError(
        f"graph: cannot make one of {type(source).__name__}"
        + (f" of shape {array.shape}" if array.ndim else "")
        + "; give a sparse matrix, a (2, m) array of node numbers, tables, or the path of a graph store"
    )


def is_graph(thing: Any) -> bool:
    """Whether it looks like a graph rather than labels or features: what may stand in the place of ``y``."""
    if thing is None:
        return False
    if isinstance(thing, (Graph, str, os.PathLike)) or _arrays.is_sparse(thing) or _arrays.is_table(thing):
        return True
    if isinstance(thing, (tuple, list)) and len(thing) == 2 and all(_arrays.is_table(part) for part in thing):
        return True
    if _arrays.library(thing) in ("networkx", "igraph", "dgl") or hasattr(thing, "edge_index") or _tensors.is_heterogeneous(thing):
        return True
    shape = np.shape(thing) if not hasattr(thing, "shape") else tuple(thing.shape)
    return len(shape) == 2 and (shape[0] == 2 or shape[0] == shape[1] > 2)


def is_surely_graph(thing: Any) -> bool:
    """Whether it can be nothing else, labels least of all."""
    return isinstance(thing, (Graph, str, os.PathLike)) or (_arrays.is_sparse(thing) and thing.shape[0] == thing.shape[1])


def holds_graph(thing: Any) -> bool:
    """Whether it is a graph by itself, with its own features perhaps: what may stand alone in the place of ``X``."""
    if isinstance(thing, (Graph, str, os.PathLike)):
        return True
    if isinstance(thing, tuple) and len(thing) == 2 and all(_arrays.is_table(part) for part in thing):
        return True
    return _arrays.library(thing) in ("networkx", "igraph", "dgl") or hasattr(thing, "edge_index") or _tensors.is_heterogeneous(thing)

