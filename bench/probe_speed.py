"""Logistic regression beside scikit-learn's lbfgs: seconds a fit, one thread, ratio in one run.

Run by `cargo xtask bench probe`, which prepares the environment. 10,000 rows of 1,024 numbers in 10 classes,
tolerance 1e-4, C = 1 and the grid 10^-3 ... 10^3. Two kinds of rows: `gauss` are noise around centres,
`embedding` are few strong directions through a leaky rectifier, standardised. scikit-learn is given single
precision, which subgcon takes, and double precision, which it computes in by default. Programs take turns,
and the shortest of all rounds counts.
"""

import os

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[threads] = "1"

import argparse
import pathlib
import subprocess
import time
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression

warnings.simplefilter("ignore")
ROWS, WIDTH, CLASSES = 10_000, 1_024, 10
GRID = [1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3]


def rows_of(kind):
    random = np.random.default_rng(0)
    y = random.integers(0, CLASSES, ROWS)
    if kind == "gauss":
        x = 0.1 * random.normal(size=(CLASSES, WIDTH))[y] + random.normal(size=(ROWS, WIDTH))
    else:
        hidden = random.normal(size=(ROWS, 64)) + 0.8 * random.normal(size=(CLASSES, 64))[y]
        directions = random.normal(size=(64, WIDTH)) / np.sqrt(np.arange(1, 65))[:, None]
        x = hidden @ directions + 0.3 * random.normal(size=(ROWS, WIDTH))
        x = np.where(x > 0, x, 0.25 * x)
        x = (x - x.mean(0)) / x.std(0)
    return x.astype(np.float32), y.astype(np.uint32)


def scikit(x, y, grid):
    started = time.perf_counter()
    for c in grid:
        LogisticRegression(C=c, tol=1e-4, max_iter=2000).fit(x, y)
    return time.perf_counter() - started


def subgcon(program, x, y, grid):
    text = subprocess.run([program, x, y, str(WIDTH), *map(str, grid)], check=True, capture_output=True, text=True)
    return float(text.stdout)


parser = argparse.ArgumentParser()
parser.add_argument("--subgcon", type=pathlib.Path, required=True)
parser.add_argument("--work", type=pathlib.Path, required=True)
parser.add_argument("--rounds", type=int, default=5)
options = parser.parse_args()
options.work.mkdir(parents=True, exist_ok=True)
program = options.subgcon.parent / "examples" / "probe_speed"

for kind in ("gauss", "embedding"):
    x, y = rows_of(kind)
    files = options.work / f"{kind}.rows", options.work / f"{kind}.classes"
    x.tofile(files[0])
    y.tofile(files[1])
    double = x.astype(np.float64)
    for name, grid in (("one C", [1.0]), ("grid of 7", GRID)):
        best = [np.inf] * 3
        for _ in range(options.rounds if len(grid) == 1 else max(options.rounds // 2, 1)):
            found = subgcon(program, *files, grid), scikit(x, y, grid), scikit(double, y, grid)
            best = [min(a, b) for a, b in zip(best, found)]
        ours, single, double_time = best
        print(f"{kind:10} {name:10} subgcon {ours:.3f} s   scikit-learn single {single:.3f} s ({single / ours:.1f}x)"
              f"   double {double_time:.3f} s ({double_time / ours:.1f}x)", flush=True)
