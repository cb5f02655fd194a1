"""One method on one store with one seed, as a process of its own; prints a line of JSON.

    python one.py STORE METHOD SEED OUTPUT.npy

Without labels: embeddings go to OUTPUT.npy. With labels: figures on the test nodes of every split.
"""

import json
import pathlib
import resource
import sys
import time

import numpy as np
import torch

import graph as stores
import labelled
import unlabelled

store, method, seed, output = sys.argv[1], sys.argv[2], int(sys.argv[3]), pathlib.Path(sys.argv[4])
graph = stores.load(store)
torch.manual_seed(seed)
np.random.seed(seed)
result = {}
started, cpu = time.perf_counter(), time.process_time()
if method in unlabelled.METHODS:
    rows = unlabelled.METHODS[method](graph).numpy()
    result |= {"seconds": time.perf_counter() - started, "cpu": time.process_time() - cpu, "width": rows.shape[1]}
    stores.save(graph, rows, output)
else:
    tests, validations = [], []
    for _, roles in graph.splits:
        scores = labelled.METHODS[method](graph, roles)
        for role, figures in ((2, validations), (3, tests)):
            figures.append(labelled.share_right(graph, scores, torch.from_numpy(np.flatnonzero(roles == role))))
    result |= {"seconds": (time.perf_counter() - started) / len(tests), "cpu": (time.process_time() - cpu) / len(tests)}
    result |= {"test": float(np.mean(tests)), "validation": float(np.mean(validations))}
result["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps(result))
