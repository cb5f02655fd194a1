"""Node embeddings for large attributed graphs, learnt without labels.

>>> from subgcon import SubgCon, datasets
>>> graph = datasets.communities(nodes=300, edges=1500, classes=3, train_per_class=10, validation_per_class=10)
>>> SubgCon(n_components=32, random_state=0).fit_transform(graph).shape
(300, 32)

What is imported is imported when it is first used: ``import subgcon`` alone takes milliseconds.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._native import SubgconError, __version__

if TYPE_CHECKING:
    from . import datasets
    from ._contexts import Contexts
    from ._estimator import SubgCon
    from ._evaluate import evaluate
    from ._graph import Graph
    from ._sources import as_graph

__all__ = [
    "Contexts",
    "Graph",
    "SubgCon",
    "SubgconError",
    "__version__",
    "as_graph",
    "datasets",
    "evaluate",
]

_PLACES = {
    "Contexts": "_contexts",
    "Graph": "_graph",
    "SubgCon": "_estimator",
    "as_graph": "_sources",
    "evaluate": "_evaluate",
}


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return import_module(".datasets", __name__)
    if name in _PLACES:
        value = getattr(import_module("." + _PLACES[name], __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
