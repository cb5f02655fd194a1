"""Import speed and memory beside pyarrow + SciPy, in one run.

Run by `cargo xtask bench import`, which prepares the environment. Makes a
power-law graph, writes its edges in random order as Parquet and as CSV, and
lets each program turn them into a symmetric CSR without repeats or self-loops.
SciPy's result stays in memory; subgcon's is a store on disk, synced. Every run
is a process of its own: wall time and peak resident memory are the process's.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys

PEER = """
import sys
import numpy as np
import scipy.sparse as sp
kind, path, nodes, out = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
if kind == "parquet":
    import pyarrow.parquet as pq
    table = pq.read_table(path, columns=["src", "dst"])
else:
    import pyarrow.csv
    table = pyarrow.csv.read_csv(path)
src, dst = (table[name].to_numpy() for name in ("src", "dst"))
del table
keep = src != dst
if not keep.all():
    src, dst = src[keep], dst[keep]
src, dst = src.astype(np.int32), dst.astype(np.int32)
rows, columns = np.concatenate([src, dst]), np.concatenate([dst, src])
del src, dst
matrix = sp.coo_matrix((np.ones(len(rows), np.int8), (rows, columns)), shape=(nodes, nodes)).tocsr()
matrix.sum_duplicates()
print(matrix.nnz)
if out != "-":
    np.save(out, matrix.indices)
"""


# A process begins with the peak memory of the one that started it, and this one holds large arrays at
# times: a small process in between starts what is measured.
STARTER = """
import os, subprocess, sys, time
start = time.perf_counter()
process = subprocess.Popen(sys.argv[1:])
_, status, usage = os.wait4(process.pid, 0)
print(time.perf_counter() - start, usage.ru_maxrss * 1024, status, file=sys.stderr)
"""


def measured(command):
    """Runs a command; its output, wall seconds and peak resident bytes."""
    done = subprocess.run([sys.executable, "-c", STARTER, *command], capture_output=True, text=True)
    seconds, memory, status = done.stderr.splitlines()[-1].split()
    if status != "0":
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout, float(seconds), int(memory)


def make_inputs(subgcon, work, nodes, edges):
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    parquet, csv = work / "edges.parquet", work / "edges.csv"
    if csv.exists() and parquet.exists():
        return parquet, csv
    store = work / "source.graph"
    shutil.rmtree(store, ignore_errors=True)
    subprocess.run(
        [subgcon, "generate", "powerlaw", "--nodes", str(nodes), "--edges", str(edges), "-o", store],
        check=True,
    )
    offsets = np.load(store / "offsets.npy", mmap_mode="r")
    neighbours = np.load(store / "neighbours.npy", mmap_mode="r")
    src = np.repeat(np.arange(nodes, dtype=np.uint32), np.diff(offsets).astype(np.int64))
    keep = np.flatnonzero(src < neighbours)
    np.random.default_rng(0).shuffle(keep)
    columns = {"src": src[keep].astype(np.int64), "dst": neighbours[keep].astype(np.int64)}
    del src, keep
    table = pa.table(columns)
    pa.parquet.write_table(table, parquet, row_group_size=1 << 20)
    pa.csv.write_csv(table, csv, pa.csv.WriteOptions(quoting_style="none"))
    shutil.rmtree(store)
    return parquet, csv


def check_equal(store, peer_indices):
    import numpy as np

    ours = np.load(store / "neighbours.npy", mmap_mode="r")
    theirs = np.load(peer_indices, mmap_mode="r")
    if len(ours) != len(theirs) or not all(
        (ours[at : at + (1 << 24)] == theirs[at : at + (1 << 24)]).all()
        for at in range(0, len(ours), 1 << 24)
    ):
        sys.exit("the two results differ")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subgcon", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--nodes", type=int, default=10_000_000)
    parser.add_argument("--edges", type=int, default=100_000_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--check", action="store_true", help="compare the results, arc by arc")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    parquet, csv = make_inputs(options.subgcon, options.work, options.nodes, options.edges)
    print(f"{options.nodes:,} nodes, {options.edges:,} edges drawn; best of {options.repeats} runs each\n")
    print("| from | program | seconds | times faster | peak memory | limit |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for kind, path in (("parquet", parquet), ("csv", csv)):
        store = options.work / f"{kind}.graph"
        indices = options.work / "peer.npy"
        ways = {
            "pyarrow + scipy": [sys.executable, "-c", PEER, kind, path, str(options.nodes), "-"],
            "subgcon, ids 0 to n - 1": [
                options.subgcon, "import", "table", "--edges", path, "-o", store,
                "--node-count", str(options.nodes),
            ],
            "subgcon, ids found in the edges": [
                options.subgcon, "import", "table", "--edges", path, "-o", store,
            ],
        }
        if options.check:
            measured([sys.executable, "-c", PEER, kind, path, str(options.nodes), indices])
            shutil.rmtree(store, ignore_errors=True)
            measured(ways["subgcon, ids 0 to n - 1"])
            check_equal(store, indices)
            indices.unlink()
        best = {}
        for _ in range(options.repeats):
            for name, command in ways.items():
                shutil.rmtree(store, ignore_errors=True)
                _, seconds, memory = measured(command)
                old = best.get(name, (float("inf"), 0))
                best[name] = (min(old[0], seconds), max(old[1], memory))
        csr = sum((store / name).stat().st_size for name in ("offsets.npy", "neighbours.npy"))
        limit = 1.5 * csr + 1e9
        peer = best["pyarrow + scipy"][0]
        for name, (seconds, memory) in best.items():
            ours = name.startswith("subgcon")
            print(
                f"| {kind} | {name} | {seconds:.1f} | {peer / seconds:.1f} |"
                f" {memory / 1e9:.2f} GB | {f'{limit / 1e9:.2f} GB' if ours else ''} |",
                flush=True,
            )
    opener = options.subgcon.parent / "examples" / "open_store"
    if opener.exists():
        told, _, _ = measured([opener, options.work / "csv.graph"])
        print(f"\nthe store of all {options.nodes:,} nodes: {told.splitlines()[0]}")


if __name__ == "__main__":
    main()
