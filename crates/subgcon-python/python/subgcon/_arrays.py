"""How does what Python's libraries hold become arrays that the native half takes?"""

from typing import Any

import numpy as np

#: Names of columns that need not be told, as the command knows them.
ENDS = [("src", "dst"), ("source", "target"), ("from", "to"), ("sourceNodeId", "targetNodeId"), ("id_1", "id_2")]
IDS = ["id", "node_id", "nodeId", "nid"]

_ROLES = {
    "train": 1, "training": 1, "tr": 1,
    "val": 2, "valid": 2, "validation": 2, "dev": 2, "va": 2,
    "test": 3, "testing": 3, "te": 3,
    "": 0, "none": 0, "unused": 0,
}


def library(thing: Any) -> str:
    """The library that a thing's class comes from."""
    for kind in type(thing).__mro__:
        root = (kind.__module__ or "").partition(".")[0]
        if root not in ("builtins", "abc", "typing", "collections"):
            return root
    return ""


def is_sparse(thing: Any) -> bool:
    """Whether it is a SciPy sparse matrix or array."""
    return library(thing) == "scipy" and hasattr(thing, "tocsr")


def is_table(thing: Any) -> bool:
    """Whether it is a table of pandas, polars or pyarrow."""
    return library(thing) in ("pandas", "polars", "pyarrow") and (
        hasattr(thing, "columns") or hasattr(thing, "column_names")
    ) and len(getattr(thing, "shape", (0, 0))) == 2


def columns(table: Any) -> list[Any]:
    """Names of a table's columns."""
    return list(table.column_names if hasattr(table, "column_names") else table.columns)


def column(table: Any, name: Any) -> np.ndarray:
    """One column; texts, lists, and numbers of which some are missing, as objects."""
    values = table[name]
    if library(table) == "pyarrow":
        import pyarrow as pa

        kind = values.type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            if values.null_count == 0:
                return np.asarray(values.to_numpy(zero_copy_only=False))
        return _objects(values.to_pylist())
    if library(table) == "polars":
        if values.dtype.is_numeric() and values.null_count() == 0:
            return np.asarray(values.to_numpy())
        return _objects(values.to_list())
    found = values.to_numpy()
    return np.asarray(found) if found.dtype.kind in "iufb" else _objects(list(values))


def feature_column(table: Any, name: Any) -> np.ndarray:
    """The same for features: numbers of which some are missing become floating-point ones with NaN in their place."""
    found = column(table, name)
    if found.dtype.kind != "O":
        return found
    there = [value for value in found if not is_missing(value)]
    if not there or not all(isinstance(value, (bool, int, float, np.number, np.bool_)) for value in there):
        return found
    return np.array([np.nan if is_missing(value) else float(value) for value in found])


