"""Contexts beside other programs: nodes a second, memory, agreement with the exact ranking.

Run by `cargo xtask bench contexts`, which prepares the environment. Every program gets the same power-law
graph (1 M nodes, about 18 M arcs), one core, and the same task: the 20 nodes with the largest PageRank over
degree, restart 0.15, seen from random nodes that have a neighbour. subgcon samples every node of the graph
and writes its table; the others are timed on as many seeds as fit the time (PyG after a warm-up that compiles
it). Agreement is the mean share of the exact top 20 (power iteration to 1e-9, by SciPy) that a program finds,
over those of the 48 seeds with an exact ranking that it was given.
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time

import numpy as np

RESTART, SIZE = 0.15, 20

# A small process: a child begins with the peak memory of its parent.
STARTER = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:])
_, status, usage = os.wait4(process.pid, 0)
print(usage.ru_maxrss * 1024, status, file=sys.stderr)
"""


def load(store):
    import scipy.sparse as sp

    offsets = np.load(store / "offsets.npy").astype(np.int64)
    neighbours = np.load(store / "neighbours.npy").astype(np.int32)
    n = len(offsets) - 1
    return sp.csr_matrix((np.ones(len(neighbours)), neighbours, offsets), shape=(n, n))


def seeds_of(store, count, first=48):
    """Random nodes that have a neighbour; the first ones are those with an exact ranking."""
    degree = np.diff(np.load(store / "offsets.npy", mmap_mode="r"))
    connected = np.flatnonzero(degree > 0)
    chosen = np.random.default_rng(1).choice(connected, first, replace=False)
    others = np.random.default_rng(2).choice(connected, max(count, first), replace=False)
    return np.concatenate([chosen, np.setdiff1d(others, chosen)])[:count]


def top(nodes, mass, degree, seed):
    """The context by the definition: the seed, then PageRank over degree, then the smaller number."""
    score = mass / degree[nodes]
    order = np.lexsort((nodes, -score))
    best = nodes[order][: SIZE + 1]
    best = best[best != seed][: SIZE - 1]
    return [int(seed), *map(int, best)]


def exact(store, seeds):
    """Power iteration on blocks of seeds until what is left is below 1e-9."""
    import scipy.sparse as sp

    adjacency = load(store)
    n, degree = adjacency.shape[0], np.diff(adjacency.indptr)
    transition = (adjacency @ sp.diags(1.0 / np.maximum(degree, 1))).tocsr()
    found = {}
    for start in range(0, len(seeds), 16):
        block = seeds[start : start + 16]
        x = np.zeros((n, len(block)))
        x[block, np.arange(len(block))] = 1
        total = RESTART * x
        for step in range(1, 128):
            x = (1 - RESTART) * (transition @ x)
            total += RESTART * x
        for column, seed in enumerate(block):
            mass = total[:, column]
            best = np.argpartition(-(mass / np.maximum(degree, 1)), 200)[:200]
            best = best[mass[best] > 0]
            found[int(seed)] = top(best, mass[best], degree, seed)
    return found


def by_pyg(store, seeds, epsilon):
    import torch
    from torch_geometric.utils import get_ppr

    torch.set_num_threads(1)
    adjacency = load(store).tocoo()
    degree = np.bincount(adjacency.row, minlength=adjacency.shape[0])
    edges = torch.tensor(np.stack([adjacency.row, adjacency.col]).astype(np.int64))
    run = lambda chosen: get_ppr(
        edges, alpha=RESTART, eps=epsilon, target=torch.tensor(chosen), num_nodes=adjacency.shape[0]
    )
    run(seeds[:1])
    start = time.perf_counter()
    run(seeds[:1])
    fixed = time.perf_counter() - start
    start = time.perf_counter()
    pairs, mass = run(seeds)
    # What does not depend on the number of seeds (turning the edges into rows) is not counted.
    seconds = time.perf_counter() - start - fixed
    source, target, mass = pairs[0].numpy(), pairs[1].numpy(), mass.numpy()
    order = np.argsort(source, kind="stable")
    source, target, mass = source[order], target[order], mass[order]
    begin = time.perf_counter()
    found = {}
    for seed in seeds:
        rows = slice(*np.searchsorted(source, [seed, seed + 1]))
        found[int(seed)] = top(target[rows], mass[rows], degree, seed)
    return found, seconds + time.perf_counter() - begin


