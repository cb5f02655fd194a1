"""Networks that are trained with the labels of the training nodes, stopped by validation nodes. Each takes a graph
and gives scores (nodes, classes) for one split.

GCN, GAT and GraphSAGE are PyTorch Geometric's, two layers with the settings of their papers. FastGCN is a small
rendering of our own of Chen et al. (2018): two layers, whose nodes are drawn in proportion to the squared norm of
their column of the normalised adjacency.
"""

import copy

import numpy as np
import scipy.sparse
import torch
import torch.nn.functional as F
from torch_geometric.nn import GAT, GCN, GraphSAGE


def loss_of(graph, scores, nodes):
    if graph.several:
        return F.binary_cross_entropy_with_logits(scores, graph.labels[nodes])
    return F.cross_entropy(scores, graph.labels[nodes])


def share_right(graph, scores, nodes):
    """Accuracy, or micro-F1 where a node may have several classes."""
    if not graph.several:
        return (scores[nodes].argmax(1) == graph.labels[nodes]).float().mean().item()
    said, true = scores[nodes] > 0, graph.labels[nodes] > 0
    return (2 * (said & true).sum() / (said.sum() + true.sum()).clamp(min=1)).item()


def fitted(graph, roles, model, train_scores, all_scores, rate, decay, steps=200, patience=50):
    """Adam; the parameters that validation nodes like best are kept."""
    train, validation = (torch.from_numpy(np.flatnonzero(roles == role)) for role in (1, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, weight_decay=decay)
    best, kept, waited = -1.0, copy.deepcopy(model.state_dict()), 0
    for _ in range(steps):
        model.train()
        optimizer.zero_grad()
        loss_of(graph, train_scores(train), train).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            found = share_right(graph, all_scores(), validation)
        best, waited, better = (found, 0, True) if found > best else (best, waited + 1, False)
        if better:
            kept = copy.deepcopy(model.state_dict())
        if waited >= patience:
            break
    model.load_state_dict(kept)
    model.eval()
    with torch.no_grad():
        return all_scores()


def whole(build, rate, decay):
    """A network that sees the whole graph in every step."""

    def method(graph, roles):
        model = build(graph.features.shape[1], graph.classes)
        scores = lambda: model(graph.features, graph.edge_index)
        return fitted(graph, roles, model, lambda nodes: scores()[nodes], scores, rate, decay)

    return method


gcn = whole(lambda width, classes: GCN(width, 16, 2, classes, dropout=0.5), 0.01, 5e-4)
gat = whole(lambda width, classes: GAT(width, 64, 2, classes, dropout=0.6, heads=8, act="elu"), 0.005, 5e-4)
sage = whole(lambda width, classes: GraphSAGE(width, 64, 2, classes, dropout=0.5), 0.01, 5e-4)


def fastgcn(graph, roles, hidden=128):
    # Of few training nodes hardly any neighbour is among 400 of Pubmed's 19,717 nodes, and nothing is learnt. So about
    # the share of Cora's nodes that 400 are, and no more than drawn x drawn numbers allow.
    drawn = min(max(400, graph.nodes // 8), 4000)
    model = torch.nn.ModuleList([torch.nn.Linear(graph.features.shape[1], hidden), torch.nn.Linear(hidden, graph.classes)])
    looped = graph.adjacency + scipy.sparse.identity(graph.nodes, np.float32, "csr")
    scale = scipy.sparse.diags_array(1 / np.sqrt(np.asarray(looped.sum(1)).ravel()))
    normal = (scale @ looped @ scale).tocsr().astype(np.float32)
    odds = np.asarray(normal.multiply(normal).sum(0)).ravel()
    odds = odds / odds.sum()
    random = np.random.default_rng(torch.randint(2**31, ()).item())
    coo = normal.tocoo()
    places = torch.from_numpy(np.stack([coo.row, coo.col]).astype(np.int64))
    full = torch.sparse_coo_tensor(places, torch.from_numpy(coo.data), coo.shape).coalesce()

    def sampled(rows):
        """Columns of some rows, drawn and weighted so that the product is right on the average."""
        some = random.choice(graph.nodes, min(drawn, graph.nodes), p=odds)
        part = normal[rows][:, some].toarray() / (len(some) * odds[some])
        return torch.from_numpy(part.astype(np.float32)), some

    def train_scores(nodes):
        outer, middle = sampled(nodes.numpy())
        inner, first = sampled(middle)
        inputs = F.dropout(graph.features[torch.from_numpy(first)], 0.5)
        return outer @ model[1](F.relu(inner @ model[0](inputs)))

    def all_scores():
        return full @ model[1](F.relu(full @ model[0](graph.features)))

    return fitted(graph, roles, model, train_scores, all_scores, 0.01, 5e-4)


METHODS = {"GCN": gcn, "GAT": gat, "GraphSAGE": sage, "FastGCN (our rendering)": fastgcn}