def _objects(values: list[Any]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def rows_of(thing: Any) -> int:
    """Rows of a matrix, a table or a list."""
    if getattr(thing, "shape", ()):
        return int(thing.shape[0])
    return len(thing) if hasattr(thing, "__len__") else int(np.shape(thing)[0])


def is_missing(value: Any) -> bool:
    """Whether a value says that there is none."""
    return value is None or (isinstance(value, float) and value != value) or repr(value) in ("<NA>", "NaT")


def ids_of(values: Any, what: str = "ids") -> Any:
    """Ids as a 64-bit array or a list of texts."""
    if isinstance(values, (str, bytes)):
        raise ValueError(f"{what}: {values!r} is one id; give a list of ids")
    if library(values) in ("pandas", "polars", "pyarrow"):
        values = values.to_list() if hasattr(values, "to_list") else values.to_pylist()
    array = values if isinstance(values, np.ndarray) else _as_ids(list(values))
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{what}: an array of shape {array.shape}; give one id a node")
    if array.dtype.kind == "U":
        return array.tolist()
    if array.dtype.kind == "i":
        return contiguous(array, dtype=np.int64)
    if array.dtype.kind == "u":
        if array.size and array.max() > np.uint64(2**63 - 1):
            raise ValueError(f"{what}: {array.max()} is larger than 2^63 - 1; give such ids as text")
        return contiguous(array, dtype=np.int64)
    if array.dtype.kind == "f" and array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array.dtype.kind == "O":
        kinds = {str if isinstance(x, str) else int if _is_int(x) else object for x in array}
        if kinds <= {str}:
            return [str(x) for x in array]
        if kinds == {int}:
            found = [int(x) for x in array]
            far = next((x for x in found if not -(2**63) <= x < 2**63), None)
            if far is not None:
                raise ValueError(f"{what}: {far} is not between -2^63 and 2^63 - 1; give such ids as text")
            return np.array(found, dtype=np.int64)
        bad = next((x for x in array if not isinstance(x, str) and not _is_int(x)), None)
        if kinds == {int, str}:
            raise ValueError(f"{what}: integers and texts are mixed; give one kind")
        raise ValueError(f"{what}: {bad!r} is neither an integer nor text; give every node such an id")
    missing = np.flatnonzero(array != array)
    if missing.size:
        raise ValueError(f"{what}: row {missing[0]} has no id; give every node one")
    bad = array.flat[0] if array.size else array.dtype
    raise ValueError(f"{what}: {bad!r} is neither an integer nor text; give every node such an id")


def _as_ids(values: list[Any]) -> np.ndarray:
    return _objects(values)


def _is_int(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))


def numbers(values: Any, what: str) -> np.ndarray:
    """Node numbers as a contiguous 64-bit array."""
    array = np.asarray(values)
    if array.dtype.kind == "f" and array.size and np.array_equal(array, np.floor(array)):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu" and array.size:
        raise ValueError(f"{what}: {array.dtype} numbers; node numbers are integers")
    return contiguous(array, dtype=np.int64)


def weights_of(values: Any) -> np.ndarray | None:
    """Edge weights as 32-bit numbers."""
    if values is None:
        return None
    array = dense(values, "edge weights")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or array.dtype.kind not in "iufb":
        raise ValueError(f"edge weights: {array.dtype} of shape {array.shape}; give one number an edge")
    return float32(array)


def contiguous(values: Any, dtype: Any) -> np.ndarray:
    """Rows after rows, each number where the processor likes it; the same array where it is so already."""
    return np.require(values, dtype, ["C_CONTIGUOUS", "ALIGNED"])


def float32(values: Any) -> np.ndarray:
    """A contiguous array of 32-bit numbers; the same one where it is that already."""
    with np.errstate(over="ignore"):
        return contiguous(values, dtype=np.float32)


def tensor(values: Any) -> Any:
    """A tensor of any library as an array; a sparse one of PyTorch's as a SciPy matrix, what it holds twice added up. Of numbers
    that NumPy, or SciPy, does not have 32-bit ones are made."""
    if is_sparse_tensor(values):
        from scipy.sparse import coo_matrix

        rows, columns, entries, shape = entries_of(values)
        if entries.ndim != 1:
            raise ValueError(f"a sparse tensor with {entries.shape[1:]} numbers an entry; give one each")
        return coo_matrix((entries, (rows, columns)), shape=shape).tocsr()
    for step in ("detach", "cpu"):
        if hasattr(values, step):
            values = getattr(values, step)()
    if str(getattr(values, "dtype", "")) == "torch.bfloat16":
        values = values.float()
    return np.asarray(values)


def dense(values: Any, what: str) -> np.ndarray:
    """The same where sparse tensors make no sense."""
    if is_sparse_tensor(values):
        raise ValueError(f"{what}: a sparse tensor; give a dense one")
    return np.asarray(tensor(values))


def is_sparse_tensor(thing: Any) -> bool:
    """Whether it is a sparse tensor of PyTorch, of any layout."""
    return str(getattr(thing, "layout", "")).startswith("torch.sparse")


