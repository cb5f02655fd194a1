"""Quickstart: embeddings without labels, and a classifier on top of them with few.

    python examples/quickstart.py                 # a graph that is made up
    python examples/quickstart.py FOLDER cora     # Cora, from the folder with ind.cora.*; or citeseer, pubmed
"""

import sys
import time

from sklearn.linear_model import LogisticRegression

from subgcon import SubgCon, datasets, evaluate

if len(sys.argv) > 1:
    graph = datasets.load_planetoid(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "cora")
else:
    # Planted classes; neither features nor edges alone tell them all.
    graph = datasets.communities(nodes=3000, edges=12_000, classes=6)
X, A, y = graph.features, graph.adjacency, graph.labels

started = time.perf_counter()
embedding = SubgCon(n_components=128, random_state=0).fit_transform(X, A)
print(f"embedded {embedding.shape[0]} nodes in {time.perf_counter() - started:.1f} s, without a label")

# Twenty labelled nodes of each class; the others are for the test.
roles = graph.splits["0"] if "0" in graph.splits else next(iter(graph.splits.values()))
train, test = roles == 1, roles == 3
for name, rows in (("features alone", X), ("embeddings", embedding)):
    probe = LogisticRegression(C=10, max_iter=2000).fit(rows[train], y[train])
    print(f"{name}: {probe.score(rows[test], y[test]):.3f} of the test nodes right")

report = evaluate(embedding, graph)
print(f"by subgcon's own probe, C chosen on validation nodes: {report['test_mean']:.3f}")
