"""New nodes after training: the encoder is frozen, nothing is learnt again.

    python examples/new_nodes.py
"""

import numpy as np
from sklearn.linear_model import LogisticRegression

from subgcon import SubgCon, datasets

graph = datasets.communities(nodes=3000, edges=15_000, classes=4, seed=1)
X, A, y = graph.features, graph.adjacency, graph.labels

# The first 2,500 nodes are there today; 500 come tomorrow.
today = np.arange(2500)
model = SubgCon(n_components=64, random_state=0).fit(X[today], A[today][:, today])
classify = LogisticRegression(max_iter=2000).fit(model.embedding_[::20], y[today][::20])
print(f"trained on {len(today)} nodes, a classifier on {len(today[::20])} labels")

# Tomorrow: the whole graph, the same encoder, the same classifier.
embedding = model.transform(X, A)
new = np.arange(2500, 3000)
right = classify.score(embedding[new], y[new])
print(f"{right:.3f} of the {len(new)} nodes that were never seen are classified rightly")
assert right > 0.5

# The model alone, without the graph, for another day and another program.
model.save("today.model", overwrite=True)
again = SubgCon.load("today.model").transform(X, A)
print("the same from disk:", np.array_equal(again, embedding))
