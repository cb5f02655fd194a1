"""One step of training beside PyTorch: milliseconds and peak memory, in one run.

Run by `cargo xtask bench step`, which prepares the environment. A step is forward, backward and Adam on 500
contexts of up to 20 nodes, GCN of width 1024, margin 0.5 with one shuffle in both directions, single
precision. PyTorch does it in two ways:

- ordinary: the features of every row gathered into a dense matrix, messages gathered and scattered along the
  arcs, autograd, torch.optim.Adam (arc weights are prepared, though most programs compute them in the step);
- prebuilt: X W once for each distinct node, with X in sparse rows where features are sparse, and the
  aggregation and the readout as one sparse product each. All matrices and their transposes are built before,
  and Adam is fused. This is the best that we know to do with it.

Both take one thread, and batches that lie ready: building them is not timed. They are checked to give the same
losses. subgcon's time is that of `examples/step_speed`, which says what is in it. Every measurement is a
process of its own, in turn with the others; its memory is the process's peak, so PyTorch's own code counts:
"before" is what the process held when the first step began.

The graphs are Cora, or a generated graph of its shape where `--data` is not there, and two generated ones with
dense features: as many nodes, edges and columns as the small PPI graph has, and 602 columns as Reddit has.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import time

from import_speed import measured

CONTEXTS, SIZE, WIDTH, RESTART, MARGIN = 500, 20, 1024, 0.15, 0.5
STORES = {
    "cora": "--nodes 2708 --edges 5500 --classes 7 --feature-width 1433 --features-per-node 18",
    "dense-50": "--nodes 14755 --edges 225270 --feature-width 50 --dense",
    "dense-602": "--nodes 20000 --edges 225270 --feature-width 602 --dense",
}
# (graph, layers).
TASKS = [("cora", 1), ("cora", 2), ("dense-50", 1), ("dense-602", 1)]
WAYS = ("ordinary", "prebuilt")


# ---------------------------------------------------------------- batches

def contexts_of(store, batches):
    """Contexts of some nodes, a batch of centres at a time, ranked as the released program does: ten power steps, over
    degree. Of each its members, arcs and their weights."""
    import numpy as np
    import scipy.sparse as sp

    offsets = np.load(store / "offsets.npy").astype(np.int64)
    neighbours = np.load(store / "neighbours.npy").astype(np.int64)
    n = len(offsets) - 1
    adjacency = sp.csr_matrix((np.ones(len(neighbours), np.float32), neighbours, offsets), shape=(n, n))
    degree = np.maximum(np.diff(offsets), 1)
    transition = (adjacency @ sp.diags(1 / degree)).tocsr()
    for centers in batches(n):
        start = np.zeros((n, len(centers)))
        start[centers, np.arange(len(centers))] = 1
        mass = start
        for _ in range(10):
            mass = RESTART * start + (1 - RESTART) * (transition @ mass)
        score = mass / degree[:, None]
        score[centers, np.arange(len(centers))] = np.inf
        best = np.argsort(-score, axis=0, kind="stable")[:SIZE]
        found = []
        for column in range(len(centers)):
            members = best[:, column]
            members = members[score[members, column] > 0]
            own = adjacency[members][:, members].toarray() + np.eye(len(members), dtype=np.float32)
            scale = own.sum(1) ** -0.5
            target, source = own.nonzero()
            found.append((members, np.stack([target, source]), (own * scale * scale[:, None])[target, source]))
        yield found


def joined(contexts):
    """Contexts as one batch: nodes, the first row of each, arcs, weights."""
    import numpy as np

    first = np.cumsum([0] + [len(members) for members, _, _ in contexts])[:-1]
    nodes, arcs, weights = zip(*contexts)
    arcs = [pairs + start for pairs, start in zip(arcs, first)]
    return np.concatenate(nodes), first, np.concatenate(arcs, 1), np.concatenate(weights)


def prepare(store, path, count):
    """Batches of random contexts."""
    import numpy as np

    def batches(n):
        chosen = np.random.default_rng(0).permutation(n)
        for batch in range(count):
            yield np.take(chosen, np.arange(batch * CONTEXTS, (batch + 1) * CONTEXTS), mode="wrap")

    parts = {}
    for batch, contexts in enumerate(contexts_of(store, batches)):
        names = ("nodes", "first", "arcs", "weights")
        parts |= {f"{name}{batch}": part for name, part in zip(names, joined(contexts))}
    np.savez(path, **parts)


def features_of(store):
    """(nodes, columns) as CSR arrays, or as one dense array."""
    import numpy as np

    described = json.loads((store / "manifest.json").read_text())["features"]
    load = lambda name: np.load(store / f"{name}.npy")
    if described["storage"] == "dense":
        return None, load("features").astype(np.float32)
    sparse = (load("feature_offsets").astype(np.int64), load("feature_columns").astype(np.int64))
    return (*sparse, load("feature_values").astype(np.float32), described["width"]), None


# ---------------------------------------------------------------- PyTorch

def dense_of(features):
    """All features, written out."""
    import numpy as np
    import torch

    sparse, dense = features
    if dense is None:
        offsets, columns, values, width = sparse
        dense = np.zeros((len(offsets) - 1, width), np.float32)
        dense[np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), columns] = values
    return torch.from_numpy(dense)


def by_rows(x, nodes, first, arcs, weights):
    """Everything by row: what a program with `edge_index` does. A function from layers to centres and
    summaries of one batch."""
    import torch

    nodes, first, arcs, weights = map(torch.from_numpy, (nodes, first, arcs, weights[:, None]))
    counts = torch.diff(first, append=torch.tensor([len(nodes)]))
    owner = torch.repeat_interleave(torch.arange(len(first)), counts)

    def run(layers):
        rows = x[nodes]
        for weight, bias, slope in layers:
            y = rows @ weight
            mixed = torch.zeros_like(y).index_add(0, arcs[0], y[arcs[1]] * weights)
            rows = torch.nn.functional.prelu(mixed + bias, slope)
        sums = torch.zeros(len(first), rows.shape[1]).index_add(0, owner, rows)
        return rows[first], sums / counts[:, None]

    return run


def ordinary(features, batches):
    """As by_rows, for each batch."""
    x = dense_of(features)
    return x.shape[1], [by_rows(x, *batch) for batch in batches]


def prebuilt(features, batches):
    """Everything as a product with a matrix that lies ready, transposed too."""
    import numpy as np
    import scipy.sparse as sp
    import torch

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(context, left, transposed, right):
            context.transposed = transposed
            return left @ right

        @staticmethod
        def backward(context, d):
            return None, None, context.transposed @ d

    def both(matrix):
        tensor = lambda m: torch.sparse_csr_tensor(
            torch.from_numpy(m.indptr.astype(np.int32)), torch.from_numpy(m.indices.astype(np.int32)),
            torch.from_numpy(m.data.astype(np.float32)), m.shape,
        )
        return tensor(matrix.tocsr()), tensor(matrix.T.tocsr())

    sparse, dense = features
    if dense is None:
        offsets, columns, values, width = sparse
        whole = sp.csr_matrix((values, columns, offsets), shape=(len(offsets) - 1, width))
    else:
        width = dense.shape[1]

    def ready(nodes, first, arcs, weights):
        units, shown = np.unique(nodes, return_inverse=True)
        n, contexts = len(nodes), len(first)
        inputs = torch.from_numpy(dense[units]) if dense is not None else both(whole[units])
        from_units = both(sp.csr_matrix((weights, (arcs[0], shown[arcs[1]])), shape=(n, len(units))))
        from_rows = both(sp.csr_matrix((weights, (arcs[0], arcs[1])), shape=(n, n)))
        # Centres, then means, in one product.
        counts = np.diff(first, append=n)
        owner = np.repeat(np.arange(contexts), counts)
        places = (np.concatenate([np.arange(contexts), contexts + owner]), np.concatenate([first, np.arange(n)]))
        shares = np.concatenate([np.ones(contexts), 1 / counts[owner]])
        readout = both(sp.csr_matrix((shares, places), shape=(2 * contexts, n)))

        def run(layers):
            rows, mixing = None, from_units
            for weight, bias, slope in layers:
                if rows is not None:
                    y, mixing = rows @ weight, from_rows
                else:
                    y = Product.apply(*inputs, weight) if isinstance(inputs, tuple) else inputs @ weight
                rows = torch.nn.functional.prelu(Product.apply(*mixing, y) + bias, slope)
            return Product.apply(*readout, rows).split(contexts)

        return run

    return width, [ready(*batch) for batch in batches]


def margin(h, s):
    """Of centres and summaries, each against the next one's, in both directions."""
    import torch

    h2, s2 = h.roll(1, 0), s.roll(1, 0)
    positive = torch.sigmoid((h * s).sum(1))
    loss = torch.relu(torch.sigmoid((h * s2).sum(1)) - positive + MARGIN).mean()
    return loss + torch.relu(torch.sigmoid((h2 * s).sum(1)) - positive + MARGIN).mean()


