"""What `subgcon train` and `subgcon embed` write opens elsewhere: Parquet in pyarrow, arrays in NumPy, weights in
safetensors; and a one-layer GCN embedding is what NumPy makes of the same weights."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file


@pytest.fixture(scope="module")
def trained(subgcon, tmp_path_factory):
    """A store with text ids, a reference model and its embeddings in three formats."""
    folder = tmp_path_factory.mktemp("embeddings")
    random = np.random.default_rng(5)
    nodes, width = 60, 9
    edges = {tuple(sorted(pair)) for pair in random.integers(0, nodes - 1, (150, 2)) if pair[0] != pair[1]}
    name = "node {}".format
    with open(folder / "e.csv", "w") as file:
        file.write("src,dst\n" + "".join(f"{name(a)},{name(b)}\n" for a, b in edges))
    features = random.normal(size=(nodes, width)).astype(np.float32)
    features[3] = 0
    with open(folder / "n.csv", "w") as file:
        file.write("id," + ",".join(f"x{k}" for k in range(width)) + "\n")
        for node, row in enumerate(features):
            file.write(name(node) + "," + ",".join(repr(float(x)) for x in row) + "\n")
    store, model = folder / "g.graph", folder / "m"
    subgcon("import", "table", "--edges", folder / "e.csv", "--nodes", folder / "n.csv", "-o", store)
    subgcon("train", store, "--preset", "reference", "--width", "33", "--batch", "20", "--steps", "8", "-o", model)
    for file in ("e.parquet", "e.npy"):
        subgcon("embed", store, "--model", model, "-o", folder / file)
    return folder, nodes, width, edges, features


def test_parquet_has_the_promised_columns(trained):
    folder, nodes, *_ = trained
    table = pq.read_table(folder / "e.parquet")
    assert table.column_names == ["id", "embedding", "status", "context_size", "mass"]
    assert table["id"].to_pylist() == [f"node {node}" for node in range(nodes)]
    assert str(table.schema.field("embedding").type) == "fixed_size_list<element: float not null>[33]" or (
        table.schema.field("embedding").type.list_size == 33
    )
    status = table["status"].to_pylist()
    assert status[3] == "no_features" and status[nodes - 1] == "isolated"
    assert set(status) <= {"ok", "isolated", "no_features", "short_context"}
    array = np.load(folder / "e.npy")
    rows = np.array(table["embedding"].to_pylist(), dtype=np.float32)
    assert (rows == array).all()
    assert (folder / "e.ids.txt").read_text().splitlines() == table["id"].to_pylist()


def test_embeddings_are_what_numpy_makes_of_the_weights(trained, subgcon):
    folder, nodes, width, edges, features = trained
    weights = load_file(folder / "m" / "model.safetensors")
    config = json.loads((folder / "m" / "config.json").read_text())
    assert config["features"]["width"] == width and config["provenance"]["nodes"] == nodes
    adjacency = np.zeros((nodes, nodes))
    for a, b in edges:
        adjacency[a, b] = adjacency[b, a] = 1
    array = np.load(folder / "e.npy")
    for node in range(nodes):
        told = json.loads(subgcon("contexts", folder / "g.graph", "--node", f"node {node}", "--method", "power", "--json"))
        members = [int(member["id"].split()[1]) for member in told["members"]]
        assert members[0] == node
        inside = adjacency[np.ix_(members, members)] + np.eye(len(members))
        scale = inside.sum(1) ** -0.5
        mixed = (scale[0] * inside[0] * scale) @ features[members]
        z = mixed @ weights["layers.0.weight"] + weights["layers.0.bias"]
        wanted = np.where(z > 0, z, weights["layers.0.slope"] * z)
        np.testing.assert_allclose(array[node], wanted, rtol=2e-5, atol=2e-6)
