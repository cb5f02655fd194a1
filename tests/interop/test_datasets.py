"""Public graphs: our stores against an independent reading with pickle, NumPy and SciPy."""

import csv
import json
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from conftest import same_matrix, symmetric


def planetoid(folder, name):
    def load(part):
        with open(folder / f"ind.{name}.{part}", "rb") as file:
            return pickle.load(file, encoding="latin1")

    index = np.loadtxt(folder / f"ind.{name}.test.index", dtype=int)
    n = index.max() + 1
    allx, tx, ally, ty, graph, y = map(load, ("allx", "tx", "ally", "ty", "graph", "y"))
    features = sp.lil_matrix((n, allx.shape[1]), dtype="f4")
    features[: allx.shape[0]] = allx
    features[index] = tx
    labels = np.full(n, -1)
    labels[: len(ally)] = ally.argmax(1)
    labels[index] = ty.argmax(1)
    pairs = [(node, other) for node, others in graph.items() for other in others]
    split = np.zeros(n, int)
    split[: len(y)] = 1
    split[len(y) : len(y) + 500] = 2
    split[index] = 3
    return n, np.array(pairs), features.toarray(), labels, split


@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
def test_planetoid(subgcon, opened, shared, tmp_path, name):
    subgcon("import", "planetoid", "--dir", shared / "planetoid", "--name", name, "-o", tmp_path / "g.graph")
    store = opened(tmp_path / "g.graph")
    n, pairs, features, labels, split = planetoid(shared / "planetoid", name)
    assert store.ids == list(range(n))
    assert same_matrix(store.adjacency, symmetric(pairs[:, 0], pairs[:, 1], n))
    assert (store.features == features).all()
    assert (store.labels == labels).all()
    assert (store.splits == [split]).all()


@pytest.mark.parametrize("name", ["acm", "amazon_cs", "blogcatalog", "coauthor_cs", "cora_ml"])
def test_gnn_benchmark(subgcon, opened, shared, tmp_path, name):
    subgcon("import", "npz", shared / "npz" / f"{name}.npz", "-o", tmp_path / "g.graph")
    store = opened(tmp_path / "g.graph")
    with np.load(shared / "npz" / f"{name}.npz", allow_pickle=False) as file:
        part = lambda key: sp.csr_matrix(
            (file[f"{key}_data"], file[f"{key}_indices"], file[f"{key}_indptr"]), shape=file[f"{key}_shape"]
        )
        adjacency, features, labels = part("adj").tocoo(), part("attr"), file["labels"]
    n = adjacency.shape[0]
    assert same_matrix(store.adjacency, symmetric(adjacency.row, adjacency.col, n, adjacency.data))
    assert (store.features == features.toarray().astype("f4")).all()
    names = np.array(store.manifest["labels"]["names"]).astype(int)
    assert (names[store.labels] == labels).all()


@pytest.mark.parametrize(
    "name", ["actor", "chameleon", "cornell", "minesweeper", "squirrel", "texas", "wisconsin"]
)
def test_heterophily(subgcon, opened, shared, tmp_path, name):
    subgcon("import", "npz", shared / "heterophily" / f"{name}.npz", "-o", tmp_path / "g.graph")
    store = opened(tmp_path / "g.graph")
    with np.load(shared / "heterophily" / f"{name}.npz", allow_pickle=False) as file:
        features, labels, edges = file["node_features"], file["node_labels"], file["edges"]
        splits = file["train_masks"] + 2 * file["val_masks"] + 3 * file["test_masks"]
    assert same_matrix(store.adjacency, symmetric(edges[:, 0], edges[:, 1], len(labels)))
    assert (store.features == features).all()
    names = np.array(store.manifest["labels"]["names"]).astype(int)
    assert (names[store.labels] == labels).all()
    assert store.splits.shape == (10, len(labels)) and (store.splits == splits).all()


def test_ppi_small(subgcon, opened, shared, tmp_path):
    folder = shared / "ppi-small"
    subgcon("import", "graphsaint", "--dir", folder, "-o", tmp_path / "g.graph")
    store = opened(tmp_path / "g.graph")
    adjacency = sp.load_npz(folder / "adj_full.npz").tocoo()
    assert same_matrix(store.adjacency, symmetric(adjacency.row, adjacency.col, adjacency.shape[0]))
    assert (store.features == np.load(folder / "feats.npy")).all()
    classes = json.loads((folder / "class_map.json").read_text())
    assert (store.labels == [classes[str(k)] for k in range(len(classes))]).all()
    roles = json.loads((folder / "role.json").read_text())
    for value, key in ((1, "tr"), (2, "va"), (3, "te")):
        assert np.flatnonzero(store.splits[0] == value).tolist() == sorted(roles[key])


def test_facebook(subgcon, opened, shared, tmp_path):
    folder = shared / "facebook"
    subgcon("import", "musae", "--dir", folder, "-o", tmp_path / "g.graph")
    store = opened(tmp_path / "g.graph")
    edges = np.loadtxt(folder / "edges.csv", delimiter=",", skiprows=1, dtype=int)
    words = json.loads((folder / "features.json").read_text())
    with open(folder / "target.csv", encoding="utf-8") as file:
        target = {int(row["id"]): row["page_type"] for row in csv.DictReader(file)}
    n = len(target)
    assert store.ids == list(range(n))
    assert same_matrix(store.adjacency, symmetric(edges[:, 0], edges[:, 1], n))
    features = np.zeros((n, 4714), "f4")
    for node, columns in words.items():
        features[int(node), columns] = 1
    assert (store.features == features).all()
    names = store.manifest["labels"]["names"]
    assert [names[c] for c in store.labels] == [target[k] for k in range(n)]
