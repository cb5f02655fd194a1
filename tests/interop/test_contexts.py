"""Contexts against SciPy: the released program's way, and an exact solve."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg

RESTART = 0.15


def store_of(subgcon, shared, tmp_path, name="cora"):
    path = tmp_path / "g.graph"
    subgcon("import", "planetoid", "--dir", shared / "planetoid", "--name", name, "-o", path)
    return path


def table(subgcon, path, *arguments):
    summary = json.loads(subgcon("contexts", path, "--json", *arguments))
    load = lambda name: np.load(f"{summary['table']}/{name}.npy", mmap_mode="r")
    return summary, load


def released_scores(adjacency, node, steps=10):
    """PageRank from a node by power steps, over degree, as the released program computes it:
    x becomes restart * start + (1 - restart) * P x, beginning with x = start."""
    degree = np.asarray(adjacency.sum(1)).ravel()
    transition = adjacency @ sp.diags(1 / np.maximum(degree, 1))
    start = np.zeros(adjacency.shape[0])
    start[node] = 1
    x = start
    for _ in range(steps):
        x = RESTART * start + (1 - RESTART) * (transition @ x)
    return x / np.maximum(degree, 1e-9), x


def check_top(members, scores, node, size, tolerance, ordered):
    """The members are a best set: none left out is better than one that is in, but for ties."""
    members = members[members != 2**32 - 1]
    reachable = np.flatnonzero(scores > 0)
    assert members[0] == node
    assert len(set(members.tolist())) == len(members) == min(size, len(reachable))
    assert np.isin(members, reachable).all()
    rest = np.setdiff1d(reachable, members)
    if len(members) > 1 and len(rest):
        assert scores[members[1:]].min() >= scores[rest].max() * (1 - tolerance)
    listed = scores[members[1:]]
    assert not ordered or (listed[1:] <= listed[:-1] * (1 + tolerance)).all(), "best first"


def test_power_steps_are_the_released_programs(subgcon, opened, shared, tmp_path):
    path = store_of(subgcon, shared, tmp_path)
    adjacency = opened(path).adjacency.astype("f8")
    _, load = table(subgcon, path, "--method", "power", "--steps", 10)
    nodes, pagerank = load("nodes"), load("pagerank")
    for node in range(adjacency.shape[0]):
        scores, mass = released_scores(adjacency, node)
        check_top(nodes[node], scores, node, 20, 1e-9, ordered=True)
        members = nodes[node][nodes[node] != 2**32 - 1]
        np.testing.assert_allclose(pagerank[node][: len(members)], mass[members], rtol=1e-5)


@pytest.mark.parametrize("name", ["cora", "citeseer"])
def test_certified_contexts_equal_an_exact_solve(subgcon, opened, shared, tmp_path, name):
    path = store_of(subgcon, shared, tmp_path, name)
    adjacency = opened(path).adjacency.astype("f8")
    n = adjacency.shape[0]
    summary, load = table(subgcon, path, "--certify")
    assert summary["certified"] + summary["tied"] == pytest.approx(1)
    degree = np.asarray(adjacency.sum(1)).ravel()
    system = sp.eye(n) - (1 - RESTART) * adjacency @ sp.diags(1 / np.maximum(degree, 1))
    solve = scipy.sparse.linalg.splu(system.tocsc())
    nodes, captured, flags = load("nodes"), load("captured"), load("flags")
    for node in range(n):
        start = np.zeros(n)
        start[node] = RESTART
        mass = np.maximum(solve.solve(start), 0)
        mass[mass < 1e-14] = 0
        if degree[node] == 0:
            assert nodes[node][0] == node and (nodes[node][1:] == 2**32 - 1).all()
            assert captured[node] == 1
            continue
        # What is proven is the set; its order is that of the estimates.
        check_top(nodes[node], mass / np.maximum(degree, 1), node, 20, 1e-9, ordered=False)
        members = nodes[node][nodes[node] != 2**32 - 1]
        assert captured[node] <= mass[members].sum() * (1 + 1e-5)
        rest = np.setdiff1d(np.flatnonzero(mass > 0), members)
        if flags[node] & 1 and len(members) == 20 and len(rest):
            scores = mass / np.maximum(degree, 1)
            assert scores[members[1:]].min() > scores[rest].max(), "certified means no tie"


def test_the_induced_adjacency(subgcon, opened, shared, tmp_path):
    path = store_of(subgcon, shared, tmp_path)
    adjacency = opened(path).adjacency
    for size, word in ((20, "u4"), (40, "u8")):
        _, load = table(subgcon, path, "--size", size)
        nodes, bits = load("nodes"), load("bits")
        assert bits.dtype == word and bits.shape == nodes.shape == (2708, size)
        for node in range(0, 2708, 7):
            members = nodes[node][nodes[node] != 2**32 - 1].astype(int)
            expected = adjacency[members][:, members].toarray() > 0
            rows = bits[node][: len(members)]
            found = (rows[:, None] >> np.arange(len(members), dtype=word)) & 1
            assert (found.astype(bool) == expected).all()
    _, load = table(subgcon, path, "--size", 100)
    assert load("nodes").shape == (2708, 100)
