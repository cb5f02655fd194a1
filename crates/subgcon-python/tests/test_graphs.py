"""Every way in gives the same graph, and ids come out as they went in."""

import pickle
import types

import numpy as np
import pytest
import scipy.sparse as sp

from subgcon import Graph, SubgCon, as_graph, evaluate

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
nx = pytest.importorskip("networkx")


def learner():
    return SubgCon(n_components=8, max_iter=8, random_state=0)


def edge_columns(toy, names=("src", "dst")):
    sources, targets = toy.edges
    columns = {names[0]: sources, names[1]: targets}
    if (toy.A.data != 1).any():
        columns["weight"] = sp.triu(toy.A).tocoo().data
    return columns


def tensor(array):
    """A tensor as PyTorch has it, as far as we look."""

    class Tensor(np.ndarray):
        def detach(self):
            return self

        def cpu(self):
            return self

    return np.asarray(array).view(Tensor)


def pyg(toy):
    coo = toy.A.tocoo()
    data = types.SimpleNamespace(
        edge_index=tensor(np.array([coo.row, coo.col])),
        edge_weight=tensor(coo.data),
        x=tensor(toy.X),
        y=tensor(toy.y),
        num_nodes=len(toy.y),
        train_mask=tensor(toy.y >= 0) & tensor(np.arange(len(toy.y)) % 2 == 0),
        val_mask=None,
        test_mask=tensor(np.arange(len(toy.y)) % 2 == 1),
    )
    return data


def real_pyg(toy):
    """The real thing, where it is installed: PyTorch is too large to install for a test."""
    torch, data = pytest.importorskip("torch"), pytest.importorskip("torch_geometric.data")
    stand_in = pyg(toy)
    given = {name: torch.from_numpy(np.array(array)) for name, array in vars(stand_in).items() if isinstance(array, np.ndarray)}
    return data.Data(num_nodes=stand_in.num_nodes, **given)


class Dgl:
    """A graph as DGL has it, as far as we look."""

    def __init__(self, toy):
        coo = toy.A.tocoo()
        self._edges = tensor(coo.row), tensor(coo.col)
        self.edata = {"weight": tensor(coo.data)}
        self.ndata = {"feat": tensor(toy.X), "label": tensor(toy.y)}

    def edges(self):
        return self._edges

    def num_nodes(self):
        return len(self.ndata["label"])


Dgl.__module__ = "dgl.heterograph"


def networkx(toy):
    graph = nx.Graph()
    graph.add_nodes_from((node, {"x": row}) for node, row in enumerate(toy.X))
    coo = sp.triu(toy.A).tocoo()
    graph.add_weighted_edges_from(zip(coo.row.tolist(), coo.col.tolist(), coo.data.tolist()))
    return graph


def igraph(toy):
    module = pytest.importorskip("igraph")
    coo = sp.triu(toy.A).tocoo()
    return module.Graph(len(toy.y), np.array([coo.row, coo.col]).T.tolist(), edge_attrs={"weight": coo.data.tolist()})