def entries_of(values: Any) -> "tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, int]]":
    """Rows, columns and values of a sparse tensor, as often as it holds them, and its shape."""
    shape = tuple(values.shape)
    if len(shape) < 2:
        raise ValueError(f"a sparse tensor of shape {shape}; give a matrix")
    entries = values.detach().cpu().to_sparse_coo()
    places, numbers = np.asarray(entries._indices()), entries._values()
    if len(places) != 2:
        raise ValueError(f"a sparse tensor of shape {shape}; give a matrix")
    if str(numbers.dtype) in ("torch.bfloat16", "torch.float16"):
        numbers = numbers.float()
    return places[0], places[1], np.asarray(numbers), shape[:2]


def csr_parts(matrix: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Offsets, columns and values of a SciPy matrix; not copied where the types fit."""
    matrix = matrix.tocsr()
    kind = np.int32 if matrix.indices.dtype == np.int32 else np.int64
    offsets = np.int32 if matrix.indptr.dtype == np.int32 else np.int64
    if matrix.data.dtype.kind not in "iufb":
        raise ValueError(f"a matrix of {matrix.data.dtype}; give real numbers")
    return (
        contiguous(matrix.indptr, dtype=offsets),
        contiguous(matrix.indices, dtype=kind),
        float32(matrix.data),
    )


def classes_of(values: Any, nodes: int) -> tuple[np.ndarray, list[str]]:
    """Labels as numbers and names: one class a node, or a row of zeros and ones each."""
    array = values if isinstance(values, np.ndarray) else dense(values, "labels")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.shape[:1] != (nodes,) or array.ndim > 2:
        raise ValueError(f"labels of shape {array.shape} for {nodes} nodes; give one for each node")
    if array.ndim == 2:
        if not np.isin(array, (0, 1)).all():
            raise ValueError("labels: rows of several classes hold zeros and ones")
        return contiguous(array, dtype=np.uint8), [str(c) for c in range(array.shape[1])]
    if array.dtype.kind in "iu":
        found, places = np.unique(array, return_inverse=True)
        return places.astype(np.int32), [str(x) for x in found]
    missing = np.array([is_missing(x) for x in array.tolist()], dtype=bool)
    texts = np.array([_label(x) for x in array[~missing].tolist()], dtype=object)
    names = sorted(set(texts))
    if all(_spells_integer(name) for name in names):
        names.sort(key=int)
    order = {name: place for place, name in enumerate(names)}
    classes = np.full(nodes, -1, dtype=np.int32)
    classes[~missing] = [order[text] for text in texts]
    return classes, names


def _label(value: Any) -> str:
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return str(value)


def _spells_integer(text: str) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True


def roles_of(values: Any) -> np.ndarray:
    """Roles from words: train, validation, test; anything missing is unused."""
    roles = []
    for row, value in enumerate(values.tolist()):
        word = "" if is_missing(value) else str(value).strip().lower()
        if word not in _ROLES:
            raise ValueError(f"split, row {row}: {value!r} is no role; write train, validation, test or nothing")
        roles.append(_ROLES[word])
    return np.array(roles, dtype=np.uint8)


def roles_from_masks(nodes: int, **masks: Any) -> list[tuple[str, np.ndarray]]:
    """Splits from masks of training, validation and test nodes, one column a split."""
    given = {name: dense(mask, f"{name} mask").astype(bool) for name, mask in masks.items() if mask is not None}
    if not given:
        return []
    wide = max((mask.shape[1] if mask.ndim == 2 else 1) for mask in given.values())
    splits = []
    for split in range(wide):
        roles = np.zeros(nodes, dtype=np.uint8)
        for name, role in (("test", 3), ("validation", 2), ("train", 1)):
            if name in given:
                mask = given[name]
                if mask.ndim == 2:
                    mask = mask[:, min(split, mask.shape[1] - 1)]
                if mask.shape != (nodes,):
                    raise ValueError(f"a {name} mask of shape {mask.shape} for {nodes} nodes")
                roles[mask] = role
        splits.append(("public" if wide == 1 else str(split), roles))
    return splits
