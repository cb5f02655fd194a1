"""Tables, contexts, evaluation and datasets."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg

import subgcon
from subgcon import Contexts, Graph, SubgCon, datasets, evaluate


def test_arrow_tables_share_memory(toy):
    pa = pytest.importorskip("pyarrow")
    model = SubgCon(6, max_iter=3, random_state=0).fit(toy.X, toy.A)
    table = model.to_arrow()
    assert table.schema.field("embedding").type == pa.list_(pa.float32(), 6)
    assert table.column_names == ["id", "embedding", "status", "context_size", "mass"]
    flat = table["embedding"].chunk(0).flatten().to_numpy()
    assert np.shares_memory(flat, model.embedding_)
    assert table["context_size"].to_pylist() == model.contexts_.sizes.tolist()
    frame = model.to_pandas()
    assert (frame.to_numpy() == model.embedding_).all()
    assert (model.to_polars().drop("id").to_numpy() == model.embedding_).all()


def test_contexts_are_the_nodes_with_most_pagerank_over_degree(toy):
    contexts = Contexts.of(toy.A, 8, settings={"method": "exact"})
    degree = np.asarray(toy.A.sum(axis=1)).ravel()
    walk = sp.diags_array(1 / np.maximum(degree, 1)) @ toy.A
    node = 17
    start = np.zeros(150)
    start[node] = 0.15
    pagerank = scipy.sparse.linalg.spsolve((sp.eye_array(150) - 0.85 * walk.T).tocsc(), start)
    best = np.argsort(-pagerank / np.maximum(degree, 1) + 1e9 * (np.arange(150) == node) * -1)[:8]
    members = contexts.nodes[node]
    assert members[0] == node and set(members) == set(best)
    assert contexts.pagerank[node] == pytest.approx(pagerank[members], rel=1e-5)
    assert contexts.captured[node] == pytest.approx(pagerank[members].sum(), rel=1e-5)
    told = contexts.explain(node)
    assert [member["node"] for member in told] == members.tolist()
    hops = sp.csgraph.shortest_path(toy.A, unweighted=True, indices=node)
    assert [member["hops"] for member in told] == hops[members].astype(int).tolist()
    assert len(contexts) == 150 and contexts.size == 8 and (contexts.sizes == 8).all()
    with pytest.raises(ValueError, match="restart = 2"):
        Contexts.of(toy.A, restart=2.0)


def test_contexts_of_a_store_are_kept_beside_it(tmp_path):
    graph = datasets.communities(200, 800, 2, store=tmp_path / "g.graph")
    first = Contexts.of(graph, 6)
    (table,) = (tmp_path / "g.graph.contexts").iterdir()
    when = table.stat().st_mtime_ns
    second = Contexts.of(tmp_path / "g.graph", 6)
    assert (first.nodes == second.nodes).all() and table.stat().st_mtime_ns == when
    memory = Contexts.of(graph.adjacency, 6)
    assert (memory.nodes == first.nodes).all() and (memory.pagerank == first.pagerank).all()


def test_the_probe_is_scikit_learns(toy):
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    rows = rng.normal(size=(150, 5)).astype("f4") + toy.y[:, None] * [1, 0, 0.5, 0, 0]
    roles = rng.permutation(np.repeat([1, 2, 3], 50)).astype("u1")
    found = evaluate(rows, toy.y, {"mine": roles}, C=1.0)
    probe = LogisticRegression(C=1.0, max_iter=10_000, tol=1e-8).fit(rows[roles == 1], toy.y[roles == 1])
    assert found["test_mean"] == pytest.approx(probe.score(rows[roles == 3], toy.y[roles == 3]))
    assert found["validation_mean"] == pytest.approx(probe.score(rows[roles == 2], toy.y[roles == 2]))
    assert found["splits"]["mine"]["c"] == 1.0 and found["metric"] == "accuracy"
    assert found["test_std"] is None, "a single split has no deviation"


def test_evaluation_of_other_labels(toy):
    rows = np.eye(3, dtype="f4")[toy.y]
    words = np.array(["red", "green", "blue"])[toy.y]
    assert evaluate(rows, words, 3, train_per_class=5, validation_per_class=5)["test_mean"] == 1.0
    for sizes, counts in [((0.6, 0.2, 0.2), [90, 30, 30]), ((9, 40, "rest"), [9, 40, 101]), ("9/0.2/0.3", [9, 30, 45])]:
        (split, _) = evaluate(rows, words, 2, sizes=sizes)["splits"].values()
        assert [split[role]["nodes"] for role in ("train", "validation", "test")] == counts
    several = (toy.y[:, None] >= [[1, 2]]).astype(int)
    assert len(evaluate(rows, several, sizes=(0.5, 0.25, 0.25))["splits"]) == 10
    # A graph's own splits are not what is asked for then.
    graph = Graph.from_matrix(toy.A, labels=toy.y).with_splits({"mine": (np.arange(150) % 3 + 1).astype("u1")})
    assert list(evaluate(rows, graph)["splits"]) == ["mine"]
    for asked, counts in [({"train_per_class": 5}, [15, 90, 45]), ({"validation_per_class": 5}, [60, 15, 75]), ({"sizes": (30, 40, "rest")}, [30, 40, 80])]:
        splits = list(evaluate(rows, graph, **asked)["splits"].values())
        assert len(splits) == 10 and [splits[0][role]["nodes"] for role in ("train", "validation", "test")] == counts
    with pytest.raises(ValueError, match="sizes = 0.5/0.5: write training/validation/test"):
        evaluate(rows, words, sizes=(0.5, 0.5))
    for asked in ({"sizes": (0.5, 0.25, 0.25)}, {"train_per_class": 5}, {"validation_per_class": 5}):
        with pytest.raises(ValueError, match=f"{next(iter(asked))}: of random splits"):
            evaluate(rows, words, toy.y.astype("u1") + 1, **asked)
    for number in ("train_per_class", "validation_per_class"):
        with pytest.raises(ValueError, match="sizes are of the whole"):
            evaluate(rows, words, sizes=(0.5, 0.25, 0.25), **{number: 5})
    roles = (np.arange(150) % 3 + 1).astype("u1")
    found = evaluate(rows, several, roles)
    assert found["metric"] == "micro_f1" and found["test_mean"] == 1.0 and found["groups"] is None
    for wrong, match in [((rows[1:], toy.y, roles), "149 rows"), ((rows, Graph.from_matrix(toy.A)), "has none"), ((rows[0], toy.y), "shape")]:
        with pytest.raises(ValueError, match=match):
            evaluate(*wrong)
    rows[3, 1] = np.nan
    with pytest.raises(ValueError, match="row 3.*column 1 is NaN"):
        evaluate(rows, toy.y, roles)


def test_generated_graphs_are_the_commands(command, tmp_path):
    command("generate", "communities", "--nodes", 600, "--edges", 1800, "--seed", 4, "-o", tmp_path / "c.graph")
    made, stored = datasets.communities(600, 1800, seed=4), Graph.open(tmp_path / "c.graph")
    assert made.fingerprint == stored.fingerprint and made.path is None
    assert (made.features != stored.features).nnz == 0 and (made.labels == stored.labels).all()
    assert made.splits.keys() == stored.splits.keys()
    assert all((made.splits[name] == stored.splits[name]).all() for name in made.splits)
    command("generate", "powerlaw", "--nodes", 500, "--edges", 900, "-o", tmp_path / "p.graph")
    assert datasets.powerlaw(500, 900).fingerprint == Graph.open(tmp_path / "p.graph").fingerprint
    assert datasets.communities(200, 800, 2, degree_exponent=float("inf")).num_nodes == 200
    with pytest.raises(ValueError, match="mixing"):
        datasets.communities(mixing=2.0)


def test_files_of_tables(tmp_path):
    (tmp_path / "e.csv").write_text("src,dst\na,b\nb,c\n")
    (tmp_path / "n.csv").write_text("id,x,label\nc,1,u\na,2,v\nb,3,u\n")
    graph = datasets.load_tables(tmp_path / "e.csv", tmp_path / "n.csv")
    assert graph.ids == ["c", "a", "b"] and graph.feature_names == ["x"] and graph.classes == ["u", "v"]
    (tmp_path / "e.csv").write_text("src,dst\na,b\nb,z\n")
    with pytest.raises(ValueError, match=r'e.csv:3: node id "z" is not in n.csv.*create_missing=True'):
        datasets.load_tables(tmp_path / "e.csv", tmp_path / "n.csv")
    with pytest.raises(FileNotFoundError):
        datasets.load_tables(tmp_path / "nothing.csv")


def test_public_folders(shared):
    cora = datasets.load_planetoid(shared / "planetoid", "cora")
    assert (cora.num_nodes, cora.num_edges, cora.features.shape[1], len(cora.classes)) == (2708, 5278, 1433, 7)
    assert np.bincount(cora.splits["public"], minlength=4)[1:].tolist() == [140, 500, 1000]
    facebook = datasets.load_musae(shared / "facebook")
    assert facebook.num_nodes == 22470
    ppi = datasets.load_graphsaint(shared / "ppi-small")
    assert ppi.labels.ndim == 2
    actor = next((shared / "heterophily").glob("*.npz"))
    assert datasets.load_npz(actor).num_nodes > 0


def test_versions():
    assert subgcon.__version__.count(".") == 2
    assert set(dir(subgcon)) == set(subgcon.__all__)
