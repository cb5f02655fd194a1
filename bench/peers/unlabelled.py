"""Embeddings that were learnt without labels. Each takes a graph and gives (nodes, width).

DeepGraphInfomax, Node2Vec (with p = q = 1: DeepWalk) and GraphSAGE are PyTorch Geometric's, with the settings of
their papers or of its examples. GMI is a small rendering of our own of Peng et al. (2020): one layer, and three
terms of mutual information, of a node with its own features, with its neighbours' and with its edges.
"""

import torch
import torch.nn.functional as F
from torch_geometric.nn import DeepGraphInfomax, GCNConv, GraphSAGE, Node2Vec
from torch_geometric.nn.models import node2vec
from torch_geometric.utils import negative_sampling


def stopped(step, parameters, rate, steps, patience):
    """Adam until the loss has not fallen for so many steps."""
    optimizer = torch.optim.Adam(parameters, lr=rate)
    best, waited = float("inf"), 0
    for _ in range(steps):
        optimizer.zero_grad()
        loss = step()
        loss.backward()
        optimizer.step()
        best, waited = (loss.item(), 0) if loss.item() < best else (best, waited + 1)
        if waited >= patience:
            break


class Encoder(torch.nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.layer, self.activation = GCNConv(width, hidden), torch.nn.PReLU(hidden)

    def forward(self, x, edge_index):
        return self.activation(self.layer(x, edge_index))


def dgi(graph, width=512, steps=300):
    model = DeepGraphInfomax(
        width,
        Encoder(graph.features.shape[1], width),
        summary=lambda z, *_: torch.sigmoid(z.mean(0)),
        corruption=lambda x, edges: (x[torch.randperm(len(x))], edges),
    )
    model.train()
    stopped(lambda: model.loss(*model(graph.features, graph.edge_index)), model.parameters(), 1e-3, steps, 20)
    model.eval()
    with torch.no_grad():
        return model.encoder(graph.features, graph.edge_index)


def walks(rowptr, col, seed, walk_length, p, q):
    """Uniform walks: what pyg-lib would do for p = q = 1."""
    at, steps = seed, [seed]
    for _ in range(walk_length):
        degree = rowptr[at + 1] - rowptr[at]
        drawn = rowptr[at] + (torch.rand(len(at)) * degree).long().clamp(max=(degree - 1).clamp(min=0))
        at = torch.where(degree > 0, col[drawn.clamp(max=len(col) - 1)], at)
        steps.append(at)
    return torch.stack(steps, 1)


def deepwalk(graph, width=128, least_steps=1000):
    if not node2vec.WITH_PYG_LIB:
        # The package without its compiled companion lacks nothing but this function.
        library = torch.library.Library("pyg", "FRAGMENT")
        library.define("random_walk(Tensor rowptr, Tensor col, Tensor seed, int walk_length, float p, float q) -> Tensor")
        library.impl("random_walk", walks, "CPU")
        node2vec.WITH_PYG_LIB = True
        deepwalk.library = library
    model = Node2Vec(
        graph.edge_index, width, walk_length=20, context_size=10, walks_per_node=1, num_nodes=graph.nodes, sparse=True
    )
    optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=0.01)
    loader = model.loader(batch_size=128, shuffle=True)
    # Small graphs have few batches and need many rounds.
    for _ in range(max(5, -(-least_steps // len(loader)))):
        for positive, negative in loader:
            optimizer.zero_grad()
            model.loss(positive, negative).backward()
            optimizer.step()
    return model().detach()


def sage(graph, width=256, steps=200):
    """Neighbours are near, random pairs far. All nodes in one batch: sampling needs pyg-lib."""
    model = GraphSAGE(graph.features.shape[1], width, num_layers=2)
    model.train()

    def step():
        h = model(graph.features, graph.edge_index)
        others = negative_sampling(graph.edge_index, graph.nodes, graph.edge_index.shape[1])
        near = (h[graph.edge_index[0]] * h[graph.edge_index[1]]).sum(1)
        far = (h[others[0]] * h[others[1]]).sum(1)
        return F.softplus(-near).mean() + F.softplus(far).mean()

    stopped(step, model.parameters(), 1e-3, steps, 20)
    model.eval()
    with torch.no_grad():
        return model(graph.features, graph.edge_index)


def gmi(graph, width=512, steps=300, weights=(0.8, 1.0, 1.0)):
    encoder = Encoder(graph.features.shape[1], width)
    own, near = (torch.nn.Linear(width, width, bias=False) for _ in range(2))
    project = torch.nn.Linear(graph.features.shape[1], width)
    parameters = [p for module in (encoder, own, near, project) for p in module.parameters()]
    sources, targets = graph.edge_index
    degree = torch.bincount(sources, minlength=graph.nodes).clamp(min=1).unsqueeze(1)

    def told_apart(discriminator, h, x):
        """Jensen and Shannon's bound: the right pairs against shuffled ones."""
        seen = discriminator(h)
        right, wrong = (seen * x).sum(1), (seen * x[torch.randperm(len(x))]).sum(1)
        return F.softplus(-right).mean() + F.softplus(wrong).mean()

    def step():
        h, x = encoder(graph.features, graph.edge_index), F.prelu(project(graph.features), encoder.activation.weight)
        around = torch.zeros_like(x).index_add_(0, sources, x[targets]) / degree
        others = negative_sampling(graph.edge_index, graph.nodes, graph.edge_index.shape[1])
        score = lambda pairs: (h[pairs[0]] * h[pairs[1]]).sum(1)
        edges = F.softplus(-score(graph.edge_index)).mean() + F.softplus(score(others)).mean()
        terms = told_apart(own, h, x), told_apart(near, h, around), edges
        return sum(weight * term for weight, term in zip(weights, terms))

    stopped(step, parameters, 1e-3, steps, 20)
    with torch.no_grad():
        return encoder(graph.features, graph.edge_index)


METHODS = {"DGI": dgi, "DeepWalk": deepwalk, "GraphSAGE, unsupervised": sage, "GMI (our rendering)": gmi}
