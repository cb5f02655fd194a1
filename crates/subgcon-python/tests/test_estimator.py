"""A scikit-learn estimator, as far as one over the nodes of a graph can be."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from subgcon import Graph, SubgCon


def learner(**changes):
    return SubgCon(**{"n_components": 6, "max_iter": 6, "random_state": 0, **changes})


class OnRing(SubgCon):
    """For scikit-learn's checks, which know no graphs: nodes are neighbours of the next two rows."""

    @staticmethod
    def _ring(X):
        n = X.shape[0] if hasattr(X, "shape") else np.asarray(X).shape[0]
        rows = np.arange(n)
        return np.array([np.r_[rows, rows], np.r_[(rows + 1) % max(n, 1), (rows + 2) % max(n, 1)]])

    def fit(self, X, y=None):
        return super().fit(X, graph=self._ring(X))

    def fit_transform(self, X, y=None):
        return super().fit_transform(X, graph=self._ring(X))

    def transform(self, X):
        return super().transform(X, self._ring(X))


#: Checks that cannot hold for a transformer over graph nodes, with the reason. docs/python.md lists the same.
EXPECTED = {
    "check_methods_subset_invariance": "a row depends on its neighbours: another set of rows is another graph",
    "check_methods_sample_order_invariance": "another order of the rows is another graph, unless its edges move too",
}


def test_scikit_learns_checks():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(
            OnRing(n_components=2, max_iter=3), expected_failed_checks=EXPECTED, on_fail=None
        )
    failed = {row["check_name"]: row["exception"] for row in found if row["status"] == "failed"}
    assert not failed, failed
    assert sum(row["status"] == "passed" for row in found) > 40
    really = {row["check_name"] for row in found if row["status"] == "xfail"}
    assert really == set(EXPECTED)


def test_parameters_and_clones(toy):
    model = learner(settings={"training": {"look_every": 3}}, graph=Graph.from_matrix(toy.A, features=toy.X))
    again = clone(model)
    assert again.get_params() == model.get_params() and again.graph is model.graph
    again.set_params(n_components=4, encoder="gcn")
    assert (again.n_components, again.encoder) == (4, "gcn")
    with pytest.raises(ValueError, match="width"):
        again.set_params(width=3)
    assert repr(learner()) == "SubgCon(max_iter=6, n_components=6, random_state=0)"


def test_attributes(toy):
    model = learner().fit(toy.X, toy.A)
    assert model.n_features_in_ == 12 and model.n_iter_ == 6 and model.loss_curve_.shape == (6,)
    assert model.embedding_.shape == (150, 6) and model.seed_ == 0
    assert list(model.get_feature_names_out()) == [f"subgcon{i}" for i in range(6)]
    assert model.settings_["training"]["steps"] == 6
    assert (model.fit_transform(toy.X, toy.A) == model.transform(toy.X)).all()
    assert not hasattr(learner(), "embedding_")


def test_learning_makes_the_loss_fall(toy):
    model = SubgCon(n_components=16, max_iter=150, random_state=0).fit(toy.X, toy.A)
    assert model.loss_curve_[-20:].mean() < model.loss_curve_[:20].mean()


def test_random_states(toy):
    fit = lambda state: learner(random_state=state).fit(toy.X, toy.A)
    assert fit(7).seed_ == 7
    assert fit(np.random.RandomState(1)).seed_ == fit(np.random.RandomState(1)).seed_
    assert fit(None).seed_ != fit(None).seed_
    assert (fit(1).embedding_ != fit(2).embedding_).any()


@pytest.mark.parametrize("encoder", ["gcn", "gcn-skip", "gat", "gin", "mlp"])
@pytest.mark.parametrize("objective", ["margin", "logistic", "bpr", "info-nce"])
def test_every_encoder_and_objective(toy, encoder, objective):
    model = learner(encoder=encoder, objective=objective, context_size=9, n_layers=2, batch_size=40, learning_rate=0.01)
    rows = model.fit_transform(toy.X, toy.A)
    assert rows.shape == (150, 6) and np.isfinite(rows).all()
    chosen = model.settings_
    assert (chosen["encoder"]["kind"], chosen["encoder"]["layers"], chosen["contexts"]["size"]) == (encoder, 2, 9)
    assert chosen["training"]["batch"] == 40 and chosen["optimizer"]["rate"] == 0.01