def by_networkit(store, seeds, epsilon):
    import networkit as nk

    nk.setNumberOfThreads(1)
    adjacency = load(store)
    degree = np.diff(adjacency.indptr)
    coo = adjacency.tocoo()
    keep = coo.row < coo.col
    graph = nk.graph.GraphFromCoo(
        (np.ones(keep.sum()), (coo.row[keep].astype(np.uint64), coo.col[keep].astype(np.uint64))),
        n=adjacency.shape[0], weighted=False, directed=False,
    )
    start = time.perf_counter()
    found = {}
    for seed in seeds:
        # A new one for each seed: what it has pushed stays in it.
        pairs = nk.scd.ApproximatePageRank(graph, RESTART, epsilon).run(int(seed))
        nodes = np.array([pair[0] for pair in pairs])
        mass = np.array([pair[1] for pair in pairs])
        found[int(seed)] = top(nodes, mass, degree, seed)
    return found, time.perf_counter() - start


def by_sknetwork(store, seeds, _):
    from sknetwork.ranking import PageRank

    adjacency = load(store)
    degree = np.diff(adjacency.indptr)
    start = time.perf_counter()
    found = {}
    for seed in seeds:
        mass = PageRank(damping_factor=1 - RESTART, solver="piteration", n_iter=10).fit_predict(
            adjacency, {int(seed): 1}
        )
        best = np.flatnonzero(mass > 0)
        found[int(seed)] = top(best, mass[best], degree, seed)
    return found, time.perf_counter() - start


def by_scipy(store, seeds, _):
    """Ten sparse power steps, the released program's way."""
    import scipy.sparse as sp

    adjacency = load(store)
    n, degree = adjacency.shape[0], np.diff(adjacency.indptr)
    transition = (adjacency @ sp.diags(1.0 / np.maximum(degree, 1))).tocsr()
    start = time.perf_counter()
    found = {}
    for seed in seeds:
        unit = sp.csc_matrix((np.ones(1), ([seed], [0])), shape=(n, 1))
        x = unit
        for _ in range(10):
            x = RESTART * unit + (1 - RESTART) * (transition @ x)
        x = sp.csc_matrix(x)
        found[int(seed)] = top(x.indices, x.data, degree, seed)
    return found, time.perf_counter() - start


PEERS = {"pyg": by_pyg, "networkit": by_networkit, "scikit-network": by_sknetwork, "scipy": by_scipy}


def peer(name, store, count, epsilon):
    """One peer in this process: what it found for the seeds, nodes a second, peak memory."""
    seeds = seeds_of(store, count)
    found, seconds = PEERS[name](store, seeds, epsilon)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"rate": len(seeds) / seconds, "memory": memory, "found": found}))


def agreement(found, truth):
    """Mean share of the exact contexts that was found, the centres aside."""
    shares = []
    for seed, members in truth.items():
        if seed in found and len(members) > 1:
            shares.append(len(set(found[seed][1:]) & set(members[1:])) / (len(members) - 1))
    return float(np.mean(shares)), len(shares)