def peer(way, store, path, layers, steps):
    """One way in this process: times of the steps, the first losses, memory before the first step."""
    import numpy as np
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    stored = np.load(path)
    batches = []
    while f"nodes{len(batches)}" in stored:
        batches.append([stored[f"{part}{len(batches)}"] for part in ("nodes", "first", "arcs", "weights")])
    width, ready = {"ordinary": ordinary, "prebuilt": prebuilt}[way](features_of(store), batches)
    sizes = {"rows": len(batches[0][0]), "arcs": len(batches[0][3]), "nodes": len(np.unique(batches[0][0]))}
    parameters = []
    for layer in range(layers):
        weight = torch.nn.init.xavier_uniform_(torch.empty(WIDTH if layer else width, WIDTH))
        parameters.append([weight, torch.zeros(WIDTH), torch.full((WIDTH,), 0.25)])
        for parameter in parameters[-1]:
            parameter.requires_grad_()
    every = [parameter for layer in parameters for parameter in layer]
    adam = torch.optim.Adam(every, lr=1e-3, fused=way == "prebuilt")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    times, busy, losses = [], [], []
    for step in range(steps + 1):
        run = ready[step % len(ready)]
        start, started = time.perf_counter(), time.process_time()
        adam.zero_grad()
        h, s = run(parameters)
        loss = margin(h, s)
        loss.backward()
        adam.step()
        losses.append(loss.item())
        times.append(1e3 * (time.perf_counter() - start))
        busy.append(1e3 * (time.process_time() - started))
    # The first step allocates.
    told = {"ms_min": min(times[1:]), "ms_median": float(np.median(times[1:])), "losses": losses[:3]}
    told |= {"ms_processor": float(np.median(busy[1:]))}
    print(json.dumps(told | {"before": before, "sizes": sizes}))


