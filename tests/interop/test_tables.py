"""Tables written by pyarrow come in as they are, in every format."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse as sp

from conftest import same_matrix, symmetric

FORMATS = ["csv", "tsv", "csv.gz", "parquet", "feather", "arrow"]


def write(table, path):
    name = path.name
    if name.endswith(".gz"):
        with gzip.open(path, "wb") as file:
            pa.csv.write_csv(table, file)
    elif name.endswith(".csv"):
        pa.csv.write_csv(table, path)
    elif name.endswith(".tsv"):
        pa.csv.write_csv(table, path, pa.csv.WriteOptions(delimiter="\t"))
    elif name.endswith(".parquet"):
        pa.parquet.write_table(table, path, row_group_size=100, compression="zstd")
    else:
        pa.feather.write_feather(table, path, chunksize=90, compression="lz4")
    return path


def made_up(kind, seed):
    """300 nodes with ids of a kind, 1,000 weighted edges, features, labels, splits."""
    random = np.random.default_rng(seed)
    n, m = 300, 1000
    numbers = random.choice(10**6, n, replace=False)
    ids = {
        "small": numbers.tolist(),
        "large": (numbers.astype("i8") * 10**12 - 10**17).tolist(),
        "text": [f'node "{k}", no. é{k % 7}' for k in numbers],
    }[kind]
    src, dst = random.integers(0, n, m), random.integers(0, n, m)
    weight = random.integers(0, 5, m).astype("f4") / 2
    features = np.where(random.random((n, 12)) < 0.4, random.normal(size=(n, 12)), 0).astype("f4")
    label = [["red", "green", None][k] for k in random.integers(0, 3, n)]
    split = [["train", "validation", "test", ""][k] for k in random.integers(0, 4, n)]
    edges = pa.table(
        {"source": [ids[k] for k in src], "note": ["x,y"] * m, "weight": weight, "target": [ids[k] for k in dst]}
    )
    return ids, src, dst, weight, features, label, split, edges


@pytest.mark.parametrize("kind", ["small", "large", "text"])
@pytest.mark.parametrize("ending", FORMATS)
def test_edges_and_nodes(subgcon, opened, tmp_path, ending, kind):
    ids, src, dst, weight, features, label, split, edges = made_up(kind, 1)
    columns = {f"f{k}": features[:, k] for k in range(12)}
    nodes = pa.table({"nid": ids, "label": pa.array(label), "name": ["a\nb"] * 300, **columns, "split": split})
    e, v = write(edges, tmp_path / f"e.{ending}"), write(nodes, tmp_path / f"n.{ending}")
    printed = subgcon("import", "table", "--edges", e, "--nodes", v, "-o", tmp_path / "g.graph")
    assert "columns not used: name" in printed
    subgcon("info", tmp_path / "g.graph", "--verify")
    store = opened(tmp_path / "g.graph")
    assert store.ids == ids
    assert same_matrix(store.adjacency, symmetric(src, dst, 300, weight))
    assert (store.features == features).all()
    names = store.manifest["labels"]["names"]
    assert [names[c] if c >= 0 else None for c in store.labels] == label
    roles = {"train": 1, "validation": 2, "test": 3, "": 0}
    assert store.splits[0].tolist() == [roles[s] for s in split]


@pytest.mark.parametrize("kind", ["small", "large", "text"])
@pytest.mark.parametrize("ending", FORMATS)
def test_nodes_found_in_edges(subgcon, opened, tmp_path, ending, kind):
    ids, src, dst, weight, *_, edges = made_up(kind, 2)
    e = write(edges, tmp_path / f"e.{ending}")
    subgcon("import", "table", "--edges", e, "-o", tmp_path / "g.graph")
    store = opened(tmp_path / "g.graph")
    order = sorted({ids[k] for k in np.r_[src, dst]}, key=lambda x: x.encode() if kind == "text" else x)
    assert store.ids == order
    place = {name: k for k, name in enumerate(order)}
    expected = symmetric([place[ids[k]] for k in src], [place[ids[k]] for k in dst], len(order), weight)
    assert same_matrix(store.adjacency, expected)


@pytest.mark.parametrize("ending", ["parquet", "feather"])
@pytest.mark.parametrize("fixed", [True, False])
def test_list_column(subgcon, opened, tmp_path, ending, fixed):
    ids, src, dst, _, features, *_, edges = made_up("text", 3)
    kind = pa.list_(pa.float64(), 12) if fixed else pa.list_(pa.float64())
    nodes = pa.table({"id": pa.array(ids).dictionary_encode(), "features": pa.array(features.tolist(), kind)})
    e, v = write(edges, tmp_path / f"e.{ending}"), write(nodes, tmp_path / f"n.{ending}")
    subgcon("import", "table", "--edges", e, "--nodes", v, "-o", tmp_path / "g.graph", "--unweighted")
    store = opened(tmp_path / "g.graph")
    assert (store.features == features).all()
    assert same_matrix(store.adjacency, symmetric(src, dst, 300))


@pytest.mark.parametrize("sparse", [True, False])
def test_features_beside(subgcon, opened, tmp_path, sparse):
    random = np.random.default_rng(4)
    src, dst = random.integers(0, 50, 200), random.integers(0, 50, 200)
    features = np.where(random.random((50, 9)) < (0.1 if sparse else 0.9), random.normal(size=(50, 9)), 0)
    path = tmp_path / ("x.npz" if sparse else "x.npy")
    sp.save_npz(path, sp.csr_matrix(features)) if sparse else np.save(path, np.asfortranarray(features))
    e = write(pa.table({"src": src, "dst": dst}), tmp_path / "e.parquet")
    subgcon("import", "table", "--edges", e, "--features", path, "-o", tmp_path / "g.graph")
    store = opened(tmp_path / "g.graph")
    assert store.manifest["features"]["storage"] == ("sparse" if sparse else "dense")
    assert (store.features == features.astype("f4")).all()
    assert same_matrix(store.adjacency, symmetric(src, dst, 50))


def test_sums_and_directions(subgcon, opened, tmp_path):
    src, dst, weight = [0, 0, 1, 2, 2], [1, 1, 0, 0, 2], [1.0, 2.0, 0.5, 4.0, 9.0]
    e = write(pa.table({"src": src, "dst": dst, "weight": weight}), tmp_path / "e.csv")
    target = tmp_path / "g.graph"
    subgcon("import", "table", "--edges", e, "-o", target, "--duplicates", "sum")
    assert opened(target).adjacency.toarray().tolist() == [[0, 3, 4], [3, 0, 0], [4, 0, 0]]
    subgcon("import", "table", "--edges", e, "-o", target, "--directed", "--force")
    assert opened(target).adjacency.toarray().tolist() == [[0, 2, 0], [0.5, 0, 0], [4, 0, 0]]
    assert "already exists" in subgcon("import", "table", "--edges", e, "-o", target, fails=True)


def test_three_million_rows(subgcon, opened, tmp_path):
    """Long enough for several blocks of text and several threads."""
    random = np.random.default_rng(5)
    src, dst = random.integers(0, 200_000, (2, 3_000_000))
    e = write(pa.table({"src": src, "dst": dst}), tmp_path / "e.csv")
    subgcon("import", "table", "--edges", e, "-o", tmp_path / "csv.graph", "--threads", 2)
    store = opened(tmp_path / "csv.graph")
    seen = np.unique(np.r_[src, dst])
    assert store.ids == seen.tolist()
    rows, columns = np.searchsorted(seen, src), np.searchsorted(seen, dst)
    keep = rows != columns
    ones = np.ones(2 * keep.sum(), "i4")
    pairs = (np.r_[rows[keep], columns[keep]], np.r_[columns[keep], rows[keep]])
    expected = sp.coo_matrix((ones, pairs), shape=(len(seen),) * 2).tocsr()
    expected.sum_duplicates()
    assert (store.adjacency.indptr == expected.indptr).all()
    assert (store.adjacency.indices == expected.indices).all()
