"""How far along is it? A bar by tqdm where that is installed, a line on stderr otherwise."""

import sys
import time
from typing import Any

#: Work shorter than this passes in silence.
_PATIENCE = 0.5


class Bar:
    """Called by the native half about twenty times a second, and where a piece of work ends."""

    def __init__(self) -> None:
        self._what: str | None = None
        self._since = 0.0
        self._bar: Any = None
        self._width = 0

    def __call__(self, what: str, done: int, total: int, unit: str, note: str) -> None:
        if what != self._what:
            self.close()
            self._what, self._since = what, time.monotonic()
        if time.monotonic() - self._since < _PATIENCE:
            return
        if self._bar is None:
            self._bar = self._begin(what, total, unit)
        if self._bar is False:
            share = f"{done:,} of {total:,} {unit}" if total else f"{done:,} {unit}"
            line = f"{what}: {share} {note}".rstrip()
            self._width = max(self._width, len(line))
            print("\r" + line.ljust(self._width), end="", file=sys.stderr, flush=True)
            return
        self._bar.set_postfix_str(note, refresh=False)
        self._bar.n = done
        self._bar.refresh()  # At once: tqdm's own patience would pass over an end that comes soon.

    @staticmethod
    def _begin(what: str, total: int, unit: str) -> Any:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return False
        return tqdm(desc=what, total=total or None, unit=" " + unit, leave=False)

    def close(self) -> None:
        """Takes the bar away."""
        if self._bar is False:
            print("\r" + " " * self._width + "\r", end="", file=sys.stderr, flush=True)
        elif self._bar is not None:  # tqdm refuses to say whether a bar of unknown length is true.
            self._bar.close()
        self._what, self._bar, self._width = None, None, 0

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Silent:
    """Shows nothing."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        pass


def shown(verbose: Any) -> Any:
    """What watches work: a bar, nothing, or a function of the caller's own."""
    if callable(verbose):
        return _Own(verbose)
    return Bar() if verbose else Silent()


class _Own:
    def __init__(self, watch: Any) -> None:
        self._watch = watch

    def __enter__(self) -> Any:
        return self._watch

    def __exit__(self, *_: object) -> None:
        pass


def threads(n_jobs: int | None) -> int | None:
    """Threads as the native half counts them; all cores for None and -1."""
    if n_jobs is None or n_jobs == -1:
        return None
    if isinstance(n_jobs, bool) or int(n_jobs) != n_jobs or n_jobs == 0:
        raise ValueError(f"n_jobs = {n_jobs!r}: choose a number of threads, or None for all cores")
    if n_jobs < 0:
        import os

        return max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))
    return int(n_jobs)
