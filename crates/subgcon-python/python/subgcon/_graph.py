"""Nodes, edges and what is known of them."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _arrays, _native, _tables, _tensors


class Graph:
    """A graph that never changes: nodes with ids, edges, perhaps features, labels and splits.

    Every edge goes both ways unless ``directed``; self-loops, repeats and edges of weight zero are dropped and
    counted (:attr:`dropped`). Make one by a ``from_…`` method, :meth:`open`, or :func:`subgcon.as_graph`.

    >>> graph = Graph.from_edges([[0, 1, 2, 2], [1, 2, 0, 2]])
    >>> graph
    Graph(nodes=3, edges=3)
    >>> graph.dropped["self_loops"]
    1
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.Graph) -> None:
        self._native = native

    # Ways in.

    @classmethod
    def open(cls, path: "str | os.PathLike[str]") -> "Graph":
        """A graph store that ``subgcon import`` or :meth:`save` wrote. Its arrays are
        mapped, not read (but for ids that are texts), so a graph may be larger than memory."""
        return cls(_native.Graph.open(os.fspath(path)))

    @classmethod
    def from_matrix(
        cls,
        matrix: Any,
        *,
        features: Any = None,
        ids: Any = None,
        labels: Any = None,
        directed: bool = False,
        duplicates: str = "largest",
    ) -> "Graph":
        """From an adjacency matrix: a SciPy sparse one, or a square array.

        Entry (i, j) is the weight of an edge from node i to node j. A CSR matrix that is symmetric, sorted and without
        repeats, self-loops and zeros is not copied: do not change it while the graph lives. (Its row offsets are
        copied, and weights that are not 32-bit numbers.)

        >>> import scipy.sparse as sp
        >>> Graph.from_matrix(sp.csr_matrix([[0, 2], [2, 0]])).weighted
        True
        """
        if not _arrays.is_sparse(matrix):
            import scipy.sparse

            matrix = scipy.sparse.csr_matrix(_arrays.tensor(matrix))
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"an adjacency matrix of shape {matrix.shape}; rows and columns are the nodes")
        offsets, places, weights = _arrays.csr_parts(matrix)
        native = _native.Graph.from_rows(offsets, places, weights, directed, duplicates)
        return cls(native)._with(features=features, ids=ids, labels=labels)

    @classmethod
    def from_edges(
        cls,
        edges: Any,
        *,
        num_nodes: int | None = None,
        weights: Any = None,
        features: Any = None,
        ids: Any = None,
        labels: Any = None,
        directed: bool = False,
        duplicates: str = "largest",
    ) -> "Graph":
        """From a (2, m) array of node numbers, as ``edge_index`` in PyTorch Geometric; copied.

        Nodes are 0 to ``num_nodes`` - 1: as many as there are rows of ``features``, or up to the largest number where
        neither is given.

        >>> Graph.from_edges([[0, 1], [1, 2]], num_nodes=4)
        Graph(nodes=4, edges=2)
        """
        array = _arrays.dense(edges, "edges")
        if array.size == 0 and array.ndim < 2:
            array = np.empty((2, 0), dtype=np.int64)
        if array.ndim != 2 or array.shape[0] != 2:
            raise ValueError(f"edges of shape {array.shape}; give a (2, m) array: sources, then targets")
        if num_nodes is None:
            if features is not None:
                num_nodes = features.shape[0] if hasattr(features, "shape") else len(features)
            else:
                num_nodes = int(array.max()) + 1 if array.size else 0
        native = _native.Graph.from_numbers(
            num_nodes,
            _arrays.numbers(array[0], "edges"),
            _arrays.numbers(array[1], "edges"),
            _arrays.weights_of(weights),
            directed,
            duplicates,
        )
        return cls(native)._with(features=features, ids=ids, labels=labels)

    @classmethod
    def from_tables(
        cls,
        edges: Any,
        nodes: Any = None,
        *,
        source: Any = None,
        target: Any = None,
        weight: Any = None,
        id: Any = None,
        label: Any = None,
        split: Any = None,
        features: "Sequence[Any] | None" = None,
        directed: bool = False,
        duplicates: str = "largest",
        create_missing: bool = False,
    ) -> "Graph":
        """From tables of pandas, polars or pyarrow, with ids of any kind: integers or texts.

        ``edges`` has a row an edge, with columns such as ``src``, ``dst`` and perhaps ``weight`` (the names that the
        command knows, in capitals or not; others are told). ``nodes`` has a row a node: ``id`` (or the index of a pandas table),
        perhaps ``label``, ``split`` (train, validation, test) and features: one list column ``features``, or every
        other numeric column. Without it the nodes are those that edges name, ordered by id.

        >>> import pandas as pd
        >>> edges = pd.DataFrame({"src": ["ann", "bob"], "dst": ["bob", "eve"]})
        >>> Graph.from_tables(edges).ids
        ['ann', 'bob', 'eve']
        """
        if not _arrays.is_table(edges):
            raise ValueError(f"edges: {type(edges).__name__}; give a table of pandas, polars or pyarrow")
        source, target = _tables.edge_columns(edges, source, target)
        weight = _tables.chosen(edges, weight, ["weight"], "weight")
        ends = [_arrays.ids_of(_arrays.column(edges, name), f"column {name!r}") for name in (source, target)]
        weights = None if weight is None else _arrays.weights_of(_arrays.column(edges, weight))
        ids: Any = None
        if nodes is not None:
            id = _tables.chosen(nodes, id, _arrays.IDS, "id")
            if id is not None:
                ids = _arrays.ids_of(_arrays.column(nodes, id), f"column {id!r}")
            elif _arrays.library(nodes) == "pandas":
                ids = _arrays.ids_of(nodes.index.to_numpy(), "index")
            else:
                raise ValueError(f"nodes: no column of {_arrays.IDS}; tell which one holds the id")
        native = _native.Graph.from_ids(ids, ends[0], ends[1], weights, directed, duplicates, create_missing)
        graph = cls(native)
        if nodes is None:
            return graph
        label = _tables.chosen(nodes, label, ["label"], "label")
        split = _tables.chosen(nodes, split, ["split"], "split")
        matrix, names = _tables.features_of(nodes, features, {id, label, split} - {None})
        added = graph.num_nodes - len(ids)
        if matrix is not None:
            if added:
                matrix = np.concatenate([matrix, np.zeros((added, matrix.shape[1]), dtype=np.float32)])
            graph = graph.with_features(matrix, names=names)
        if label is not None:
            classes, names = _arrays.classes_of(_arrays.column(nodes, label), len(ids))
            classes = np.concatenate([classes, np.full(added, -1, dtype=np.int32)])
            graph = cls(graph._native.with_classes(classes, names))
        if split is not None:
            roles = _arrays.roles_of(_arrays.column(nodes, split))
            roles = np.concatenate([roles, np.zeros(added, dtype=np.uint8)])
            graph = graph.with_splits({"public": roles})
        return graph

    @classmethod
    def from_networkx(
        cls,
        graph: Any,
        *,
        features: Any = None,
        weight: "str | None" = "weight",
        label: "str | None" = None,
        directed: "bool | None" = None,
        duplicates: str = "largest",
    ) -> "Graph":
        """From a NetworkX graph, whose nodes are integers or texts; copied. ``features`` is an array with a row for each
        node in the order of ``graph.nodes``, or the name of a node attribute; so is ``label``.

        >>> import networkx as nx
        >>> Graph.from_networkx(nx.karate_club_graph())
        Graph(nodes=34, edges=78, weighted)
        """
        names = list(graph.nodes)
        ids = _arrays.ids_of(names, "nodes")
        place = {name: number for number, name in enumerate(names)}
        listed = list(graph.edges(data=weight, default=None) if weight else ((u, v, None) for u, v in graph.edges()))
        ends = np.array([(place[u], place[v]) for u, v, _ in listed], dtype=np.int64).reshape(-1, 2).T
        weights: Any = None
        if any(w is not None for _, _, w in listed):
            weights = [1.0 if w is None else w for _, _, w in listed]
        take = lambda name: [graph.nodes[node].get(name) for node in names]
        if isinstance(features, str):
            features = np.array([np.asarray(row, dtype=np.float32) for row in take(features)])
        labels = _arrays._objects(take(label)) if isinstance(label, str) else label
        return cls.from_edges(
            ends,
            num_nodes=len(names),
            weights=weights,
            features=features,
            ids=ids,
            labels=labels,
            directed=graph.is_directed() if directed is None else directed,
            duplicates=duplicates,
        )

    @classmethod
    def from_igraph(
        cls,
        graph: Any,
        *,
        features: Any = None,
        weight: "str | None" = "weight",
        label: "str | None" = None,
        directed: "bool | None" = None,
        duplicates: str = "largest",
    ) -> "Graph":
        """From an igraph graph; copied. The vertex attribute ``name``, where there is one, gives the ids; ``features``
        and ``label`` are arrays or names of vertex attributes."""
        take = lambda name: list(graph.vs[name])
        weights = list(graph.es[weight]) if weight and weight in graph.es.attributes() else None
        if isinstance(features, str):
            features = np.array(take(features), dtype=np.float32)
        labels = _arrays._objects(take(label)) if isinstance(label, str) else label
        return cls.from_edges(
            np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2).T,
            num_nodes=graph.vcount(),
            weights=weights,
            features=features,
            ids=take("name") if "name" in graph.vs.attributes() else None,
            labels=labels,
            directed=graph.is_directed() if directed is None else directed,
            duplicates=duplicates,
        )

    @classmethod
    def from_pyg(cls, data: Any, *, directed: bool = False, duplicates: str = "largest") -> "Graph":
        """From ``Data`` of PyTorch Geometric: ``edge_index`` (or ``adj_t``), ``edge_weight`` (or one column of ``edge_attr``), ``x``, ``y`` and
        the masks. Edges are copied; ``x``, which may be sparse, is not where it is a contiguous 32-bit tensor on the CPU."""
        parts, masks = _tensors.of_pyg(data)
        return cls.from_edges(**parts, directed=directed, duplicates=duplicates)._with_masks(*masks)

    @classmethod
    def from_dgl(
        cls, graph: Any, *, features: str = "feat", label: str = "label", directed: bool = False, duplicates: str = "largest"
    ) -> "Graph":
        """From a DGL graph with one kind of nodes and edges: its ``ndata`` hold features, labels and masks."""
        parts, masks = _tensors.of_dgl(graph, features, label)
        return cls.from_edges(**parts, directed=directed, duplicates=duplicates)._with_masks(*masks)

    # The same graph with something more.

    def with_features(self, features: Any, names: "Iterable[Any] | None" = None) -> "Graph":
        """The same graph with these features, a row a node. A contiguous array of 32-bit numbers, and a SciPy CSR matrix of them, is
        not copied: do not change it while the graph lives. Everything else is; and an array of which most are zeros
        is kept as a sparse matrix."""
        if _arrays.is_table(features):
            names = _arrays.columns(features) if names is None else names
            features = np.stack([_arrays.feature_column(features, name) for name in _arrays.columns(features)], axis=1)
        elif not _arrays.is_sparse(features):
            features = _arrays.tensor(features)
        named = [] if names is None else [str(name) for name in names]
        if _arrays.is_sparse(features):
            width = features.shape[1]
            parts = _arrays.csr_parts(features)
            _check_names(named, width)
            return Graph(self._native.with_sparse(*parts, width, named))
        array = np.asarray(features)
        if array.ndim != 2 or array.dtype.kind not in "iufbO":
            raise ValueError(f"features: {array.dtype} of shape {array.shape}; give a row of numbers for each node")
        _check_names(named, array.shape[1])
        return Graph(self._native.with_dense(_arrays.float32(array), named))

    def with_ids(self, ids: Any) -> "Graph":
        """The same graph with other ids."""
        return Graph(self._native.with_ids(_arrays.ids_of(ids)))

    def with_labels(self, labels: Any) -> "Graph":
        """The same graph with labels: one class a node (None where there is none), or a row of zeros and ones each."""
        classes, names = _arrays.classes_of(labels, self.num_nodes)
        take = self._native.with_members if classes.ndim == 2 else self._native.with_classes
        return Graph(take(classes, names))

    def with_splits(self, splits: "Mapping[str, Any]") -> "Graph":
        """The same graph with splits: a name, and for each node 0 unused, 1 train, 2 validation or 3 test."""
        roles = [(str(name), _arrays.contiguous(roles, dtype=np.uint8)) for name, roles in splits.items()]
        return Graph(self._native.with_splits(roles))

    def _with(self, features: Any = None, ids: Any = None, labels: Any = None) -> "Graph":
        graph = self
        if features is not None:
            graph = graph.with_features(features)
        if ids is not None:
            graph = graph.with_ids(ids)
        if labels is not None:
            graph = graph.with_labels(labels)
        return graph

    def _with_masks(self, train: Any, validation: Any, test: Any) -> "Graph":
        splits = _arrays.roles_from_masks(self.num_nodes, train=train, validation=validation, test=test)
        return self.with_splits(dict(splits)) if splits else self

    # What it holds.

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return self._native.nodes

    @property
    def num_edges(self) -> int:
        """Pairs of connected nodes, or arcs of a directed graph."""
        return self._native.edges

    @property
    def directed(self) -> bool:
        """Whether edges go one way only."""
        return self._native.directed

    @property
    def weighted(self) -> bool:
        """Whether edges have weights other than one."""
        return self._native.weighted

    @property
    def ids(self) -> "np.ndarray | list[str]":
        """The nodes' ids in order: an integer array, or a list of texts."""
        return self._native.ids

    @property
    def features(self) -> Any:
        """Features: an array, a SciPy matrix where most are zero, or None. Read-only, not copied."""
        dense = self._native.dense()
        if dense is not None:
            return dense
        sparse = self._native.sparse()
        if sparse is None:
            return None
        offsets, places, values = sparse
        return _csr(offsets, places, values, (self.num_nodes, self._native.feature_width))

    @property
    def feature_names(self) -> list[str]:
        """Names of the feature columns; empty where they have none."""
        return self._native.feature_names

    @property
    def labels(self) -> "np.ndarray | None":
        """Class numbers (-1 where a node has none), or rows of zeros and ones; :attr:`classes` are their names."""
        found = self._native.labels()
        return None if found is None else found[0]

    @property
    def classes(self) -> list[str]:
        """Names of the classes."""
        found = self._native.labels()
        return [] if found is None else found[1]

    @property
    def splits(self) -> "dict[str, np.ndarray]":
        """Splits by name: for each node 0 unused, 1 train, 2 validation, 3 test."""
        return dict(self._native.splits())

    @property
    def adjacency(self) -> Any:
        """The adjacency matrix, a SciPy CSR array. Read-only, not copied but for weights of one."""
        offsets, places, weights = self._native.rows()
        if weights is None:
            weights = np.ones(len(places), dtype=np.float32)
        return _csr(offsets, places, weights, (self.num_nodes, self.num_nodes))

    @property
    def dropped(self) -> "dict[str, int]":
        """Edges that were given, and what was left out or added."""
        return self._native.dropped

    @property
    def fingerprint(self) -> str:
        """Names the structure: the same for the same edges, in memory and in a store."""
        return self._native.fingerprint

    @property
    def path(self) -> "str | None":
        """The store's folder, where the graph lies in one."""
        path = self._native.path
        return None if path is None else os.fspath(path)

    def numbers_of(self, ids: Any) -> np.ndarray:
        """Numbers (rows) of the nodes with these ids.

        >>> Graph.from_edges([[0], [1]], ids=["ann", "bob"]).numbers_of(["bob"])
        array([1])
        """
        return self._native.numbers_of(_arrays.ids_of(ids, "nodes"))

    def save(self, path: "str | os.PathLike[str]", *, overwrite: bool = False) -> "Graph":
        """Writes a graph store, which the command reads too, and answers the stored graph."""
        self._native.save(os.fspath(path), overwrite)
        return Graph.open(path)

    def __repr__(self) -> str:
        parts = [f"nodes={self.num_nodes}", f"edges={self.num_edges}"]
        if self._native.feature_width is not None:
            parts.append(f"features={self._native.feature_width}")
        parts += [word for word in ("directed", "weighted") if getattr(self, word)]
        return f"Graph({', '.join(parts)})"

    # It never changes: a copy is the graph itself.

    def __copy__(self) -> "Graph":
        return self

    def __deepcopy__(self, memo: Any) -> "Graph":
        return self

    def __reduce__(self) -> Any:
        if self.path is not None:
            return _reopened, (self.path, self._native.manifest)
        native = self._native
        labels = native.labels()
        dense, sparse = native.dense(), native.sparse()
        state = {
            "rows": [None if array is None else np.array(array) for array in native.rows()],
            "directed": self.directed,
            "ids": None if native.numbered else native.ids,
            "dense": None if dense is None else np.array(dense),
            "sparse": None if sparse is None else [np.array(array) for array in sparse],
            "width": native.feature_width,
            "names": native.feature_names,
            "labels": None if labels is None else (np.array(labels[0]), labels[1]),
            "splits": native.splits(),
        }
        return _rebuilt, (state,)


