"""What is odd but right is taken, what is wrong is refused with a remedy."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import subgcon
from subgcon import Graph, SubgCon, SubgconError


def learner(**changes):
    return SubgCon(**{"n_components": 6, "max_iter": 4, "random_state": 0, **changes})


@pytest.mark.parametrize("kind", ["f8", "f2", "i4", "u1", "?", ">f4"])
def test_features_of_any_number_type(toy, kind):
    X = np.round(toy.X * 2).astype(kind)
    wanted = learner().fit_transform(X.astype("f4"), toy.A)
    assert learner().fit_transform(X, toy.A).tobytes() == wanted.tobytes()


def test_arrays_that_are_not_contiguous(toy):
    wanted = learner().fit_transform(toy.X, toy.A).tobytes()
    wide = np.zeros((300, 24), dtype="f4")
    wide[::2, ::2] = toy.X
    for X in (np.asfortranarray(toy.X), wide[::2, ::2], toy.X[::-1][::-1], toy.X.tolist()):
        assert learner().fit_transform(X, toy.A).tobytes() == wanted
    edges = np.zeros((2, 2 * toy.edges.shape[1]), dtype="i8")
    edges[:, ::2] = toy.edges
    assert learner().fit_transform(toy.X, edges[:, ::2]).tobytes() == wanted
    frozen = toy.X.copy()
    frozen.flags.writeable = False
    assert learner().fit_transform(frozen, toy.A).tobytes() == wanted


def test_sparse_and_dense_features_are_the_same(toy):
    rng = np.random.default_rng(1)
    for density in (0.1, 0.8):
        X = (toy.X * (rng.random(toy.X.shape) < density)).astype("f4")
        wanted = learner().fit_transform(X, toy.A).tobytes()
        for kind in (sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix):
            assert learner().fit_transform(kind(X), toy.A).tobytes() == wanted


def test_one_feature_and_few_nodes():
    A = sp.csr_array(np.ones((3, 3)))
    X = np.array([[1.0], [2.0], [3.0]])
    found = learner(n_components=2).fit(X, A)
    assert found.embedding_.shape == (3, 2)
    assert (found.transform(X) == found.embedding_).all(), "one column is a feature, not a node"
    assert (found.transform([2, 0]) == found.embedding_[[2, 0]]).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_refused(toy, value):
    X = toy.X.copy()
    X[7, 3] = value
    with pytest.raises(ValueError, match="NaN|infinity"):
        learner().fit(X, toy.A)
    with pytest.raises(ValueError, match="row 7: feature 3 is"):
        Graph.from_matrix(toy.A, features=X)
    with pytest.raises(ValueError, match="row 7: feature 3 is"):
        Graph.from_matrix(toy.A, features=sp.csr_array(X))
    with pytest.raises(ValueError):
        learner().fit(np.where(np.isfinite(X), X.astype("f8"), 1e300), toy.A)
    A = toy.A.copy()
    A.data[0] = value
    with pytest.raises(ValueError, match="edge weights"):
        learner().fit(toy.X, A)


def test_wrong_shapes(toy):
    with pytest.raises(ValueError, match="149 feature rows for a graph of 150 nodes"):
        learner().fit(toy.X[1:], toy.A)
    with pytest.raises(ValueError, match="outside 0 to 9"):
        learner().fit(toy.X[:10], toy.edges)
    with pytest.raises(ValueError, match="rows and columns are the nodes"):
        learner().fit(toy.X, toy.A[:, 1:])
    with pytest.raises(ValueError, match="cannot make one of"):
        learner().fit(toy.X, graph=np.zeros((3, 7)))
    with pytest.raises(ValueError, match="negative"):
        learner().fit(toy.X, -toy.A)
    with pytest.raises(ValueError, match="outside 0 to"):
        Graph.from_edges([[0, -1], [1, 2]])
    with pytest.raises(ValueError, match="node numbers are integers"):
        Graph.from_edges([[0.5], [1]])
    found = learner().fit(toy.X, toy.A)
    with pytest.raises(ValueError, match="11 features"):
        found.transform(toy.X[:, 1:], toy.A)


def test_no_graph_and_no_nodes(toy):
    with pytest.raises(ValueError, match="learns from a graph"):
        learner().fit(toy.X)
    with pytest.raises(ValueError, match="learns from a graph"):
        learner().fit(toy.X, toy.y)
    with pytest.raises(ValueError, match="empty"):
        learner().fit(np.empty((0, 3)), sp.csr_array((0, 0)))
    with pytest.raises(ValueError, match="empty"):
        Graph.from_edges(np.empty((2, 0), dtype=int))
    with pytest.raises(ValueError, match="no features"):
        learner().fit(Graph.from_matrix(toy.A))


def test_a_graph_without_edges_and_isolated_nodes(toy):
    found = learner().fit(toy.X, sp.csr_array((150, 150)))
    assert set(found.status_) == {"isolated"} and np.isfinite(found.embedding_).all()
    A = toy.A.tolil()
    A[4] = 0
    A[:, 4] = 0
    X = toy.X.copy()
    X[9] = 0
    found = learner().fit(X, A.tocsr())
    assert found.status_[4] == "isolated" and found.status_[9] == "no_features" and found.status_[0] == "ok"


def test_nodes_that_are_not_in_the_graph(toy):
    found = learner().fit(toy.X, toy.A)
    for nodes in ([150], [-1], ["0x"]):
        with pytest.raises(ValueError, match="no node has the id"):
            found.transform(nodes)
    with pytest.raises(ValueError, match="no node has the id"):
        found.explain("nobody")
    with pytest.raises(ValueError, match="stands twice"):
        Graph.from_matrix(toy.A, ids=[1] * 150)


def test_structure_alone(toy):
    found = learner(structural=True).fit(Graph.from_matrix(toy.A))
    assert found.embedding_.shape == (150, 6) and found.n_features_in_ == 128
    with pytest.raises(ValueError, match="positions in another graph"):
        found.transform(Graph.from_edges([[0], [1]]))
    with pytest.raises(ValueError, match="features of its own"):
        learner(structural=True).fit(Graph.from_matrix(toy.A, features=toy.X))


@pytest.mark.parametrize(
    "changes, match",
    [
        ({"preset": "best"}, 'preset = "best"'),
        ({"encoder": "transformer"}, "encoder: unknown variant"),
        ({"objective": "mse"}, "objective: unknown variant"),
        ({"context_size": 0}, "size = 0: choose 1 to 1024"),
        ({"n_components": 0}, "n_components = 0"),
        ({"n_components": 2.5}, "n_components = 2.5"),
        ({"max_iter": -3}, "max_iter"),
        ({"learning_rate": -1.0}, "optimizer.rate = -1"),
        ({"settings": {"encoder": {"widht": 3}}}, "settings: unknown field `widht`"),
        ({"settings": 7}, "settings: int"),
        ({"n_jobs": 0}, "n_jobs = 0"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_settings_that_cannot_be_meant(toy, changes, match):
    with pytest.raises(ValueError, match=match):
        learner(**changes).fit(toy.X, toy.A)


def test_errors_have_pythons_types(toy, tmp_path):
    with pytest.raises(FileNotFoundError) as raised:
        Graph.open(tmp_path / "nowhere.graph")
    assert raised.value.filename == str(tmp_path / "nowhere.graph")
    (tmp_path / "empty.graph").mkdir()
    with pytest.raises(SubgconError, match="not a graph store"):
        Graph.open(tmp_path / "empty.graph")
    found = learner().fit(toy.X, toy.A)
    with pytest.raises(OSError):
        found.save(tmp_path / "no" / "such" / "folder")
    found.save(tmp_path / "m")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        found.save(tmp_path / "m")
    found.save(tmp_path / "m", overwrite=True)
    damaged = (tmp_path / "m" / "model.safetensors").read_bytes()[:-1] + b"\x55"
    (tmp_path / "m" / "model.safetensors").write_bytes(damaged)
    with pytest.raises(SubgconError, match="has changed since it was written"):
        SubgCon.load(tmp_path / "m")
    with pytest.raises(SubgconError, match="diverged"):
        learner(learning_rate=1e30, max_iter=50).fit(toy.X, toy.A)
    assert issubclass(subgcon.SubgconError, Exception)


@pytest.mark.parametrize("total", [1, 2, 3, 7, 12, 24, 25, 64, 301])
def test_an_embedding_is_as_wide_as_was_asked(toy, total):
    found = SubgCon(n_components=total, max_iter=2, random_state=0).fit(toy.X, toy.A)
    assert found.embedding_.shape == (150, total)
    widths = found._model.block_widths
    assert sum(widths) == total and len(widths) == len(found.settings_["output"])
    there = [not (block["unlike"] or block["noisy_only"]) for block in found.settings_["output"]]
    assert [width > 0 for width in widths] == there, "plain features weigh nothing here, and are no noise"


def test_widths_are_shared_evenly_unless_features_are_few(toy):
    output = {"output": [{"source": "encoder"}, {"source": "features"}], "features": {"projection": {"width": 9}}}
    widths = lambda total, **more: SubgCon(total, max_iter=1, random_state=0, settings={**output, **more}).fit(toy.X, toy.A)._model.block_widths
    assert widths(10) == [5, 5]
    assert widths(11) == [6, 5], "the encoder takes what is left over"
    assert widths(40) == [28, 12], "there are twelve columns"
    assert widths(40, features={"projection": None}) == [28, 12]
    with pytest.raises(ValueError, match="choose at least 13"):
        widths(12, features={"projection": None})
    assert widths(10, output=[{"source": "encoder"}]) == [10]
    assert SubgCon(34, max_iter=1, random_state=0).fit(toy.X, toy.A)._model.block_widths == [12, 11, 11, 0, 0]
    assert widths(1) == [1], "the first block alone"
    assert widths(9, output=[{"source": "features"}, {"source": "encoder"}, {"source": "features"}]) == [3, 3, 3]


def test_plain_features_have_columns_where_neighbours_are_of_other_kinds():
    rng = np.random.default_rng(0)
    kinds = np.arange(400) % 4
    X = (rng.random((400, 40)) < np.where(np.arange(40) // 10 == kinds[:, None], 0.6, 0.05)).astype(np.float32)
    edges = np.array([(node, other) for node in range(400) for other in rng.choice(np.flatnonzero(kinds == (kinds[node] + 1) % 4), 3)]).T
    found = SubgCon(34, max_iter=1, random_state=0).fit(X, edges)
    assert found._model.block_widths == [10, 8, 8, 8, 0]
    assert np.linalg.norm(found.embedding_[:, -8:], axis=1).mean() > 1
    again = pickle.loads(pickle.dumps(found))
    assert np.array_equal(again.transform([5, 3]), found.embedding_[[5, 3]])


def test_random_questions_have_columns_where_features_are_noise():
    rng = np.random.default_rng(1)
    X = (rng.random((300, 30)) < 0.3).astype(np.float32)
    upper = np.triu(rng.random((300, 300)) < 0.03, 1)
    found = SubgCon(42, max_iter=1, random_state=0).fit(X, sp.csr_array((upper + upper.T).astype("f4")))
    assert found._model.block_widths == [12, 10, 10, 0, 10]
    assert np.linalg.norm(found.embedding_[:, -10:], axis=1).mean() > 0.3
    again = pickle.loads(pickle.dumps(found))
    assert np.array_equal(again.transform([5, 3]), found.embedding_[[5, 3]])
