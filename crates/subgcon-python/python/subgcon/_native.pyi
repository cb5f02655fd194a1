"""What the native half offers; see `src/`. For the package's own use."""

import os
from typing import Any, Callable, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "__version__",
    "SubgconError",
    "Graph",
    "Contexts",
    "Model",
    "resolve",
    "to_toml",
    "train",
    "import_files",
    "generate",
    "evaluate",
]

__version__: str

_Path = str | os.PathLike[str]
_Show = Callable[[str, int, int, str, str], object] | None

class SubgconError(Exception): ...

@final
class Graph:
    @staticmethod
    def open(path: _Path, keep_store: bool = True) -> Graph: ...
    @staticmethod
    def from_rows(
        indptr: NDArray[Any],
        indices: NDArray[Any],
        data: NDArray[np.float32] | None,
        directed: bool = False,
        duplicates: str = "largest",
    ) -> Graph: ...
    @staticmethod
    def from_numbers(
        nodes: int,
        sources: NDArray[np.int64],
        targets: NDArray[np.int64],
        weights: NDArray[np.float32] | None,
        directed: bool = False,
        duplicates: str = "largest",
    ) -> Graph: ...
    @staticmethod
    def from_ids(
        ids: NDArray[np.int64] | list[str] | None,
        sources: NDArray[np.int64] | list[str],
        targets: NDArray[np.int64] | list[str],
        weights: NDArray[np.float32] | None,
        directed: bool = False,
        duplicates: str = "largest",
        create_missing: bool = False,
    ) -> Graph: ...
    def with_ids(self, ids: NDArray[np.int64] | list[str]) -> Graph: ...
    def with_dense(self, values: NDArray[np.float32], names: list[str]) -> Graph: ...
    def with_sparse(
        self,
        indptr: NDArray[Any],
        indices: NDArray[Any],
        data: NDArray[np.float32],
        width: int,
        names: list[str],
    ) -> Graph: ...
    def with_classes(self, classes: NDArray[np.int32], names: list[str]) -> Graph: ...
    def with_members(self, members: NDArray[np.uint8], names: list[str]) -> Graph: ...
    def with_splits(self, splits: list[tuple[str, NDArray[np.uint8]]]) -> Graph: ...
    @property
    def nodes(self) -> int: ...
    @property
    def edges(self) -> int: ...
    @property
    def directed(self) -> bool: ...
    @property
    def weighted(self) -> bool: ...
    @property
    def feature_width(self) -> int | None: ...
    @property
    def feature_names(self) -> list[str]: ...
    @property
    def path(self) -> os.PathLike[str] | None: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def manifest(self) -> str | None: ...
    @property
    def ids(self) -> NDArray[np.int64] | list[str]: ...
    @property
    def numbered(self) -> bool: ...
    @property
    def dropped(self) -> dict[str, int]: ...
    def rows(self) -> list[Any]: ...
    def dense(self) -> NDArray[np.float32] | None: ...
    def sparse(self) -> list[Any] | None: ...
    def labels(self) -> tuple[NDArray[Any], list[str]] | None: ...
    def splits(self) -> list[tuple[str, NDArray[np.uint8]]]: ...
    def numbers_of(self, ids: NDArray[np.int64] | list[str]) -> NDArray[np.int64]: ...
    def save(self, path: _Path, overwrite: bool, jobs: int | None = None, show: _Show = None) -> None: ...

@final
class Contexts:
    def __new__(cls, graph: Graph, settings: str, jobs: int | None = None, show: _Show = None) -> Contexts: ...
    @property
    def size(self) -> int: ...
    def nodes(self) -> NDArray[np.uint32]: ...
    def pagerank(self) -> NDArray[np.float32]: ...
    def captured(self) -> NDArray[np.float32]: ...
    def flags(self) -> NDArray[np.uint8]: ...
    def sizes(self) -> list[int]: ...
    def of(self, node: int) -> tuple[list[int], list[float], list[int | None], bool]: ...

@final
class Model:
    def embed(
        self,
        graph: Graph,
        contexts: Contexts | None = None,
        nodes: NDArray[np.int64] | None = None,
        jobs: int | None = None,
        show: _Show = None,
    ) -> tuple[
        NDArray[np.float32], NDArray[np.uint8], NDArray[np.uint32], NDArray[np.float32], Contexts
    ]: ...
    @property
    def settings(self) -> str: ...
    @property
    def width(self) -> int: ...
    @property
    def block_widths(self) -> list[int]: ...
    @property
    def feature_width(self) -> int: ...
    @property
    def feature_names(self) -> list[str]: ...
    @property
    def step(self) -> int: ...
    def save(self, path: _Path, overwrite: bool) -> None: ...
    @staticmethod
    def load(path: _Path) -> Model: ...
    def to_bytes(self) -> list[bytes]: ...
    @staticmethod
    def from_bytes(files: list[bytes]) -> Model: ...
    @staticmethod
    def write_embeddings(
        path: _Path,
        graph: Graph,
        values: NDArray[np.float32],
        status: NDArray[np.uint8],
        sizes: NDArray[np.uint32],
        mass: NDArray[np.float32],
        overwrite: bool,
    ) -> None: ...

def resolve(preset: str, changes: list[tuple[str, str]]) -> str: ...
def to_toml(settings: str) -> str: ...
def train(
    graph: Graph,
    settings: str,
    columns: int | None = None,
    contexts: Contexts | None = None,
    checkpoint: _Path | None = None,
    every: int = 50,
    jobs: int | None = None,
    show: _Show = None,
) -> tuple[Model, Contexts, NDArray[np.float64], NDArray[np.float64], int]: ...
def import_files(
    files: str, edges: str, output: _Path, overwrite: bool, jobs: int | None = None, show: _Show = None
) -> None: ...
def generate(model: str, output: _Path, overwrite: bool, jobs: int | None = None, show: _Show = None) -> None: ...
def evaluate(
    embeddings: NDArray[np.float32],
    classes: NDArray[Any],
    names: list[str],
    splits: list[tuple[str, NDArray[np.uint8]]],
    random: tuple[int, int, int],
    strengths: list[float] | None,
    normalise: bool,
    standardise: bool,
    pairs: bool,
    seed: int,
    jobs: int | None = None,
) -> str: ...