KINDS = {
    "csc": lambda toy: toy.A.tocsc(),
    "coo": lambda toy: toy.A.tocoo(),
    "csr with 64-bit places": lambda toy: sp.csr_array(
        (toy.A.data.astype("f8"), toy.A.indices.astype("i8"), toy.A.indptr.astype("i8")), shape=toy.A.shape
    ),
    "upper triangle": lambda toy: sp.triu(toy.A),
    "self-loops": lambda toy: toy.A + sp.eye_array(*toy.A.shape),
    "unsorted": lambda toy: toy.A[:, ::-1].tocsr()[:, ::-1],
    "dense": lambda toy: toy.A.toarray(),
    "pandas": lambda toy: pd.DataFrame(edge_columns(toy)),
    "polars": lambda toy: pl.DataFrame(edge_columns(toy, ("from", "to"))),
    "pyarrow": lambda toy: pa.table(edge_columns(toy, ("source", "target"))),
    "networkx": networkx,
    "igraph": igraph,
    "pyg": pyg,
    "dgl": Dgl,
    "PyTorch Geometric, installed": real_pyg,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weights", ["toy", "weighted"])
def test_every_kind_gives_the_same_embedding(kind, weights, request):
    toy = request.getfixturevalue(weights)
    wanted = learner().fit(toy.X, toy.A)
    found = learner().fit(toy.X, KINDS[kind](toy))
    assert found.graph_.fingerprint == wanted.graph_.fingerprint
    assert found.embedding_.tobytes() == wanted.embedding_.tobytes()
    assert found.graph_.weighted == (weights == "weighted")


def test_edge_arrays_and_graphs_with_features(toy):
    wanted = learner().fit_transform(toy.X, toy.A).tobytes()
    assert learner().fit_transform(toy.X, toy.edges).tobytes() == wanted
    assert learner().fit_transform(toy.X, toy.edges[::-1].astype("i4")).tobytes() == wanted
    assert learner().fit_transform(toy.X, graph=toy.edges).tobytes() == wanted
    assert learner().fit_transform(Graph.from_edges(toy.edges, features=toy.X)).tobytes() == wanted
    assert learner().fit_transform(pyg(toy)).tobytes() == wanted
    assert learner().fit_transform(Dgl(toy)).tobytes() == wanted
    assert learner().fit_transform(Graph.from_networkx(networkx(toy), features="x")).tobytes() == wanted


def test_a_store_is_mapped_and_gives_the_same(toy, tmp_path):
    graph = Graph.from_matrix(toy.A, features=toy.X).save(tmp_path / "g.graph")
    wanted = learner().fit_transform(toy.X, toy.A).tobytes()
    assert graph.path == str(tmp_path / "g.graph")
    assert learner().fit_transform(graph).tobytes() == wanted
    assert learner().fit_transform(tmp_path / "g.graph").tobytes() == wanted
    assert learner().fit_transform(str(tmp_path / "g.graph")).tobytes() == wanted
    assert learner().fit_transform(toy.X, graph).tobytes() == wanted
    with pytest.raises(FileExistsError, match="overwrite=True"):
        graph.save(tmp_path / "g.graph")
    graph.save(tmp_path / "g.graph", overwrite=True)


@pytest.mark.parametrize(
    "name",
    [
        lambda node: f"node {node}",
        lambda node: 7 * node - 300,
        lambda node: node + 2**40,
        lambda node: "ünï·" + str(node),
        lambda node: str(node),
    ],
    ids=["text", "negative with gaps", "large", "not ascii", "digits"],
)
@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_ids_go_in_and_come_out(toy, name, table):
    names = [name(node) for node in range(len(toy.y))]
    edges = table({"src": [names[s] for s in toy.edges[0]], "dst": [names[t] for t in toy.edges[1]]})
    features = {f"f{column}": toy.X[:, column] for column in range(toy.X.shape[1])}
    nodes = table({"id": names, "label": [f"c{y}" for y in toy.y], **features})
    found = learner().fit(nodes, edges)
    assert list(found.graph_.ids) == names
    assert found.embedding_.tobytes() == learner().fit_transform(toy.X, toy.A).tobytes()
    assert list(found.feature_names_in_) == list(features)
    assert found.graph_.classes == ["c0", "c1", "c2"]
    assert (found.graph_.labels == toy.y).all()
    picked = [names[5], names[0], names[5]]
    assert (found.transform(picked) == found.embedding_[[5, 0, 5]]).all()
    assert found.to_arrow()["id"].to_pylist() == names
    assert found.to_pandas().index.tolist() == names
    assert found.to_polars()["id"].to_list() == names
    assert found.explain(names[3])[0]["id"] == names[3]


def test_a_pandas_index_names_nodes(toy):
    names = [f"n{node}" for node in range(len(toy.y))]
    nodes = pd.DataFrame(toy.X, index=names, columns=[f"f{c}" for c in range(toy.X.shape[1])])
    edges = pd.DataFrame({"src": np.array(names)[toy.edges[0]], "dst": np.array(names)[toy.edges[1]]})
    found = learner().fit(nodes, edges)
    assert found.graph_.ids == names
    assert found.embedding_.tobytes() == learner().fit_transform(toy.X, toy.A).tobytes()


def test_list_columns_splits_and_other_names():
    nodes = pl.DataFrame({"nid": ["b", "a"], "features": [[1.0, 2.0], [3.0, 4.0]], "kind": [1, None], "split": ["train", None]})
    edges = pl.DataFrame({"u": ["a"], "v": ["b"], "w": [2.5]})
    graph = Graph.from_tables(edges, nodes, source="u", target="v", weight="w", label="kind")
    assert graph.ids == ["b", "a"] and graph.weighted
    assert (graph.features == [[1, 2], [3, 4]]).all()
    assert graph.classes == ["1"] and graph.labels.tolist() == [0, -1]
    assert graph.splits["public"].tolist() == [1, 0]
    assert graph.adjacency.toarray().tolist() == [[0, 2.5], [2.5, 0]]


def test_nodes_are_found_in_edges_or_created():
    edges = pd.DataFrame({"src": [5, -1], "dst": [9, 5]})
    assert Graph.from_tables(edges).ids.tolist() == [-1, 5, 9]
    nodes = pd.DataFrame({"id": [9, 5], "x": [1.0, 2.0]})
    with pytest.raises(ValueError, match="row 1: node id \"-1\" is not among the nodes.*create_missing"):
        Graph.from_tables(edges, nodes)
    graph = Graph.from_tables(edges, nodes, create_missing=True)
    assert graph.ids.tolist() == [9, 5, -1]
    assert graph.features.toarray().tolist() if hasattr(graph.features, "toarray") else graph.features.tolist() == [[1], [2], [0]]


def test_directed_graphs_keep_their_arcs():
    arcs = nx.DiGraph([("a", "b"), ("b", "c")])
    graph = as_graph(arcs)
    assert graph.directed and graph.num_edges == 2
    assert graph.adjacency.toarray().tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert not Graph.from_networkx(arcs, directed=False).directed
    with pytest.raises(ValueError, match="neither an integer nor text"):
        as_graph(nx.Graph([((0, 1), (1, 2))]))


def test_what_is_dropped_is_counted():
    graph = Graph.from_edges([[0, 0, 1, 2], [1, 1, 1, 0]], weights=[1, 2, 1, 0])
    assert graph.dropped == {"given": 4, "self_loops": 1, "duplicates": 1, "zero_weights": 1, "mirrored": 1}
    assert graph.adjacency[[0], [1]].item() == 2
    assert Graph.from_edges([[0, 0], [1, 1]], weights=[1, 2], duplicates="sum").adjacency[[0], [1]].item() == 3


def test_numpy_memory_is_used_where_it_lies(toy):
    graph = Graph.from_matrix(toy.A, features=toy.X)
    assert np.shares_memory(graph.features, toy.X)
    assert np.shares_memory(graph._native.rows()[1], toy.A.indices)
    assert not graph.features.flags.writeable
    sparse = sp.csr_array(np.eye(len(toy.y), dtype="f4"))
    given = graph.with_features(sparse).features
    assert np.shares_memory(given.data, sparse.data) and np.shares_memory(given.indices, sparse.indices)
    assert np.shares_memory(graph.adjacency.indices, toy.A.indices)
    rows = SubgCon(n_components=4, max_iter=2, random_state=0).fit(graph)
    del graph, toy.X
    assert rows.graph_.features.shape == (150, 12), "the memory lives as long as the graph"


@pytest.mark.parametrize("density", [1.0, 0.05])
def test_graphs_are_pickled_whole(toy, density, tmp_path):
    X = toy.X * (np.random.default_rng(0).random(toy.X.shape) < density)
    graph = Graph.from_matrix(toy.A, features=X, ids=[f"n{i}" for i in range(150)], labels=toy.y)
    graph = graph.with_splits({"one": toy.y + 1})
    again = pickle.loads(pickle.dumps(graph))
    assert again.fingerprint == graph.fingerprint and again.ids == graph.ids
    dense = lambda matrix: matrix.toarray() if sp.issparse(matrix) else matrix
    assert (dense(again.features) == dense(graph.features)).all()
    assert (again.labels == toy.y).all() and (again.splits["one"] == toy.y + 1).all()
    stored = graph.save(tmp_path / "g.graph")
    kept = pickle.dumps(stored)
    assert pickle.loads(kept).path == stored.path
    # The same name, another graph.
    others = [Graph.from_matrix(toy.A, features=toy.X + 1), Graph.from_edges(np.array([[0, 1], [1, 2]]))]
    for other in others:
        other.save(stored.path, overwrite=True)
        with pytest.raises(ValueError, match="another graph than when it was pickled"):
            pickle.loads(kept)


class SparseTensor:
    """A sparse tensor as PyTorch has it, as far as we look."""

    layout = "torch.sparse_csr"

    def __init__(self, matrix):
        self._matrix, self.shape = matrix.tocoo(), matrix.shape

    def detach(self):
        return self

    cpu = to_sparse_coo = detach

    def _indices(self):
        return tensor(np.array([self._matrix.row, self._matrix.col]))

    def _values(self):
        return tensor(self._matrix.data)


def test_sparse_tensors(weighted):
    wanted = learner().fit_transform(weighted.X, weighted.A).tobytes()
    rows = SparseTensor(sp.csr_array(weighted.X))
    assert learner().fit_transform(rows, weighted.A).tobytes() == wanted
    assert learner().fit_transform(weighted.X, SparseTensor(weighted.A)).tobytes() == wanted
    data = pyg(weighted)
    data.x, data.edge_index, data.edge_weight, data.adj_t = rows, None, None, SparseTensor(weighted.A)
    assert learner().fit_transform(data).tobytes() == wanted
    # Transposed: an edge from 0 to 1 alone; weights beside it, and twice the same edge.
    one_way = types.SimpleNamespace(edge_index=None, adj_t=SparseTensor(sp.coo_array(([1.0], ([1], [0])), shape=(3, 3))))
    assert Graph.from_pyg(one_way, directed=True).adjacency.toarray().tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    one_way.edge_attr = tensor([[5.0]])
    assert Graph.from_pyg(one_way).adjacency.toarray().tolist() == [[0, 5, 0], [5, 0, 0], [0, 0, 0]]
    one_way.adj_t = SparseTensor(sp.coo_array(([2.0, 3.0], ([1, 1], [0, 0])), shape=(3, 3)))
    assert Graph.from_pyg(one_way, duplicates="largest").adjacency.toarray()[0].tolist() == [0, 3, 0]
    sparse = SparseTensor(sp.csr_array(np.eye(3)))
    for bad in (
        lambda: Graph.from_edges(sparse),
        lambda: Graph.from_edges(weighted.edges, weights=sparse),
        lambda: Graph.from_edges(weighted.edges, labels=sparse),
        lambda: evaluate(sparse, [0, 1, 0]),
        lambda: Graph.from_pyg(types.SimpleNamespace(**{**vars(pyg(weighted)), "train_mask": sparse})),
    ):
        with pytest.raises(ValueError, match="a sparse tensor; give a dense one"):
            bad()
    sparse.shape = (3,)
    with pytest.raises(ValueError, match="sparse tensor of shape .3,.; give a matrix"):
        learner().fit(sparse, weighted.A)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of PyTorch, about its own sparse tensors
def test_installed_tensors_of_all_kinds(toy):
    torch = pytest.importorskip("torch")
    wanted = learner().fit_transform(toy.X, toy.A).tobytes()
    rows = torch.from_numpy(np.array(toy.X))
    edges = torch.from_numpy(np.array([toy.A.tocoo().row, toy.A.tocoo().col])).long()
    adjacency = torch.sparse_coo_tensor(edges, torch.ones(edges.shape[1]), tuple(toy.A.shape))
    assert Graph.from_matrix(adjacency).fingerprint == as_graph(toy.A).fingerprint
    weights = torch.ones(edges.shape[1]).requires_grad_()
    assert Graph.from_edges(edges, weights=weights).fingerprint == as_graph(toy.A).fingerprint
    assert learner().fit_transform(rows.to_sparse().half(), edges).shape[0] == len(toy.y)
    for X in (rows, rows.clone().requires_grad_(), rows.to_sparse(), rows.to_sparse_csr()):
        for graph in (edges, adjacency, adjacency.to_sparse_csr()):
            assert learner().fit_transform(X, graph).tobytes() == wanted
    assert learner().fit_transform(rows.bfloat16(), edges).shape[0] == len(toy.y)


def test_graphs_of_several_kinds_and_without_edges_are_refused(toy):
    several = types.SimpleNamespace(to_homogeneous=None, edge_types=["a", "b"])
    for call in (lambda: Graph.from_pyg(several), lambda: learner().fit(several), lambda: learner().fit(toy.X, several), lambda: as_graph(several)):
        with pytest.raises(ValueError, match="several kinds of nodes or edges"):
            call()
    graph = Dgl(toy)
    graph.is_homogeneous = False
    with pytest.raises(ValueError, match="several kinds of nodes or edges"):
        learner().fit(graph)
    data = pyg(toy)
    data.edge_index = None
    with pytest.raises(ValueError, match="neither edge_index nor adj_t"):
        learner().fit(data)


def test_pyg_masks_become_splits(toy):
    graph = as_graph(pyg(toy))
    assert graph.splits["public"].tolist() == [1, 3] * 75


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_missing_numbers_are_noticed(table):
    edges = table({"src": [0, 1], "dst": [1, 2]})
    for holes in ([0.5, None, 1.5], [5, None, 7], [True, None, False]):
        nodes = table({"id": [0, 1, 2], "age": holes})
        with pytest.raises(ValueError, match="age|NaN|nan|missing"):
            Graph.from_tables(edges, nodes)
    with pytest.raises(ValueError, match="'id': (row 1 has no id|None is neither)"):
        Graph.from_tables(edges, table({"id": [0, None, 2], "age": [1.0, 2.0, 3.0]}))
    labelled = Graph.from_tables(edges, table({"id": [0, 1, 2], "label": [1, None, 0]}), label="label")
    assert labelled.labels.tolist() == [1, -1, 0]
    far = table({"id": [0, 1, 2], "label": [str(2**53), None, str(2**53 + 1)]})
    assert Graph.from_tables(edges, far, label="label").classes == [str(2**53), str(2**53 + 1)]


def test_missing_labels_of_a_record_batch():
    nodes = pa.RecordBatch.from_pydict({"id": [0, 1, 2], "label": [2**53, None, 2**53 + 1]})
    graph = Graph.from_tables(pa.table({"src": [0, 1], "dst": [1, 2]}), nodes, label="label")
    assert graph.classes == [str(2**53), str(2**53 + 1)]
    assert graph.labels.tolist() == [0, -1, 1]


def test_arrays_that_start_between_two_numbers(toy):
    raw = np.zeros(toy.X.size * 4 + 1, dtype=np.uint8)
    odd = raw[1:].view(np.float32).reshape(toy.X.shape)
    odd[:] = toy.X
    assert not odd.flags.aligned
    given = learner().fit_transform(toy.X, toy.A)
    assert learner().fit_transform(odd, toy.A).tobytes() == given.tobytes()
    assert learner().fit_transform(np.asfortranarray(toy.X), toy.A).tobytes() == given.tobytes()


def test_tables_whose_ids_are_rows_know_names_in_capitals(weighted):
    sources, targets = weighted.edges
    X = np.vstack([weighted.X, weighted.X[:1]])  # a last row that no edge names
    few = {"n_components": 4, "max_iter": 2, "random_state": 0}
    tables = [
        pd.DataFrame({names[0]: sources, names[1]: targets, names[2]: sp.triu(weighted.A).tocoo().data})
        for names in (("src", "dst", "weight"), ("SRC", "Dst", "Weight"))
    ]
    found = [SubgCon(**few).fit(X, table) for table in tables]
    assert found[0].graph_.weighted and found[0].graph_.num_nodes == len(X)
    assert found[0].embedding_.tobytes() == found[1].embedding_.tobytes()
    with pytest.raises(ValueError, match="call the ends of an edge src/dst"):
        SubgCon(**few).fit(X, tables[0].rename(columns={"src": "a"}))
    with pytest.raises(ValueError, match="column 'src' holds texts .* ids are its row numbers"):
        SubgCon(**few).fit(X, tables[0].astype({"src": str}))
    # A column of nothing has no type that tells.
    none = pd.DataFrame({name: pd.Series([], dtype=object) for name in ("src", "dst")})
    assert SubgCon(**few).fit(X, none).graph_.num_edges == 0


def test_usual_names_are_known_in_capitals():
    edges = pd.DataFrame({"Source": ["a", "b"], "TARGET": ["b", "c"], "Weight": [1.0, 2.0]})
    nodes = pd.DataFrame({"ID": ["a", "b", "c"], "Label": ["x", "y", "x"], "f": [1.0, 2.0, 3.0], "label": ["u", "u", "v"]})
    graph = Graph.from_tables(edges, nodes)
    assert graph.ids == ["a", "b", "c"] and graph.weighted
    # The name itself comes before one that is like it, which is no number and so no feature.
    assert graph.classes == ["u", "v"] and graph.feature_names == ["f"]
    # A usual name as it is written comes before an earlier one in capitals.
    edges = pd.DataFrame({"SRC": ["x"], "DST": ["y"], "source": ["a"], "target": ["b"]})
    nodes = pd.DataFrame({"ID": [1, 2], "node_id": ["a", "b"]})
    assert Graph.from_tables(edges, nodes).ids == ["a", "b"]
    for name in ("Label", "Split", "Weight"):
        clash = pd.DataFrame({"src": ["a"], "dst": ["b"], name: [1.0], name.upper(): [2.0]})
        nodes = pd.DataFrame({"id": ["a", "b"]})
        tables = (clash, nodes) if name == "Weight" else (edges, pd.DataFrame({"id": ["a", "b"], name: [1, 2], name.upper(): [1, 2]}))
        with pytest.raises(ValueError, match=f"'{name}' and '{name.upper()}' may both be the {name.lower()}"):
            Graph.from_tables(*tables)
