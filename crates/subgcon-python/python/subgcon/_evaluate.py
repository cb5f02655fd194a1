"""How good are embeddings? By labels that learning never saw."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _arrays, _native
from ._graph import Graph
from ._progress import threads


def evaluate(
    embedding: Any,
    labels: Any,
    splits: Any = None,
    *,
    train_per_class: "int | None" = None,
    validation_per_class: "int | None" = None,
    sizes: Any = None,
    C: "float | list[float] | None" = None,
    normalise: bool = False,
    standardise: bool = False,
    random_state: int = 0,
    n_jobs: "int | None" = None,
) -> "dict[str, Any]":
    """What a linear probe reads from embeddings, as ``subgcon eval`` tells it.

    ``labels`` are one class a node (None or -1 in a graph: no label), rows of zeros and ones, or a :class:`Graph` that has
    labels and perhaps splits. ``splits`` is a dict of roles (0 unused, 1 train, 2 validation, 3 test), a number of
    random splits, or nothing: the graph's, or ten random ones where it has none or their sizes are given. Those have so many nodes of each
    class (20 and 30), or with ``sizes`` so many of the whole for training, validation and test: shares, numbers or "rest", as
    ``(0.6, 0.2, 0.2)`` or ``(140, 500, "rest")``. C is chosen on the validation nodes unless it is given. Groups (k-means) and
    nearest nodes are those of some nodes where there are more than 32,768 (``groups["nodes"]``, ``sim_nodes``).

    >>> from subgcon import datasets
    >>> graph = datasets.communities(nodes=600, edges=3000, classes=3)
    >>> report = evaluate(np.eye(3, dtype="f4")[graph.labels], graph)
    >>> report["metric"], report["test_mean"]
    ('accuracy', 1.0)
    """
    numbers = {"train_per_class": train_per_class, "validation_per_class": validation_per_class, "sizes": sizes}
    drawn_by = [name for name, number in numbers.items() if number is not None]
    if isinstance(labels, Graph):
        graph, found = labels, labels._native.labels()
        if found is None:
            raise ValueError("labels: the graph has none; give it some with with_labels")
        classes, names = found
        if splits is None and not drawn_by:
            splits = graph.splits or None
    else:
        classes, names = _arrays.classes_of(labels, len(labels))
    rows = _arrays.dense(embedding, "embedding")
    if rows.ndim != 2:
        raise ValueError(f"embedding of shape {rows.shape}; give a row for each node")
    drawn, given = (10, []) if splits is None else (0, [])
    if isinstance(splits, (int, np.integer)):
        drawn = int(splits)
        if drawn < 1:
            raise ValueError(f"splits = {drawn}: draw at least one")
    elif isinstance(splits, Mapping):
        given = [(str(name), _arrays.contiguous(roles, dtype=np.uint8)) for name, roles in splits.items()]
    elif splits is not None:
        given = [("given", _arrays.contiguous(splits, dtype=np.uint8))]
    if given and drawn_by:
        raise ValueError(f"{drawn_by[0]}: of random splits; give their number as splits, or leave one of the two out")
    if sizes is not None:
        if len(drawn_by) > 1:
            raise ValueError("sizes are of the whole; leave them out, or train_per_class and validation_per_class")
        sizes = sizes if isinstance(sizes, str) else "/".join(str(size) for size in sizes)
    strengths = None if C is None else [float(c) for c in np.atleast_1d(C)]
    single = classes.ndim == 1
    report = json.loads(
        _native.evaluate(
            _arrays.float32(rows),
            _arrays.contiguous(classes, dtype=np.int32 if single else np.uint8),
            names,
            given,
            (drawn, 20 if train_per_class is None else train_per_class, 30 if validation_per_class is None else validation_per_class, sizes),
            strengths,
            normalise,
            standardise,
            random_state,
            threads(n_jobs),
        )
    )
    metric = "accuracy" if single else "micro_f1"
    probed = dict(report["splits"])
    tests = [found["test"][metric] for found in probed.values()]
    validations = [found["validation"][metric] for found in probed.values() if found["validation"]]
    return {
        "metric": metric,
        "test_mean": float(np.mean(tests)),
        "test_std": float(np.std(tests, ddof=1)) if len(tests) > 1 else None,
        "validation_mean": float(np.mean(validations)) if len(validations) == len(tests) else None,
        "nodes": rows.shape[0],
        "width": rows.shape[1],
        **{key: report[key] for key in ("neighbours", "groups", "sim_nodes", "sim_at_5", "sim_at_10")},
        "splits": probed,
    }
