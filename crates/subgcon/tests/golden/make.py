"""Writes state.json: what a step of training has to give, by PyTorch's autograd in float64.

    python make.py            needs NumPy and PyTorch; writes beside itself
    python make.py --check    also compares the layers with torch_geometric's

Nothing here is fast or shared with the library: contexts come from a dense solve, every context is
encoded by itself with a dense adjacency, and every pair of a centre and a summary is scored. The
definitions are those of the Subg-Con paper (Jiao et al., ICDM 2020: Eq. 1 with its inverse, Sec. III)
with GCN (Kipf and Welling, 2017), GAT (Velickovic et al., 2018) and GIN (Xu et al., 2019); the case
`reference` is the step of its authors' released program, written a second time and another way.

The graph has 12 nodes: 0 to 7 hang together (6 and 7 are twins, so that scores tie), 8-9-10 is a
path whose contexts are short, 11 has no edge. Node 5 has no features, and no node has feature 3.
"""

import argparse
import json
import pathlib

import numpy as np
import torch
from torch.nn.functional import leaky_relu, logsigmoid, prelu, relu

HERE = pathlib.Path(__file__).parent
RESTART, SIZE, NODES, FEATURES, WIDTH = 0.15, 4, 12, 7, 5
# Overlapping contexts; where all pairs are compared, no two of the same nodes: their summaries would tie.
CENTERS = [4, 0, 9, 11, 5, 3]
# No fixed points, and no two agree anywhere.
SHUFFLES = [[2, 5, 4, 1, 3, 0], [5, 0, 1, 4, 2, 3], [1, 3, 5, 2, 0, 4]]
# Without triangles: two nodes of one would have the same row in a context of four, and a maximum would tie.
EDGES = [[0, 1], [0, 2], [1, 3], [2, 3], [2, 4], [3, 5], [4, 5], [4, 6], [4, 7], [8, 9], [9, 10]]
# Single precision holds them exactly, as a store does.
WEIGHTS = [0.5, 2.0, 1.25, 0.75, 3.0, 1.5, 0.25, 1.0, 2.5, 0.625, 1.75]
ARCS = [
    [0, 1], [1, 0], [0, 2], [2, 1], [1, 3], [2, 4], [4, 2], [3, 5], [5, 4], [4, 6], [4, 7], [7, 4],
    [9, 8], [9, 10], [10, 9],
]


# ---------------------------------------------------------------- the graph

def adjacency_of(edges, weights, directed):
    a = np.zeros((NODES, NODES))
    for (u, v), weight in zip(edges, weights or [1.0] * len(edges)):
        a[u, v] = weight
        if not directed:
            a[v, u] = weight
    return a


def contexts_of(a):
    """The contexts of all nodes, and the PageRank of each member seen from the centre."""
    into = a.sum(0)
    columns = np.divide(a, into, out=np.zeros_like(a), where=into > 0)
    s = RESTART * np.linalg.inv(np.eye(NODES) - (1 - RESTART) * columns)
    contexts, pagerank = [], []
    for i in range(NODES):
        others = [j for j in range(NODES) if j != i and s[i, j] > 1e-12]
        # Scores that are equal by symmetry differ in their last bits; others must not be close.
        rounded = {j: float(f"{s[i, j]:.11e}") for j in others}
        others.sort(key=lambda j: (-rounded[j], j))
        for j, k in zip(others, others[1:]):
            assert rounded[j] == rounded[k] or rounded[j] > rounded[k] * (1 + 1e-6), "a near tie"
        members = [i, *others[: SIZE - 1]]
        out = a[i].sum()
        contexts.append(members)
        pagerank.append([s[i, j] * into[j] / out if out > 0 else 1.0 for j in members])
    return contexts, pagerank


def make_graphs():
    graphs = {}
    for name, edges, weights, directed in (
        ("plain", EDGES, None, False), ("weighted", EDGES, WEIGHTS, False), ("directed", ARCS, None, True),
    ):
        a = adjacency_of(edges, weights, directed)
        contexts, pagerank = contexts_of(a)
        graphs[name] = {
            "edges": edges, "weights": weights, "directed": directed, "contexts": contexts,
            "pagerank": pagerank, "adjacency": torch.tensor(a),
        }
    return graphs


def make_features(rng):
    x = np.round(rng.normal(size=(NODES, FEATURES)), 2) * (rng.random((NODES, FEATURES)) < 0.6)
    x[5], x[:, 3] = 0, 0
    return torch.tensor(x + 0.0)  # no negative zeros


# ---------------------------------------------------------------- encoders

