"""The nodes that matter to a node."""

from typing import Any

import numpy as np

from . import _native
from ._graph import Graph
from ._progress import shown, threads
from ._settings import resolved
from ._sources import as_graph


class Contexts:
    """The context of every node of a graph: the node itself and those with the largest personalised PageRank over
    degree, ``size`` in all.

    >>> from subgcon import datasets
    >>> contexts = Contexts.of(datasets.communities(nodes=200, edges=800, classes=2), size=5)
    >>> contexts.nodes.shape
    (200, 5)
    >>> [member["id"] for member in contexts.explain(7)][0]
    7
    """

    def __init__(self, native: _native.Contexts, graph: Graph) -> None:
        self._native = native
        self._graph = graph

    @classmethod
    def of(
        cls,
        graph: Any,
        size: int = 20,
        *,
        restart: float = 0.15,
        settings: "dict[str, Any] | None" = None,
        n_jobs: "int | None" = None,
        verbose: Any = 0,
    ) -> "Contexts":
        """Finds them. ``settings`` are those of the section ``[contexts]`` (docs/settings.md). Contexts of a store lie beside
        it and are found once."""
        graph = as_graph(graph)
        chosen = {"contexts": {**(settings or {}), "size": size, "restart": restart}}
        # No encoder is trained here: the one that takes contexts of any size.
        text = resolved("default", [("encoder", {"encoder": {"kind": "mlp"}}), ("contexts", chosen)])
        with shown(verbose) as show:
            return cls(_native.Contexts(graph._native, text, threads(n_jobs), show), graph)

    @property
    def size(self) -> int:
        """Nodes in a context, at most."""
        return self._native.size

    @property
    def nodes(self) -> np.ndarray:
        """(nodes, size): numbers of the members, the centre first; short contexts end in 2^32 - 1."""
        return self._native.nodes()

    @property
    def pagerank(self) -> np.ndarray:
        """(nodes, size): PageRank of each member, seen from the centre."""
        return self._native.pagerank()

    @property
    def captured(self) -> np.ndarray:
        """(nodes): how much of a walk's end lies inside each context."""
        return self._native.captured()

    @property
    def sizes(self) -> np.ndarray:
        """(nodes): members of each context."""
        return np.array(self._native.sizes(), dtype=np.int64)

    def explain(self, node: Any) -> "list[dict[str, Any]]":
        """Which nodes a node's embedding is made from: their ids, PageRank, and how many edges away they are (None where
        that is far), the node itself first."""
        (number,) = self._graph.numbers_of([node])
        members, pagerank, hops, _ = self._native.of(int(number))
        ids = self._graph.ids
        named = [ids[member] for member in members]
        named = [int(name) if isinstance(name, np.integer) else name for name in named]
        return [
            {"id": name, "node": member, "pagerank": mass, "hops": away}
            for name, member, mass, away in zip(named, members, pagerank, hops)
        ]

    def __len__(self) -> int:
        return self._graph.num_nodes

    def __repr__(self) -> str:
        return f"Contexts(nodes={len(self)}, size={self.size})"
