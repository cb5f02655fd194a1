"""Which columns of a table hold what: ends of edges, ids, labels, splits, features."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _arrays


def edge_columns(edges: Any, source: Any, target: Any, remedy: str = "tell source and target") -> "tuple[Any, Any]":
    """The columns that hold the ends of edges: those that are told, or such with usual names. `remedy` is what else helps
    where there are none."""
    there = _arrays.columns(edges)
    if source is None and target is None:
        for find in (_exact, _in_any_case):
            for pair in _arrays.ENDS:
                found = [find(there, name) for name in pair]
                if None not in found:
                    return found[0], found[1]
        raise ValueError(
            f"edges: columns {there}; call the ends of an edge {' or '.join('/'.join(p) for p in _arrays.ENDS)}, or "
            f"{remedy}"
        )
    if source is None or target is None:
        raise ValueError("tell both source and target, or neither")
    for name in (source, target):
        if name not in there:
            raise ValueError(f"edges: no column {name!r} among {there}")
    return source, target


def chosen(table: Any, name: Any, usual: "list[str]", what: str) -> Any:
    """The column that is told, or one that has a usual name: as the command does, by the name itself before any in
    capitals."""
    there = _arrays.columns(table)
    if name is not None:
        if name not in there:
            raise ValueError(f"{what} = {name!r}: no such column among {there}")
        return name
    found = [find(there, name) for find in (_exact, _in_any_case) for name in usual]
    return next((name for name in found if name is not None), None)


def _exact(there: "list[Any]", name: str) -> Any:
    return name if name in there else None


def _in_any_case(there: "list[Any]", name: str) -> Any:
    if name in there:
        return name
    alike = [other for other in there if isinstance(other, str) and other.lower() == name.lower()]
    if len(alike) > 1:
        raise ValueError(f"columns {alike[0]!r} and {alike[1]!r} may both be the {name}; tell which one is")
    return alike[0] if alike else None


def features_of(nodes: Any, chosen: "Sequence[Any] | None", others: "set[Any]") -> "tuple[np.ndarray | None, list[str]]":
    """Features and their names: of the columns that are told, of a list column, or of all other numbers."""
    there = _arrays.columns(nodes)
    if isinstance(chosen, str):
        chosen = [chosen]
    if chosen is None:
        lists = _in_any_case(there, "features")
        chosen = None if lists is None else [lists]
    if chosen is None:
        chosen = [name for name in there if name not in others and _arrays.feature_column(nodes, name).dtype.kind in "iufb"]
        if not chosen:
            return None, []
    unknown = [name for name in chosen if name not in there]
    if unknown:
        raise ValueError(f"features: no columns {unknown} among {there}")
    if len(chosen) == 1:
        values = _arrays.feature_column(nodes, chosen[0])
        if values.dtype.kind == "O":
            rows = [np.asarray(row, dtype=np.float32) for row in values]
            widths = {row.shape for row in rows}
            if len(widths) != 1 or len(next(iter(widths))) != 1:
                raise ValueError(f"column {chosen[0]!r}: lists of {sorted(widths)} numbers; give each node as many")
            return np.stack(rows), []
    parts = [_arrays.feature_column(nodes, name) for name in chosen]
    bad = [name for name, part in zip(chosen, parts) if part.dtype.kind not in "iufb"]
    if bad:
        raise ValueError(f"features: columns {bad} are no numbers, or have gaps; fill or leave them out")
    with np.errstate(over="ignore"):
        matrix = np.stack([part.astype(np.float32) for part in parts], axis=1)
    return matrix, [str(name) for name in chosen]
