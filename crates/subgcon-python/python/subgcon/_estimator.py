"""The scikit-learn estimator."""

import json
import os
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _arrays, _native, _tables
from ._contexts import Contexts
from ._graph import Graph
from ._progress import shown, threads
from ._settings import objective, resolved
from ._sources import as_graph, holds_graph, is_graph, is_surely_graph

#: What stands behind an embedding, by its number.
_STATUS = np.array(["ok", "isolated", "no_features", "short_context"], dtype=object)


class SubgCon(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Embeddings of the nodes of a graph, learnt from features and edges without labels.

    Parameters
    ----------
    n_components : int, default=None
        Columns of an embedding. The preset's output blocks share them evenly and the encoder takes what is left over (where there are fewer
        columns than blocks, the first blocks get one each); a block of features that cannot be so wide (fewer columns, a lower rank) leaves the difference to the encoder's.
        Plain features have none of them where edges find like nodes better, answers to random questions none where features are no noise. None: as wide as the preset makes them in this graph.
    preset : {"default", "paper", "reference"}, default="default"
        Where settings start from.
    encoder : {"gcn", "gcn-skip", "gat", "gin", "mlp"}, default=None
        The encoder's kind. None, here and below: what the preset says.
    n_layers : int, default=None
        Layers of the encoder.
    objective : {"margin", "logistic", "bpr", "info-nce"}, default=None
        What is made small.
    context_size : int, default=None
        Nodes in a context, the centre included.
    max_iter : int, default=None
        Steps of training.
    batch_size : int, default=None
        Contexts in a step.
    learning_rate : float, default=None
        Of Adam.
    structural : bool, default=False
        Learn from degrees and positions, for a graph without features.
    settings : dict or path, default=None
        Any other setting, as a tree (``{"augmentation": {"mask_features": 0.2}}``) or a TOML file; keywords win over it. See
        docs/settings.md.
    graph : graph, default=None
        The graph, for a ``Pipeline`` or ``GridSearchCV``: ``X`` are then ids of some of its nodes. Anything that
        :func:`subgcon.as_graph` takes.
    checkpoint : path, default=None
        The name of a model folder. While ``fit`` runs its state is kept beside it; after Ctrl-C or a crash the
        same ``fit`` goes on from there. In the end the model is written there.
    checkpoint_every : int, default=50
        Steps between two states.
    random_state : int, RandomState or None, default=None
        The seed: the same one gives the same bytes. None draws one (``seed_``).
    n_jobs : int, default=None
        Threads; None and -1 are all cores. Results do not depend on it.
    verbose : int or callable, default=0
        Whether a bar shows how far along it is. A function is called with (what, done, total, unit, note),
        about twenty times a second and at the end of each piece of work.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_nodes, n_components)
        Embeddings of the nodes of the graph it was fitted on.
    graph_ : Graph
        That graph.
    contexts_ : Contexts
        The nodes that each embedding is made from.
    status_ : ndarray of shape (n_nodes,)
        How each came about: "ok", "isolated", "no_features" or "short_context".
    loss_curve_ : ndarray of shape (n_iter_,)
        The loss before each step.
    n_iter_ : int
        Steps of training.
    n_features_in_ : int
        Columns of the features.
    settings_ : dict
        Everything that was chosen.
    seed_ : int
        The seed.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from subgcon import SubgCon
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((50, 8), dtype="f4")
    >>> A = sp.random(50, 50, density=0.1, random_state=0, format="csr")
    >>> model = SubgCon(n_components=6, random_state=0).fit(X, A)
    >>> model.embedding_.shape
    (50, 6)

    Nodes that were not there: a graph that holds them.

    >>> X_more = np.vstack([X, rng.random((1, 8), dtype="f4")])
    >>> A_more = sp.block_diag([A, [[0]]]).tolil(); A_more[50, 3] = 1
    >>> model.transform(X_more, A_more.tocsr()).shape
    (51, 6)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        preset: str = "default",
        encoder: str | None = None,
        n_layers: int | None = None,
        objective: Any = None,
        context_size: int | None = None,
        max_iter: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        structural: bool = False,
        settings: Any = None,
        graph: Any = None,
        checkpoint: Any = None,
        checkpoint_every: int = 50,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.preset = preset
        self.encoder = encoder
        self.n_layers = n_layers
        self.objective = objective
        self.context_size = context_size
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.structural = structural
        self.settings = settings
        self.graph = graph
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # Learning.

    def fit(self, X: Any = None, y: Any = None, graph: Any = None) -> "SubgCon":
        """Learns from a graph.

        ``fit(X, A)`` takes features and a graph, ``fit(graph)`` a graph that has features. In a pipeline ``y`` are labels, which are not looked
        at, and ``X`` are ids of nodes of the constructor's ``graph``: what is learnt is learnt from the whole graph.

        Parameters
        ----------
        X : features, nodes or graph
            A row for each node: an array, a SciPy matrix or a table (whose ``id`` column or pandas index names the nodes
            of an edge table).
        y : graph or ignored
            The graph, where it looks like one.
        graph : graph
            The graph, by name.
        """
        self._fit(X, y, graph)
        return self

    def fit_transform(self, X: Any = None, y: Any = None, graph: Any = None) -> Any:
        """As :meth:`fit`; embeddings of all nodes, or of those in ``X``."""
        rows = self._fit(X, y, graph)
        return self.embedding_ if rows is None else self.embedding_[rows]

    def _fit(self, X: Any, y: Any, graph: Any) -> "np.ndarray | None":
        if graph is None and is_graph(y) and (is_surely_graph(y) or (self.graph is None and not holds_graph(X))):
            graph = y
        found, rows = self._graph_of(X, graph, fitting=True)
        seed = self._seed()
        text = resolved(self.preset, self._changes(seed))
        n_components = self.n_components
        if n_components is not None:
            if isinstance(n_components, bool) or int(n_components) != n_components or n_components < 1:
                raise ValueError(f"n_components = {n_components!r}: choose a whole number from 1 on, or None")
            n_components = int(n_components)
        checkpoint = None if self.checkpoint is None else os.fspath(self.checkpoint)
        jobs = threads(self.n_jobs)
        with shown(self.verbose) as show:
            model, contexts, losses, _, resumed = _native.train(
                found._native, text, n_components, None, checkpoint, int(self.checkpoint_every), jobs, show
            )
            embedding, status, sizes, mass, contexts = model.embed(found._native, contexts, None, jobs, show)
        if resumed and checkpoint is not None:
            with open(os.path.join(checkpoint, "log.jsonl"), encoding="utf-8") as log:
                losses = np.array([json.loads(line)["loss"] for line in log])
        self._model = model
        self._contexts: "_native.Contexts | None" = contexts
        self._told: "tuple[Any, ...]" = (status, sizes, mass)
        self.graph_: Any = found
        self.seed_ = seed
        self.settings_ = json.loads(model.settings)
        self.embedding_ = embedding
        self.loss_curve_ = losses
        self.n_iter_ = int(self.settings_["training"]["steps"])
        self.n_features_in_ = model.feature_width
        return rows

    # Embedding.

    def transform(self, X: Any = None, graph: Any = None) -> Any:
        """Embeddings of nodes.

        ``transform(X, A)`` and ``transform(graph)`` embed all nodes of another graph, which may hold nodes that were never
        seen; ``transform(nodes)`` gives those of some nodes of the fitted graph by their ids, ``transform(nodes, graph)``
        of another; ``transform(X)`` embeds the fitted graph's nodes with other features.
        """
        check_is_fitted(self)
        other = graph is not None or holds_graph(X)
        found, rows = self._graph_of(X, graph, fitting=False)
        if found is self.graph_:
            return self.embedding_ if rows is None else self.embedding_[rows]
        with shown(self.verbose) as show:
            wanted, back = (None, None) if rows is None else np.unique(rows, return_inverse=True)
            contexts = None if other else self._contexts
            jobs = threads(self.n_jobs)
            embedding, *_ = self._model.embed(found._native, contexts, wanted, jobs, show)
        return embedding if back is None else embedding[back]

    def _graph_of(self, X: Any, graph: Any, fitting: bool) -> "tuple[Graph, np.ndarray | None]":
        """The graph with its features, and which of its rows are meant (None: all of them)."""
        if X is not None and graph is None and holds_graph(X):
            X, graph = None, X
        if hasattr(X, "detach"):
            X = _arrays.tensor(X)
        if hasattr(X, "__array__") and not hasattr(X, "shape"):
            X = np.asarray(X)
        if graph is None and fitting:
            graph = self.graph
        if graph is None and not fitting:
            graph = self.graph_
        if graph is None:
            raise ValueError(
                f"{type(self).__name__} learns from a graph: call fit(X, graph), or give the constructor graph=; X alone "
                "are features"
            )
        table = X is not None and _arrays.is_table(X)
        if not (table and _arrays.is_table(graph)):
            # A list of ids says nothing about how many nodes there are.
            rows = None if X is None or np.ndim(X) == 1 else _arrays.rows_of(X)
            if _arrays.is_table(graph):
                found = Graph.from_tables(graph) if rows is None else _numbered(graph, rows)
            else:
                found = as_graph(graph, num_nodes=rows)
        else:
            found, X = Graph.from_tables(graph, X), None
        if X is None:
            self._note(found, fitting)
            return found, None
        if self._are_nodes(X, found):
            self._note(found, fitting)
            return found, found.numbers_of(np.asarray(X).reshape(-1) if hasattr(X, "shape") else X)
        names = [str(name) for name in _arrays.columns(X)] if table else None
        if _arrays.library(X) == "pyarrow":
            X = np.stack([_arrays.feature_column(X, name) for name in _arrays.columns(X)], axis=1)
        with np.errstate(over="ignore"):
            X = validate_data(
                self,
                X,
                reset=fitting,
                accept_sparse="csr",
                dtype=np.float32,
                order="C",
                ensure_min_samples=1 + fitting,
            )
        if fitting:
            self._fed = True
        return found.with_features(X, names=names), None

    def _are_nodes(self, X: Any, graph: Graph) -> bool:
        """Whether X names nodes rather than holding their features."""
        if _arrays.is_sparse(X):
            return False
        shape = np.shape(X)
        if len(shape) == 1:
            kind = np.asarray(X).dtype
            if kind.kind in "fc":
                raise ValueError(
                    f"X: one-dimensional and {kind}, which names no nodes: ids are integers or texts. Reshape your data: a "
                    "row of features for each node"
                )
            return True
        fed = graph is getattr(self, "graph_", None) and self._fed
        known = (graph._native.feature_width is not None and not fed) or self.structural
        return known and len(shape) == 2 and shape[1] == 1

    def _note(self, graph: Graph, fitting: bool) -> None:
        """Features are the graph's own."""
        if not fitting:
            return
        self._fed = False
        self.__dict__.pop("feature_names_in_", None)
        if graph.feature_names:
            self.feature_names_in_ = np.array(graph.feature_names, dtype=object)

    def _seed(self) -> int:
        if isinstance(self.random_state, (int, np.integer)) and not isinstance(self.random_state, bool):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _changes(self, seed: int) -> "list[tuple[str, Any]]":
        changes: list[tuple[str, Any]] = [] if self.settings is None else [("settings", self.settings)]
        for name, value, section, key in (
            ("encoder", self.encoder, "encoder", "kind"),
            ("n_layers", self.n_layers, "encoder", "layers"),
            ("objective", objective(self.objective), "objective", "kind"),
            ("context_size", self.context_size, "contexts", "size"),
            ("max_iter", self.max_iter, "training", "steps"),
            ("batch_size", self.batch_size, "training", "batch"),
            ("learning_rate", self.learning_rate, "optimizer", "rate"),
        ):
            if value is not None:
                changes.append((name, {section: {key: value}}))
        if self.structural:
            changes.append(("structural", {"features": {"structural": True}}))
        changes.append(("random_state", {"seed": seed}))
        return changes

    # What came of it.

    @property
    def _n_features_out(self) -> int:
        return self._model.width

    @property
    def contexts_(self) -> Contexts:
        """The nodes that each embedding is made from."""
        check_is_fitted(self)
        if self._contexts is None:
            text = json.dumps(self.settings_)
            self._contexts = _native.Contexts(self.graph_._native, text, threads(self.n_jobs), None)
        return Contexts(self._contexts, self.graph_)

    @property
    def status_(self) -> np.ndarray:
        """How each embedding came about."""
        check_is_fitted(self)
        return _STATUS[self._told[0]]

    def explain(self, node: Any) -> "list[dict[str, Any]]":
        """Which nodes, with which PageRank, the embedding of a node is made from."""
        return self.contexts_.explain(node)

    def to_arrow(self) -> Any:
        """A pyarrow table of ids, embeddings, statuses, context sizes and masses: the columns of the command's Parquet. Embeddings are
        not copied."""
        check_is_fitted(self)
        import pyarrow as pa

        _, sizes, mass = self._told
        values = pa.array(self.embedding_.reshape(-1))
        width = self.embedding_.shape[1]
        return pa.table(
            {
                "id": pa.array(self.graph_.ids),
                "embedding": pa.FixedSizeListArray.from_arrays(values, width),
                "status": pa.array(self.status_.tolist()),
                "context_size": pa.array(sizes),
                "mass": pa.array(mass),
            }
        )

    def to_pandas(self) -> Any:
        """A pandas table of embeddings, a column each, whose index are the ids."""
        check_is_fitted(self)
        import pandas as pd

        index = pd.Index(self.graph_.ids, name="id")
        return pd.DataFrame(self.embedding_, index=index, columns=list(self.get_feature_names_out()), copy=False)

    def to_polars(self) -> Any:
        """A polars table of ids and embeddings, a column each."""
        check_is_fitted(self)
        import polars as pl

        names = list(self.get_feature_names_out())
        rows = pl.from_numpy(self.embedding_, schema=names, orient="row")
        return rows.insert_column(0, pl.Series("id", self.graph_.ids))

    def write(self, path: "str | os.PathLike[str]", *, overwrite: bool = True) -> None:
        """Writes the embeddings as ``subgcon embed`` does: ``.parquet``, ``.npy`` (with ids beside) or word2vec's ``.txt``."""
        check_is_fitted(self)
        status, sizes, mass = self._told
        _native.Model.write_embeddings(
            os.fspath(path), self.graph_._native, self.embedding_, status, sizes, mass, overwrite
        )

    def save(self, path: "str | os.PathLike[str]", *, overwrite: bool = False) -> None:
        """Writes the model: a folder that ``subgcon embed --model`` and :meth:`load` read. The graph is not in it."""
        check_is_fitted(self)
        self._model.save(os.fspath(path), overwrite)

    @classmethod
    def load(cls, path: "str | os.PathLike[str]", graph: Any = None, **parameters: Any) -> "SubgCon":
        """A fitted estimator from a model folder, the command's or :meth:`save`'s. With a graph its nodes are embedded; without, only
        ``transform(X, graph)`` can be called. Other parameters (``n_jobs``, ``verbose``) are the constructor's."""
        model = _native.Model.load(os.fspath(path))
        settings = json.loads(model.settings)
        changes: dict[str, Any] = {
            "n_components": model.width,
            "settings": settings,
            "random_state": settings["seed"],
            "structural": settings["features"]["structural"],
        }
        made = cls(**{**changes, **parameters})
        made._model, made.settings_, made.seed_ = model, settings, settings["seed"]
        made.n_features_in_ = model.feature_width
        if model.feature_names:
            made.feature_names_in_ = np.array(model.feature_names, dtype=object)
        made.n_iter_ = int(settings["training"]["steps"])
        made._contexts, made.graph_, made._fed = None, None, False
        if graph is not None:
            made.graph_ = as_graph(graph)
            jobs = threads(made.n_jobs)
            with shown(made.verbose) as show:
                embedding, *told, contexts = model.embed(made.graph_._native, None, None, jobs, show)
            made.embedding_, made._told, made._contexts = embedding, tuple(told), contexts
        return made

    def settings_toml(self) -> str:
        """The settings as a file for the command: ``subgcon train … --config`` gives the same model, byte for byte."""
        check_is_fitted(self)
        return _native.to_toml(self._model.settings)

    # Being an estimator.

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def __getstate__(self) -> "dict[str, Any]":
        state = dict(super().__getstate__())
        if "_model" in state:
            state["_model"] = state["_model"].to_bytes()
            state["_contexts"] = None
        return state

    def __setstate__(self, state: "dict[str, Any]") -> None:
        if "_model" in state:
            state = {**state, "_model": _native.Model.from_bytes(state["_model"])}
        super().__setstate__(state)


def _numbered(edges: Any, nodes: int) -> Graph:
    """An edge table whose ids are rows of X."""
    other = "give Graph.from_tables(edges, nodes, source=..., target=...) in place of both"
    source, target = _tables.edge_columns(edges, None, None, other)
    weight = _tables.chosen(edges, None, ["weight"], "weight")
    ends = [_arrays.column(edges, name) for name in (source, target)]
    texts = next((name for name, end in zip((source, target), ends) if end.dtype.kind == "O" and len(end)), None)
    if texts is not None:
        raise ValueError(
            f"edges: column {texts!r} holds texts or gaps, and beside an array of features ids are its row numbers; give a "
            "table of nodes, with a column id, in place of the array"
        )
    weights = None if weight is None else _arrays.column(edges, weight)
    return Graph.from_edges(np.stack(ends), num_nodes=nodes, weights=weights)