def test_settings_by_tree_and_by_file(toy, tmp_path):
    by_tree = learner(settings={"augmentation": {"mask_features": 0.25}, "training": {"subgraphs": 50}}, max_iter=9)
    by_tree.fit(toy.X, toy.A)
    (tmp_path / "mine.toml").write_text("[augmentation]\nmask_features = 0.25\n[training]\nsubgraphs = 50\nsteps = 1\n")
    by_file = learner(settings=tmp_path / "mine.toml", max_iter=9).fit(toy.X, toy.A)
    assert by_tree.settings_ == by_file.settings_ and by_tree.n_iter_ == 9
    assert by_tree.embedding_.tobytes() == by_file.embedding_.tobytes()
    again = learner(settings={"training": {"subgraphs": None}}, max_iter=9).fit(toy.X, toy.A)
    assert again.settings_["training"].get("subgraphs") is None


def test_a_pipeline_over_nodes(toy):
    graph = Graph.from_matrix(toy.A, features=toy.X)
    train, test = np.arange(0, 150, 2), np.arange(1, 150, 2)
    model = make_pipeline(SubgCon(16, graph=graph, random_state=0), LogisticRegression(max_iter=1000))
    model.fit(train, toy.y[train])
    assert model.score(test, toy.y[test]) > 0.8
    assert (model.predict(test[:, None]) == model.predict(test)).all(), "as a column too"
    assert (pickle.loads(pickle.dumps(model)).predict(test) == model.predict(test)).all()


def test_a_pipeline_over_features(toy):
    model = Pipeline([("embed", learner()), ("probe", LogisticRegression(max_iter=1000))])
    model.fit(toy.X, toy.y, embed__graph=toy.A)
    assert model.predict(toy.X).shape == (150,)
    assert (model["embed"].transform(toy.X) == model["embed"].embedding_).all()


@pytest.mark.parametrize("jobs", [None, 2])
def test_a_search_over_parameters(toy, jobs):
    names = np.array([f"n{i}" for i in range(150)])
    graph = Graph.from_matrix(toy.A, features=toy.X, ids=names.tolist())
    model = Pipeline([("embed", learner(graph=graph)), ("probe", LogisticRegression(max_iter=1000))])
    choices = {"embed__n_components": [4, 8], "embed__encoder": ["mlp", "gcn"]}
    search = GridSearchCV(model, choices, cv=3, n_jobs=jobs, error_score="raise").fit(names, toy.y)
    assert search.best_score_ > 0.5 and len(search.cv_results_["params"]) == 4
    best = search.best_estimator_["embed"]
    assert best.embedding_.shape == (150, search.best_params_["embed__n_components"])
    assert cross_val_score(model, names, toy.y, cv=3).shape == (3,)


def test_tables_out(toy):
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    X = pd.DataFrame(toy.X, columns=[f"f{i}" for i in range(12)])
    wanted = learner().fit_transform(toy.X, toy.A)
    frame = learner().set_output(transform="pandas").fit_transform(X, toy.A)
    assert isinstance(frame, pd.DataFrame) and list(frame.columns) == [f"subgcon{i}" for i in range(6)]
    assert (frame.to_numpy() == wanted).all() and frame.index.equals(X.index)
    model = learner().set_output(transform="polars").fit(X, toy.A)
    assert isinstance(model.transform([3, 4]), pl.DataFrame) and list(model.feature_names_in_) == list(X.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(X.rename(columns={"f1": "g1"}))


def test_pickles_and_copies(toy, tmp_path):
    model = learner().fit(toy.X, toy.A)
    again = pickle.loads(pickle.dumps(model))
    assert again.embedding_.tobytes() == model.embedding_.tobytes()
    assert again.transform(toy.X, toy.A).tobytes() == model.embedding_.tobytes()
    assert again.explain(3) == model.explain(3)
    assert (again.contexts_.nodes == model.contexts_.nodes).all()
    model.save(tmp_path / "m")
    loaded = SubgCon.load(tmp_path / "m", n_jobs=1)
    assert loaded.n_jobs == 1 and loaded.n_components == 6
    assert loaded.transform(toy.X, toy.A).tobytes() == model.embedding_.tobytes()
    assert clone(loaded).fit(toy.X, toy.A).embedding_.tobytes() == model.embedding_.tobytes()


def test_nodes_that_were_never_seen(toy):
    """Two nodes are left out of training and embedded later: as if the encoder had always known them."""
    kept = np.arange(148)
    model = SubgCon(8, max_iter=40, random_state=0).fit(toy.X[kept], toy.A[kept][:, kept])
    rows = model.transform(toy.X, toy.A)
    assert rows.shape == (150, 8) and np.isfinite(rows).all()
    some = model.transform([149, 2, 149], Graph.from_matrix(toy.A, features=toy.X))
    assert some.tobytes() == rows[[149, 2, 149]].tobytes()
    alone = model.transform(toy.X[148:], sp.csr_array((2, 2)))
    assert alone.shape == (2, 8)
