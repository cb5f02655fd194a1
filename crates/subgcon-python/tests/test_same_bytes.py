"""What the command makes, byte for byte."""

import json

import numpy as np
import pytest

from subgcon import Graph, SubgCon, datasets

STEPS = 15


def embedded(command, tmp_path, store, *options):
    model = tmp_path / "command.model"
    command("train", store, "-o", model, "--force", *options)
    command("embed", store, "--model", model, "-o", tmp_path / "command.npy")
    return model, np.load(tmp_path / "command.npy")


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("preset", ["default", "paper", "reference"])
def test_arrays_in_memory_give_what_a_store_gives(command, tmp_path, dense, preset):
    store = tmp_path / "g.graph"
    options = ["--dense"] if dense else []
    command("generate", "communities", "--nodes", 400, "--edges", 2000, "--classes", 3, "--feature-width", 100, "-o", store, *options)
    model, wanted = embedded(command, tmp_path, store, "--preset", preset, "--steps", STEPS, "--seed", 5)
    stored = Graph.open(store)
    X = stored.features if dense else stored.features.toarray()
    learner = SubgCon(preset=preset, max_iter=STEPS, random_state=5)
    found = learner.fit_transform(np.array(X), stored.adjacency.copy())
    assert found.dtype == np.float32 and found.tobytes() == wanted.tobytes()
    learner.save(tmp_path / "python.model")
    weights = [(folder / "model.safetensors").read_bytes() for folder in (model, tmp_path / "python.model")]
    assert weights[0] == weights[1]
    assert learner.graph_.fingerprint == stored.fingerprint
    assert learner.fit_transform(store).tobytes() == wanted.tobytes(), "mapped from the store"


def test_the_settings_of_an_estimator_make_the_same_model_by_the_command(command, tmp_path):
    graph = datasets.communities(300, 1500, 3, feature_width=30, store=tmp_path / "g.graph")
    learner = SubgCon(n_components=23, max_iter=STEPS, random_state=1, settings={"training": {"averaging": 0.9}})
    found = learner.fit_transform(graph)
    assert found.shape == (300, 23)
    (tmp_path / "mine.toml").write_text(learner.settings_toml())
    _, wanted = embedded(command, tmp_path, tmp_path / "g.graph", "--config", tmp_path / "mine.toml")
    assert found.tobytes() == wanted.tobytes()


def test_models_and_stores_travel_both_ways(command, tmp_path, toy):
    learner = SubgCon(n_components=10, max_iter=STEPS, random_state=2)
    found = learner.fit_transform(toy.X, toy.A)
    learner.graph_.save(tmp_path / "g.graph")
    learner.save(tmp_path / "mine.model")
    command("embed", tmp_path / "g.graph", "--model", tmp_path / "mine.model", "-o", tmp_path / "e.npy")
    assert np.load(tmp_path / "e.npy").tobytes() == found.tobytes()
    command("train", tmp_path / "g.graph", "-o", tmp_path / "other.model", "--steps", STEPS)
    command("embed", tmp_path / "g.graph", "--model", tmp_path / "other.model", "-o", tmp_path / "o.npy")
    loaded = SubgCon.load(tmp_path / "other.model", tmp_path / "g.graph")
    assert loaded.embedding_.tobytes() == np.load(tmp_path / "o.npy").tobytes()
    assert loaded.transform(toy.X, toy.A).tobytes() == loaded.embedding_.tobytes()


@pytest.mark.parametrize("name", ["e.parquet", "e.npy", "e.txt"])
def test_files_of_embeddings_are_the_commands(command, tmp_path, name):
    graph = datasets.communities(200, 900, 2, feature_width=20, store=tmp_path / "g.graph")
    learner = SubgCon(n_components=8, max_iter=STEPS, random_state=0).fit(graph)
    learner.save(tmp_path / "m")
    command("embed", tmp_path / "g.graph", "--model", tmp_path / "m", "-o", tmp_path / name)
    wanted = (tmp_path / name).read_bytes()
    learner.write(tmp_path / name)
    assert (tmp_path / name).read_bytes() == wanted
    with pytest.raises((FileExistsError, OSError, ValueError)):
        learner.write(tmp_path / name, overwrite=False)


def test_evaluate_says_what_the_command_says(command, tmp_path):
    from subgcon import evaluate

    graph = datasets.communities(nodes=600, edges=3000, store=tmp_path / "g.graph")
    learner = SubgCon(n_components=16, max_iter=STEPS, random_state=0).fit(graph)
    learner.write(tmp_path / "e.parquet")
    told = json.loads(command("eval", tmp_path / "e.parquet", "--graph", tmp_path / "g.graph", "--json"))
    mine = evaluate(learner.embedding_, graph)
    for name in ("test_mean", "validation_mean", "sim_at_5", "groups"):
        assert mine[name] == pytest.approx(told[name]) if name != "groups" else mine[name] == told[name]


def test_any_number_of_threads(toy):
    runs = [SubgCon(n_components=9, random_state=3, n_jobs=jobs).fit_transform(toy.X, toy.A) for jobs in (1, 2, 5, None)]
    assert len({run.tobytes() for run in runs}) == 1
