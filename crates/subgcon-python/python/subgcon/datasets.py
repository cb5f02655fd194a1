"""Graphs from the folders that the command imports, and graphs that are made up.

Every loader answers a :class:`subgcon.Graph`. With ``store=`` it is written there, as ``subgcon import`` does, and
opened mapped; without, it lies in a temporary folder that is gone with the process.

>>> from subgcon import datasets
>>> datasets.communities(nodes=300, edges=1200, classes=2).num_nodes
300
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from . import _native
from ._graph import Graph
from ._progress import shown, threads

__all__ = [
    "communities",
    "load_graphsage",
    "load_graphsaint",
    "load_musae",
    "load_npz",
    "load_ogb",
    "load_planetoid",
    "load_tables",
    "powerlaw",
]


def _stored(make: Callable[[str, bool], None], store: Any, overwrite: bool) -> Graph:
    if store is not None:
        make(os.fspath(store), overwrite)
        return Graph.open(store)
    folder = tempfile.mkdtemp(prefix="subgcon-")
    try:
        path = os.path.join(folder, "made.graph")
        make(path, False)
        # What is mapped stays when its name goes.
        return Graph(_native.Graph.open(path, keep_store=False))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _imported(
    files: "dict[str, Any]",
    store: Any,
    overwrite: bool,
    directed: bool,
    unweighted: bool,
    duplicates: str,
    n_jobs: "int | None",
    verbose: Any,
) -> Graph:
    if duplicates not in ("largest", "sum"):
        raise ValueError(f"duplicates = {duplicates!r}: choose \"largest\" or \"sum\"")
    edges = json.dumps({"directed": directed, "unweighted": unweighted, "sum": duplicates == "sum"})

    def make(path: str, replace: bool) -> None:
        with shown(verbose) as show:
            _native.import_files(json.dumps(files), edges, path, replace, threads(n_jobs), show)

    return _stored(make, store, overwrite)


def load_planetoid(
    dir: Any,
    name: str,
    *,
    store: Any = None,
    overwrite: bool = False,
    directed: bool = False,
    unweighted: bool = False,
    duplicates: str = "largest",
    n_jobs: "int | None" = None,
    verbose: Any = 0,
) -> Graph:
    """Cora, Citeseer or Pubmed from the raw files ``ind.NAME.*``."""
    files = {"format": "planetoid", "dir": os.fspath(dir), "name": name}
    return _imported(files, store, overwrite, directed, unweighted, duplicates, n_jobs, verbose)


def load_graphsaint(
    dir: Any,
    *,
    store: Any = None,
    overwrite: bool = False,
    directed: bool = False,
    unweighted: bool = False,
    duplicates: str = "largest",
    n_jobs: "int | None" = None,
    verbose: Any = 0,
) -> Graph:
    """A GraphSAINT folder (PPI, Flickr, Reddit)."""
    files = {"format": "graphsaint", "dir": os.fspath(dir)}
    return _imported(files, store, overwrite, directed, unweighted, duplicates, n_jobs, verbose)


def load_graphsage(
    prefix: Any,
    *,
    store: Any = None,
    overwrite: bool = False,
    directed: bool = False,
    unweighted: bool = False,
    duplicates: str = "largest",
    n_jobs: "int | None" = None,
    verbose: Any = 0,
) -> Graph:
    """GraphSAGE's ``PREFIX-G.json`` and the files beside it."""
    files = {"format": "graphsage", "prefix": os.fspath(prefix)}
    return _imported(files, store, overwrite, directed, unweighted, duplicates, n_jobs, verbose)


def load_npz(
    file: Any,
    *,
    features: Any = None,
    labels: Any = None,
    store: Any = None,
    overwrite: bool = False,
    directed: bool = False,
    unweighted: bool = False,
    duplicates: str = "largest",
    n_jobs: "int | None" = None,
    verbose: Any = 0,
) -> Graph:
    """An ``.npz`` of gnn-benchmark or heterophilous-graphs, or a SciPy matrix with files of features and labels beside."""
    beside = lambda path: None if path is None else os.fspath(path)
    files = {"format": "npz", "file": os.fspath(file), "features": beside(features), "labels": beside(labels)}
    return _imported(files, store, overwrite, directed, unweighted, duplicates, n_jobs, verbose)


def load_ogb(
    dir: Any,
    *,
    store: Any = None,
    overwrite: bool = False,
    directed: bool = False,
    unweighted: bool = False,
    duplicates: str = "largest",
    n_jobs: "int | None" = None,
    verbose: Any = 0,
) -> Graph:
    """An OGB node-property folder with ``raw/`` and ``split/``."""
    files = {"format": "ogb", "dir": os.fspath(dir)}
    return _imported(files, store, overwrite, directed, unweighted, duplicates, n_jobs, verbose)


