"""Other programs beside subgcon on the same stores, splits and probe: accuracy, seconds and memory in one table.

    cargo xtask bench peers STORE.graph ... [--seeds 3] [--only DGI --only GCN]

Every run is a process of its own, on one thread unless --threads says otherwise. Embeddings are written as .npy and
measured by `subgcon eval`; networks that are trained with labels answer for themselves, on the store's splits only.
Seconds are those of training (and of making embeddings), memory is the largest size of the process. --no-test leaves
the test figures out.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
UNLABELLED = ["DGI", "DeepWalk", "GraphSAGE, unsupervised", "GMI (our rendering)"]
LABELLED = ["GCN", "GAT", "GraphSAGE", "FastGCN (our rendering)"]


def told(command):
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
    threads = {name: str(options.threads) for name in names}
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=os.environ | threads)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def peer(options, store, method, seed):
    work = options.work / store.stem
    work.mkdir(parents=True, exist_ok=True)
    output = work / f"{''.join(c for c in method if c.isalnum())}-{seed}.npy"
    run = told([sys.executable, HERE / "one.py", store, method, seed, output])
    if method in UNLABELLED:
        report = told([options.subgcon, "eval", output, "--graph", store, "--json"])
        run |= {"test": report["test_mean"], "validation": report["validation_mean"]}
    return run


def ours(options, store, preset):
    report = told(
        [options.subgcon, "benchmark", store, "--preset", preset, "--seeds", options.seeds, "--no-baselines", "--json"]
    )
    seconds = report["seconds"]
    return {
        "test": report["accuracy_mean"],
        "spread": report["accuracy_std"] if report["spread_over"] == "runs" else None,
        "validation": report["validation_mean"],
        "seconds": seconds["contexts"] + seconds["train"] + seconds["embed"],
        "peak": report["peak_rss_bytes"],
        "width": report["width"],
    }


parser = argparse.ArgumentParser()
parser.add_argument("stores", nargs="+", type=pathlib.Path)
parser.add_argument("--subgcon", type=pathlib.Path, required=True)
parser.add_argument("--work", type=pathlib.Path, required=True)
parser.add_argument("--seeds", type=int, default=3)
parser.add_argument("--threads", type=int, default=1, help="of every program")
parser.add_argument("--only", action="append", choices=UNLABELLED + LABELLED)
parser.add_argument("--no-test", action="store_true", help="validation figures only")
options = parser.parse_args()

for store in options.stores:
    manifest = json.loads((store / "manifest.json").read_text())
    print(f"\n{store.stem}: {manifest['nodes']:,} nodes, {manifest['edges']:,} edges, {options.seeds} seeds, {options.threads} threads\n")
    print("| | labels | validation % | test % | seconds | peak MB | width |\n| --- | --- | --- | --- | --- | --- | --- |")

    def line(name, labels, figures):
        mean = lambda field: statistics.mean(figure[field] for figure in figures)
        spread = statistics.stdev(f["test"] for f in figures) if len(figures) > 1 else figures[0].get("spread")
        test = f"{100 * mean('test'):.1f}" + (f" ± {100 * spread:.1f}" if spread is not None else "")
        test = "" if options.no_test else test
        print(
            f"| {name} | {labels} | {100 * mean('validation'):.1f} | {test} | {mean('seconds'):.2f} "
            f"| {mean('peak') / 1e6:.0f} | {figures[0].get('width', '')} |",
            flush=True,
        )

    for preset in ("default", "reference"):
        line(f"subgcon, {preset}", "no", [ours(options, store, preset)])
    for method in options.only or UNLABELLED + LABELLED:
        labels = method in LABELLED
        if labels and not manifest["splits"]:
            print(f"| {method} | yes | the store has no split | | | | |")
            continue
        line(method, "yes" if labels else "no", [peer(options, store, method, seed) for seed in range(options.seeds)])
