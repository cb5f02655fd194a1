"""From keywords to the one tree of settings (docs/settings.md)."""

import json
import os
from typing import Any

from . import _native

#: A margin as the released program has it.
_MARGIN = 0.5


def resolved(preset: str, changes: "list[tuple[str, Any]]") -> str:
    """Settings as JSON: a preset, and changes over it that are dicts or texts."""
    return _native.resolve(preset, [(name, _text(name, change)) for name, change in changes])


def _text(name: str, change: Any) -> str:
    if isinstance(change, dict):
        try:
            return json.dumps(_without_none(change))
        except TypeError as error:
            raise ValueError(f"{name}: {error}") from None
    if isinstance(change, (str, os.PathLike)):
        with open(change, encoding="utf-8") as file:
            return file.read()
    raise ValueError(f"{name}: {type(change).__name__}; give a dict, or the path of a TOML file")


def _without_none(change: Any) -> Any:
    if change is None:
        return "none"
    if isinstance(change, dict):
        return {str(key): _without_none(value) for key, value in change.items()}
    if isinstance(change, (list, tuple)):
        return [_without_none(value) for value in change]
    if hasattr(change, "item") and getattr(change, "ndim", 0) == 0:
        return change.item()
    return change


def objective(kind: Any) -> Any:
    """An objective's name as settings write it."""
    if kind == "margin":
        return {"margin": {"margin": _MARGIN}}
    return kind