def make_parameters(rng, kind, layers, width, heads):
    normal = lambda *shape: rng.normal(size=shape) * 0.6
    # Steep ones, so that rows have both signs and a hinge is open in some pairs and shut in others.
    slope = lambda: rng.uniform(0.2, 0.9, size=width)
    parameters = {}
    for layer in range(layers):
        inputs = width if layer else FEATURES
        if kind == "gin":
            own = {
                "weight1": normal(inputs, width), "bias1": normal(width), "slope1": slope(),
                "epsilon": normal(1), "weight2": normal(width, width), "bias2": normal(width),
                "slope2": slope(),
            }
        else:
            own = {"weight": normal(inputs, width)}
            if kind == "gcn-skip":
                own["skip"] = normal(inputs, width)
            if kind == "gat":
                own["attention_source"] = normal(heads, width // heads)
                own["attention_target"] = normal(heads, width // heads)
            own |= {"bias": normal(width), "slope": slope()}
        parameters |= {f"layers.{layer}.{name}": value for name, value in own.items()}
    return {name: torch.tensor(value) for name, value in parameters.items()}


def layer_rows(kind, heads, p, x, a):
    """One layer on one context: x (k, inputs), a (k, k) the weights inside it; (k, width)."""
    with_self = a + torch.eye(len(a), dtype=a.dtype)
    if kind in ("gcn", "gcn-skip"):
        scale = with_self.sum(1).rsqrt()
        z = scale[:, None] * with_self * scale @ x @ p["weight"] + p["bias"]
        return prelu(z + x @ p["skip"] if kind == "gcn-skip" else z, p["slope"])
    if kind == "gat":
        y = (x @ p["weight"]).view(len(a), heads, -1)
        target = (y * p["attention_target"]).sum(-1)
        source = (y * p["attention_source"]).sum(-1)
        strength = leaky_relu(target[:, None] + source[None], 0.2)
        share = with_self[:, :, None] * strength.exp()
        share = share / share.sum(1, keepdim=True)
        mixed = torch.einsum("ijh,jhd->ihd", share, y).reshape(len(a), -1)
        return prelu(mixed + p["bias"], p["slope"])
    if kind == "gin":
        y = x @ p["weight1"]
        z = (1 + p["epsilon"]) * y + a @ y + p["bias1"]
        return prelu(prelu(z, p["slope1"]) @ p["weight2"] + p["bias2"], p["slope2"])
    assert kind == "mlp"
    return prelu(x @ p["weight"] + p["bias"], p["slope"])


def encode(encoder, graph, x, parameters):
    """Rows of the contexts of the batch, a matrix for each."""
    rows = []
    for center in CENTERS:
        nodes = torch.tensor(graph["contexts"][center])
        h, a = x[nodes], graph["adjacency"][nodes][:, nodes]
        for layer in range(encoder["layers"]):
            start = f"layers.{layer}."
            own = {k.removeprefix(start): v for k, v in parameters.items() if k.startswith(start)}
            h = layer_rows(encoder["kind"], encoder["heads"], own, h, a)
        rows.append(h)
    return rows


# ---------------------------------------------------------------- contrast

def summary_of(readout, rows, pagerank):
    weights = torch.tensor(pagerank)
    if not readout["center"] and len(rows) > 1:
        rows, weights = rows[1:], weights[1:]
    match readout["kind"]:
        case "mean":
            s = rows.mean(0)
        case "sum":
            s = rows.sum(0)
        case "max":
            best = rows.detach().sort(0, descending=True).values
            assert len(best) == 1 or ((best[0] - best[1]).abs() > 1e-6).all(), "a tie has no derivative"
            s = rows.max(0).values
        case "mass":
            s = weights / weights.sum() @ rows
    return torch.sigmoid(s) if readout["sigmoid"] else s


def loss_of(objective, h, s):
    """The objective's value, and the share of pairs in which the positive wins."""
    scores = h @ s.T  # of centre i and summary j
    if objective["similarity"] != "dot":
        temperature = objective["similarity"]["cosine"]["temperature"]
        scores = scores / h.norm(dim=1)[:, None] / s.norm(dim=1) / temperature
    n = len(h)
    if objective["negatives"] == "all-pairs":
        others = [[j for j in range(n) if j != i] for i in range(n)]
    else:
        used = SHUFFLES[: objective["negatives"]["shuffles"]]
        others = [[shuffle[i] for shuffle in used] for i in range(n)]
    anchor = torch.arange(n)[:, None].expand(n, len(others[0]))
    others = torch.tensor(others)
    positive = scores.diagonal()[:, None].expand(anchor.shape)
    sides = [scores[anchor, others]]
    if objective["directions"] == "both":
        sides.append(scores[others, anchor])
    loss, won = 0, 0
    for negative in sides:
        match objective["kind"]:
            case {"margin": {"margin": margin}}:
                short = negative.sigmoid() - positive.sigmoid() + margin
                assert (short.abs() > 1e-6).all(), "a corner has no derivative"
                loss = loss + relu(short).mean()
            case "logistic":
                loss = loss - (logsigmoid(positive) + logsigmoid(-negative)).mean()
            case "bpr":
                loss = loss - logsigmoid(positive - negative).mean()
            case "info-nce":
                together = torch.cat([positive[:, :1], negative], 1)
                loss = loss - together.log_softmax(1)[:, 0].mean()
        assert ((positive - negative).abs() > 1e-6).all(), "who wins depends on rounding"
        won += (positive > negative).double().mean().item() / len(sides)
    return loss, won


def step(case, encoder, graph, x, parameters):
    rows = encode(encoder, graph, x, parameters)
    centers = torch.stack([own[0] for own in rows])
    pagerank = [graph["pagerank"][center] for center in CENTERS]
    summaries = torch.stack([summary_of(case["readout"], *pair) for pair in zip(rows, pagerank)])
    loss, won = loss_of(case["objective"], centers, summaries)
    return loss, {"centers": centers, "summaries": summaries, "retrieval": won}


def released_step(_case, _encoder, graph, x, parameters):
    """The released program's step: all contexts as one graph of arcs, gathered and scattered, the mean
    of each as summary, and PyTorch's margin ranking loss used twice on one shuffle."""
    owner, nodes, arcs = [], [], []
    for place, center in enumerate(CENTERS):
        start, members = len(nodes), graph["contexts"][center]
        for i, u in enumerate(members):
            arcs += [(start + i, start + j) for j, v in enumerate(members) if graph["adjacency"][v, u]]
            arcs.append((start + i, start + i))
        owner += [place] * len(members)
        nodes += members
    owner, (source, target) = torch.tensor(owner), torch.tensor(arcs).T
    starts = torch.tensor([owner.tolist().index(place) for place in range(len(CENTERS))])
    scale = torch.bincount(target).double() ** -0.5
    y = x[torch.tensor(nodes)] @ parameters["layers.0.weight"]
    sent = y[source] * (scale[source] * scale[target])[:, None]
    hidden = torch.zeros_like(y).index_add(0, target, sent) + parameters["layers.0.bias"]
    hidden = torch.nn.functional.prelu(hidden, parameters["layers.0.slope"])
    sums = torch.zeros(len(CENTERS), hidden.shape[1], dtype=y.dtype).index_add(0, owner, hidden)
    summary = sums / torch.bincount(owner)[:, None]
    center = hidden[starts]
    shuffled = torch.tensor(SHUFFLES[0])
    center2, summary2 = center[shuffled], summary[shuffled]
    score = lambda h, s: torch.sigmoid((h * s).sum(-1))
    ranking = torch.nn.MarginRankingLoss(margin=0.5)
    ones = torch.ones(len(CENTERS), dtype=y.dtype)
    aa, bb = score(center, summary), score(center2, summary2)
    ab, ba = score(center, summary2), score(center2, summary)
    loss = ranking(aa, ba, ones) + ranking(bb, ab, ones)
    won = torch.cat([aa > ba, bb > ab]).double().mean().item()
    return loss, {"centers": center, "summaries": summary, "retrieval": won}


# ---------------------------------------------------------------- the cases

def margin(negatives, directions, **more):
    return {
        "kind": {"margin": {"margin": 0.5}}, "similarity": "dot", "negatives": negatives,
        "directions": directions,
    } | more


def make_cases():
    """(name, encoder, readout, objective, weight decay)."""
    mean = {"kind": "mean", "sigmoid": False, "center": True}
    one, cosine = {"shuffles": 1}, {"cosine": {"temperature": 0.5}}
    plain = margin(one, "both")
    cases = []
    for encoder in (
        "gcn", "gcn-skip", "gat", "gat-2-heads", "gin", "mlp", "gcn-2-layers", "gcn-skip-2-layers",
        "gat-2-layers", "gin-2-layers", "mlp-2-layers", "gcn-weighted", "gcn-skip-weighted",
        "gat-weighted", "gin-weighted", "gcn-directed", "gat-directed", "gin-directed",
    ):
        cases.append((encoder, encoder, mean, plain, 0.0))
    for kind in ("margin", "logistic", "bpr", "info-nce"):
        for label, negatives in (("1-shuffle", one), ("3-shuffles", {"shuffles": 3}), ("all-pairs", "all-pairs")):
            for directions in ("centers", "both"):
                objective = margin(negatives, directions)
                if kind != "margin":
                    objective["kind"] = kind
                if kind == "info-nce":
                    objective["similarity"] = cosine
                if objective != plain:
                    cases.append((f"gcn {kind} {label} {directions}", "gcn", mean, objective, 0.0))
    cases.append(("gcn margin cosine", "gcn", mean, margin("all-pairs", "both", similarity=cosine), 0.0))
    cases.append(("gcn info-nce dot", "gcn", mean, margin("all-pairs", "both", kind="info-nce"), 0.0))
    for kind in ("mean", "sum", "max", "mass"):
        for sigmoid in (False, True):
            for center in (True, False):
                readout = {"kind": kind, "sigmoid": sigmoid, "center": center}
                name = f"gcn readout {kind}" + " sigmoid" * sigmoid + " without center" * (not center)
                if readout != mean:
                    cases.append((name, "gcn", readout, plain, 0.0))
    cases.append(("gcn-weighted readout mass", "gcn-weighted", mean | {"kind": "mass"}, plain, 0.0))
    cases.append(("gcn weight decay", "gcn", mean, plain, 1e-2))
    cases.append(("reference", "gcn", mean, margin(one, "reference"), 0.0))
    return cases


def make_encoders():
    encoders = {}
    for name, kind, layers, width, heads, graph in (
        ("gcn", "gcn", 1, WIDTH, 1, "plain"),
        ("gcn-skip", "gcn-skip", 1, WIDTH, 1, "plain"),
        ("gat", "gat", 1, WIDTH, 1, "plain"),
        ("gat-2-heads", "gat", 1, 6, 2, "plain"),
        ("gin", "gin", 1, WIDTH, 1, "plain"),
        ("mlp", "mlp", 1, WIDTH, 1, "plain"),
        ("gcn-2-layers", "gcn", 2, WIDTH, 1, "plain"),
        ("gcn-skip-2-layers", "gcn-skip", 2, WIDTH, 1, "plain"),
        ("gat-2-layers", "gat", 2, 6, 2, "plain"),
        ("gin-2-layers", "gin", 2, WIDTH, 1, "plain"),
        ("mlp-2-layers", "mlp", 2, WIDTH, 1, "plain"),
        ("gcn-weighted", "gcn", 1, WIDTH, 1, "weighted"),
        ("gcn-skip-weighted", "gcn-skip", 1, WIDTH, 1, "weighted"),
        ("gat-weighted", "gat", 1, 6, 2, "weighted"),
        ("gin-weighted", "gin", 1, WIDTH, 1, "weighted"),
        ("gcn-directed", "gcn", 1, WIDTH, 1, "directed"),
        ("gat-directed", "gat", 1, WIDTH, 1, "directed"),
        ("gin-directed", "gin", 1, WIDTH, 1, "directed"),
    ):
        encoders[name] = {"kind": kind, "layers": layers, "width": width, "heads": heads, "graph": graph}
    return encoders


def solve(case, encoder, graph, x, initial):
    """Everything that the library is asked for in a case."""
    run = released_step if case["objective"]["directions"] == "reference" else step
    moving = {name: value.clone().requires_grad_() for name, value in initial.items()}
    adam = torch.optim.Adam(moving.values(), lr=1e-3, weight_decay=case["weight_decay"])
    expected, losses = None, []
    for _ in range(11):
        adam.zero_grad()
        loss, seen = run(case, encoder, graph, x, moving)
        loss.backward()
        if expected is None:
            gradients = {name: value.grad.clone() for name, value in moving.items()}
            expected = seen | {"loss": loss.item(), "gradients": gradients}
        losses.append(loss.item())
        adam.step()
    # losses[0] is the loss above; the others come after one to ten steps.
    return expected | {"losses": losses[1:]}


def check_layers(graph, x, encoders, parameters):
    """torch_geometric's layers say the same, where they can do it (weights: GCN only)."""
    from torch_geometric.nn import GATConv, GCNConv, GINConv

    for name in ("gcn", "gcn-weighted", "gat", "gat-2-heads", "gin"):
        encoder, p = encoders[name], {k.removeprefix("layers.0."): v for k, v in parameters[name].items()}
        own = graph[encoder["graph"]]
        mine = encode(encoder, own, x, parameters[name])
        for place, center in enumerate(CENTERS):
            nodes = torch.tensor(own["contexts"][center])
            a = own["adjacency"][nodes][:, nodes]
            arcs = a.nonzero().T
            weights = a[arcs[0], arcs[1]]
            if encoder["kind"] == "gcn":
                layer = GCNConv(FEATURES, encoder["width"]).double()
                layer.lin.weight.data, layer.bias.data = p["weight"].T, p["bias"]
                theirs = prelu(layer(x[nodes], arcs, weights), p["slope"])
            elif encoder["kind"] == "gat":
                heads = encoder["heads"]
                layer = GATConv(FEATURES, encoder["width"] // heads, heads=heads).double()
                layer.lin.weight.data, layer.bias.data = p["weight"].T, p["bias"]
                layer.att_src.data, layer.att_dst.data = p["attention_source"][None], p["attention_target"][None]
                theirs = prelu(layer(x[nodes], arcs), p["slope"])
            else:
                inner = torch.nn.Sequential(
                    torch.nn.Linear(FEATURES, WIDTH), torch.nn.PReLU(WIDTH), torch.nn.Linear(WIDTH, WIDTH)
                ).double()
                layer = GINConv(inner, eps=p["epsilon"].item())  # forgets the weights it is given
                inner[0].weight.data, inner[0].bias.data = p["weight1"].T, p["bias1"]
                inner[1].weight.data = p["slope1"]
                inner[2].weight.data, inner[2].bias.data = p["weight2"].T, p["bias2"]
                theirs = prelu(layer(x[nodes], arcs), p["slope2"])
            told = lambda message: f"{name}, context of {center}: {message}"
            torch.testing.assert_close(mine[place], theirs, rtol=1e-12, atol=1e-13, msg=told)
    print("torch_geometric agrees")


def write(value, depth=0):
    """JSON with one line for each list that holds no objects; floats as the shortest text that reads back."""
    if isinstance(value, dict) and value and depth < 4:
        lines = [f"{' ' * (depth + 1)}{json.dumps(k)}: {write(v, depth + 1)}" for k, v in value.items()]
        inside = ",\n".join(lines)
        return f"{{\n{inside}\n{' ' * depth}}}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        inside = ",\n".join(" " * (depth + 1) + write(v, depth + 1) for v in value)
        return f"[\n{inside}\n{' ' * depth}]"
    return json.dumps(value, separators=(",", ":"), default=torch.Tensor.tolist)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare layers with torch_geometric's")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    # Chosen so that the hinge is open in some pairs and shut in others in most cases: where it is open
    # everywhere, the released program's pairs cannot be told from ours.
    rng = np.random.default_rng(142)
    graphs, x, encoders = make_graphs(), make_features(rng), make_encoders()
    shape_of = lambda encoder: [encoder[key] for key in ("kind", "layers", "width", "heads")]
    initial = {name: make_parameters(rng, *shape_of(encoder)) for name, encoder in encoders.items()}
    if options.check:
        check_layers(graphs, x, encoders, initial)
    cases = []
    for name, chosen, readout, objective, decay in make_cases():
        case = {"name": name, "encoder": chosen, "readout": readout, "objective": objective}
        case["weight_decay"] = decay
        encoder = encoders[chosen]
        cases.append(case | solve(case, encoder, graphs[encoder["graph"]], x, initial[chosen]))
    losses = {case["name"]: case["loss"] for case in cases}
    assert abs(losses["reference"] - losses["gcn"]) > 1e-3, "a case that cannot fail"
    shown = {}
    for name, encoder in encoders.items():
        graph = encoder.pop("graph")
        rows = torch.cat(encode(encoder, graphs[graph], x, initial[name]))
        shapes = {k: {"shape": list(v.shape), "values": v.flatten()} for k, v in initial[name].items()}
        shown[name] = {"graph": graph, "settings": encoder, "parameters": shapes, "rows": rows}
    for case in cases:
        case["gradients"] = {name: value.flatten() for name, value in case["gradients"].items()}
    for graph in graphs.values():
        del graph["adjacency"]
    state = {
        "made_with": f"torch {torch.__version__.split('+')[0]}, numpy {np.__version__}",
        "restart": RESTART, "size": SIZE, "features": x, "graphs": graphs, "centers": CENTERS,
        "shuffles": SHUFFLES, "encoders": shown, "cases": cases,
    }
    text = write(state) + "\n"
    (HERE / "state.json").write_text(text)
    print(f"{len(cases)} cases, {len(text):,} bytes")


if __name__ == "__main__":
    main()