# ---------------------------------------------------------------- subgcon

def ours(example, store, layers, threads, steps, **more):
    """What the example tells in its last line, {"ms_min", "ms_median", "sections": {name: ms}, ...}, and the
    peak memory of its process."""
    words = {"store": store, "layers": layers, "width": WIDTH, "threads": threads, "steps": steps}
    words |= {"contexts": CONTEXTS, "size": SIZE} | more
    told, _, memory = measured([example, *(f"{name}={value}" for name, value in words.items())])
    return json.loads(told.splitlines()[-1]), memory


# ---------------------------------------------------------------- the table

def make_store(subgcon, name, work, data):
    store = work / f"{name}.graph"
    if not store.exists():
        if name == "cora" and (data / "ind.cora.graph").exists():
            words = ["import", "planetoid", "--dir", data, "--name", "cora"]
        else:
            words = ["generate", "communities", "--splits", "0", *STORES[name].split()]
        subprocess.run([subgcon, *words, "-o", store], check=True, stdout=subprocess.DEVNULL)
    return store


def better(old, told, memory):
    """The best time and the largest memory of two rounds."""
    told["memory"] = memory
    if old is None:
        return told
    best = min(old, told, key=lambda one: one["ms_min"])
    return best | {"memory": max(old["memory"], memory)}


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subgcon", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, default=root.parent / "shared" / "data" / "planetoid")
    parser.add_argument("--steps", type=int, default=10, help="timed steps of PyTorch; subgcon takes ten times more")
    parser.add_argument("--batches", type=int, default=4, help="different batches, taken in turn")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--tasks", nargs="*", default=[f"{graph}:{layers}" for graph, layers in TASKS])
    parser.add_argument("--prepare", nargs=3, metavar=("STORE", "FILE", "BATCHES"))
    parser.add_argument("--peer", nargs=5, metavar=("WAY", "STORE", "FILE", "LAYERS", "STEPS"))
    options = parser.parse_args()
    if options.prepare:
        store, path, count = options.prepare
        return prepare(pathlib.Path(store), path, int(count))
    if options.peer:
        way, store, path, layers, steps = options.peer
        return peer(way, pathlib.Path(store), path, int(layers), int(steps))
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    options.work.mkdir(parents=True, exist_ok=True)
    example = options.subgcon.resolve().parent / "examples" / "step_speed"
    if not example.exists():
        print(f"{example.name} is not built: PyTorch alone\n")
    print(f"{CONTEXTS} contexts of up to {SIZE} nodes, width {WIDTH}; best of {options.rounds} rounds\n")
    print("| graph | layers | program | threads | ms, min | median | subgcon faster | peak memory | before | less |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for task in options.tasks:
        graph, layers = task.split(":")
        store = make_store(options.subgcon, graph, options.work, options.data)
        path = options.work / f"{graph}-{options.batches}.npz"
        if not path.exists():
            words = ["--prepare", store, path, str(options.batches)]
            subprocess.run([sys.executable, __file__, *words], check=True)
        best = {}
        for _ in range(options.rounds):
            for way in WAYS:
                words = ["--peer", way, store, path, layers, str(options.steps)]
                told, _, memory = measured([sys.executable, __file__, *words])
                best[way] = better(best.get(way), json.loads(told.splitlines()[-1]), memory)
            for threads in (1, 2) if example.exists() else ():
                told, memory = ours(example, store, layers, threads, 10 * options.steps)
                best[threads] = better(best.get(threads), told, memory)
        for mine, theirs in zip(*(best[way]["losses"] for way in WAYS)):
            if abs(mine - theirs) > 1e-4 * abs(theirs):
                sys.exit(f"{task}: PyTorch's two ways differ: {[best[way]['losses'] for way in WAYS]}")
        one = best.get(1)
        for name, found in best.items():
            own = name not in WAYS
            faster = less = ""
            if one and not own:
                faster = f"{found['ms_min'] / one['ms_min']:.1f} × ({found['ms_median'] / one['ms_median']:.1f})"
                less = f"{found['memory'] / one['memory']:.1f} ×"
            elif name == 2:
                faster = f"({one['ms_min'] / found['ms_min']:.2f} × one thread)"
            before = "" if own else f"{found['before'] / 1e6:,.0f} MB"
            print(
                f"| {graph} | {layers} | {'subgcon' if own else f'PyTorch, {name}'} | {name if own else 1} |"
                f" {found['ms_min']:.1f} | {found['ms_median']:.1f} | {faster} | {found['memory'] / 1e6:,.0f} MB |"
                f" {before} | {less} |",
                flush=True,
            )
        if one and "sections" in one:
            print(f"{task}, subgcon, one thread: {json.dumps(one['sections'])}", file=sys.stderr)
        if one and int(layers) > 1:
            # Apart from the others: it keeps matrices of its own.
            told, _ = ours(example, store, layers, 1, 3 * options.steps, gemm="yes")
            share = told["sections"]["gemm"] / told["ms_median"]
            print(f"{task}: dense products alone {told['sections']['gemm']:.0f} of {told['ms_median']:.0f} ms,"
                  f" {100 * share:.1f} % (medians of steps and products in turn)", file=sys.stderr)
        for way in WAYS:
            if best[way]["ms_median"] > 1.1 * best[way]["ms_processor"]:
                spent = f"{best[way]['ms_processor']:.0f} of {best[way]['ms_median']:.0f} ms"
                print(f"{task}, {way}: the machine was busy, {spent} were spent on the step", file=sys.stderr)
        sizes = best[WAYS[0]]["sizes"]
        shape = f"{sizes['rows']:,} rows of {sizes['nodes']:,} nodes, {sizes['arcs']:,} arcs"
        print(f"{graph}: a batch has {shape} (to oneself included)", file=sys.stderr)
    return None


if __name__ == "__main__":
    main()