def _reopened(path: str, manifest: str) -> Graph:
    graph = Graph.open(path)
    # It has the checksums of all arrays in it.
    if graph._native.manifest != manifest:
        raise ValueError(f"{path}: holds another graph than when it was pickled; bring that one back")
    return graph


def _rebuilt(state: "dict[str, Any]") -> Graph:
    offsets, places, weights = state["rows"]
    native = _native.Graph.from_rows(
        offsets.view(np.int64), places.view(np.int32), weights, state["directed"], "largest"
    )
    if state["ids"] is not None:
        native = native.with_ids(state["ids"])
    if state["dense"] is not None:
        native = native.with_dense(state["dense"], state["names"])
    if state["sparse"] is not None:
        offsets, places, values = state["sparse"]
        native = native.with_sparse(
            offsets.view(np.int64), places.view(np.int32), values, state["width"], state["names"]
        )
    if state["labels"] is not None:
        classes, names = state["labels"]
        native = (native.with_members if classes.ndim == 2 else native.with_classes)(classes, names)
    if state["splits"]:
        native = native.with_splits(state["splits"])
    return Graph(native)


def _csr(offsets: np.ndarray, places: np.ndarray, values: np.ndarray, shape: Any) -> Any:
    import scipy.sparse

    # SciPy's numbers are signed: the same bits, for anything below 2^31. Places become as wide as offsets are, by a copy,
    # so those are made narrow where they can be: there are few of them.
    narrow = np.int32 if len(places) < 2**31 else np.int64
    return scipy.sparse.csr_array((values, places.view(np.int32), offsets.astype(narrow)), shape=shape, copy=False)


def _check_names(names: list[str], width: int) -> None:
    if names and len(names) != width:
        raise ValueError(f"{len(names)} names for {width} feature columns")