def load_musae(
    dir: Any,
    *,
    label_column: "str | None" = None,
    store: Any = None,
    overwrite: bool = False,
    directed: bool = False,
    unweighted: bool = False,
    duplicates: str = "largest",
    n_jobs: "int | None" = None,
    verbose: Any = 0,
) -> Graph:
    """A MUSAE folder (Facebook, GitHub, Twitch)."""
    files = {"format": "musae", "dir": os.fspath(dir), "label_column": label_column}
    return _imported(files, store, overwrite, directed, unweighted, duplicates, n_jobs, verbose)


def load_tables(
    edges: Any,
    nodes: Any = None,
    *,
    features: Any = None,
    node_count: "int | None" = None,
    source_column: "str | None" = None,
    target_column: "str | None" = None,
    weight_column: "str | None" = None,
    id_column: "str | None" = None,
    label_column: "str | None" = None,
    split_column: "str | None" = None,
    feature_columns: Sequence[str] = (),
    no_features: bool = False,
    create_missing: bool = False,
    delimiter: "str | None" = None,
    no_header: bool = False,
    comment: "str | None" = None,
    store: Any = None,
    overwrite: bool = False,
    directed: bool = False,
    unweighted: bool = False,
    duplicates: str = "largest",
    n_jobs: "int | None" = None,
    verbose: Any = 0,
) -> Graph:
    """Files of edges (one or a list) and nodes: CSV, TSV (also gzipped), Parquet, Arrow, Feather. For tables in memory there is
    :meth:`subgcon.Graph.from_tables`."""
    several = list(edges) if isinstance(edges, (list, tuple)) else [edges]
    beside = lambda path: None if path is None else os.fspath(path)
    files = {
        "format": "table",
        "edges": [os.fspath(path) for path in several],
        "nodes": beside(nodes),
        "features": beside(features),
        "node_count": node_count,
        "source_column": source_column,
        "target_column": target_column,
        "weight_column": weight_column,
        "id_column": id_column,
        "label_column": label_column,
        "split_column": split_column,
        "feature_columns": list(feature_columns),
        "no_features": no_features,
        "create_missing": create_missing,
        "delimiter": delimiter,
        "no_header": no_header,
        "comment": comment,
    }
    return _imported(files, store, overwrite, directed, unweighted, duplicates, n_jobs, verbose)


def communities(
    nodes: int = 3000,
    edges: int = 12_000,
    classes: int = 6,
    *,
    mixing: float = 0.25,
    degree_exponent: float = 2.5,
    feature_width: int = 500,
    dense: bool = False,
    features_per_node: int = 15,
    feature_noise: float = 0.6,
    splits: int = 1,
    train_per_class: int = 20,
    validation_per_class: int = 30,
    seed: int = 0,
    store: Any = None,
    overwrite: bool = False,
    n_jobs: "int | None" = None,
    verbose: Any = 0,
) -> Graph:
    """Planted communities with skewed degrees, features, labels and splits: the graph of ``subgcon generate communities``."""
    model = {
        "model": "communities",
        "nodes": nodes,
        "edges": edges,
        "classes": classes,
        "mixing": mixing,
        # JSON has no infinity, and this is as good as one.
        "degree_exponent": min(degree_exponent, 1e300),
        "feature_width": feature_width,
        "dense": dense,
        "features_per_node": features_per_node,
        "feature_noise": feature_noise,
        "splits": splits,
        "train_per_class": train_per_class,
        "validation_per_class": validation_per_class,
        "seed": seed,
    }
    return _generated(model, store, overwrite, n_jobs, verbose)


def powerlaw(
    nodes: int = 100_000,
    edges: int = 1_000_000,
    *,
    quadrants: "tuple[float, float, float, float]" = (0.57, 0.19, 0.19, 0.05),
    seed: int = 0,
    store: Any = None,
    overwrite: bool = False,
    n_jobs: "int | None" = None,
    verbose: Any = 0,
) -> Graph:
    """Skewed degrees and nothing else (R-MAT): the graph of ``subgcon generate powerlaw``."""
    model = {"model": "powerlaw", "nodes": nodes, "edges": edges, "quadrants": list(quadrants), "seed": seed}
    return _generated(model, store, overwrite, n_jobs, verbose)


def _generated(model: "dict[str, Any]", store: Any, overwrite: bool, n_jobs: "int | None", verbose: Any) -> Graph:
    def make(path: str, replace: bool) -> None:
        with shown(verbose) as show:
            _native.generate(json.dumps(model), path, replace, threads(n_jobs), show)

    return _stored(make, store, overwrite)