def ours(subgcon, store, epsilon, threads, seeds):
    shutil.rmtree(f"{store}.contexts", ignore_errors=True)
    words = [subgcon, "contexts", store, "--json", "--epsilon", str(epsilon), "--threads", str(threads)]
    done = subprocess.run([sys.executable, "-c", STARTER, *words], capture_output=True, text=True)
    memory, status = done.stderr.splitlines()[-1].split()
    assert status == "0", done.stderr
    summary = json.loads(done.stdout)
    nodes = np.load(pathlib.Path(summary["table"]) / "nodes.npy", mmap_mode="r")
    found = {int(s): [int(m) for m in nodes[s] if m != 2**32 - 1] for s in seeds}
    shutil.rmtree(f"{store}.contexts", ignore_errors=True)
    return summary, found, int(memory)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subgcon", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--peer", nargs=4, metavar=("NAME", "STORE", "SEEDS", "EPSILON"))
    parser.add_argument("--truth", type=int, default=48, help="seeds with an exact ranking, at most 48")
    parser.add_argument("--skip-peers", action="store_true")
    parser.add_argument("--only", nargs="*", help="these peers")
    options = parser.parse_args()
    if options.peer:
        name, store, seeds, epsilon = options.peer
        return peer(name, pathlib.Path(store), int(seeds), float(epsilon))
    options.work.mkdir(parents=True, exist_ok=True)
    store = options.work / "powerlaw.graph"
    if not store.exists():
        # Skewed degrees and no isolated half, unlike R-MAT of this density.
        words = "generate communities --nodes 1000000 --edges 9100000 --classes 1 --mixing 0 --feature-width 0 --splits 0"
        subprocess.run([options.subgcon, *words.split(), "-o", store], check=True)
    truth_file = options.work / f"truth-{options.truth}.json"
    seeds = seeds_of(store, options.truth)
    if not truth_file.exists():
        truth_file.write_text(json.dumps(exact(store, seeds)))
    truth = {int(seed): members for seed, members in json.loads(truth_file.read_text()).items()}
    arcs = len(np.load(store / "neighbours.npy", mmap_mode="r"))
    print(f"1,000,000 nodes, {arcs:,} arcs; size {SIZE}; agreement over {options.truth} seeds\n")
    print("| program | epsilon | cores | nodes/s | times | memory | agreement |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")

    def row(name, epsilon, cores, rate, times, memory, share):
        shown = f"{rate:,.0f}" if rate >= 10 else f"{rate:.2f}"
        share = "" if share is None else f"{share[0]:.3f}"
        print(f"| {name} | {epsilon} | {cores} | {shown} | {times} | {memory / 1e6:,.0f} MB | {share} |", flush=True)

    rates = {}
    for epsilon in ("1e-3", "1e-4"):
        for cores in (1, 2):
            summary, found, memory = ours(options.subgcon, store, epsilon, cores, seeds)
            rates[epsilon, cores] = rate = summary["nodes_per_second"]
            times = "" if cores == 1 else f"{rate / rates[epsilon, 1]:.2f} × one core"
            row("subgcon", epsilon, cores, rate, times, memory, agreement(found, truth))
    # The others return lists; ours above also finds the arcs inside each context and writes a table.
    example = options.subgcon.parent / "examples" / "contexts_speed"
    words = "threads=0 lookahead=0 rounds=3 seeds=100000 references=1".split()
    told = subprocess.run([example, f"store={store}", *words], check=True, capture_output=True, text=True).stdout
    for line in told.splitlines():
        parts = line.split()
        if len(parts) == 5 and parts[1:3] == ["false", "0"]:
            lists = float(parts[3])
            rates[parts[0], "lists"] = lists
            print(f"| subgcon, lists only, no second look | {parts[0]} | 1 | {lists:,.0f} | | | |", flush=True)
    if options.skip_peers:
        return None
    environment = os.environ | {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for name, epsilon, count in (
        ("pyg", "1e-3", 20000), ("pyg", "1e-4", 2000), ("networkit", "1e-3", 5000), ("networkit", "1e-4", 1000),
        ("scikit-network", "1e-4", 3), ("scipy", "1e-4", 3),
    ):
        if options.only and name not in options.only:
            continue
        words = [sys.executable, __file__, "--peer", name, store, str(count), epsilon]
        try:
            done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=300)
        except subprocess.TimeoutExpired:
            print(f"| {name} | {epsilon} | 1 | not done with {count} nodes in 300 s | | | |", flush=True)
            continue
        if done.returncode:
            print(f"| {name} | {epsilon} | 1 | failed: {done.stderr.strip().splitlines()[-1][:80]} | | | |")
            continue
        told = json.loads(done.stdout.splitlines()[-1])
        found = {int(seed): members for seed, members in told["found"].items()}
        push = name in ("pyg", "networkit")
        factor, lists = (rates[epsilon, way] / told["rate"] for way in (1, "lists"))
        times = f"1/{factor:,.1f} of the table, 1/{lists:,.1f} of the lists"
        row(name, epsilon if push else "10 steps", 1, told["rate"], times, told["memory"], agreement(found, truth))
    return None


if __name__ == "__main__":
    main()
