"""Long work lets Python live: other threads, Ctrl-C, progress, checkpoints."""

import os
import pathlib
import pickle
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from subgcon import Contexts, SubgCon, datasets
from subgcon._progress import Bar

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def ctrl_c_is_heard():
    """A shell starts what runs in its background with Ctrl-C ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def large():
    """Learning from it takes long enough to be watched."""
    return datasets.communities(nodes=30_000, edges=180_000, feature_width=200, seed=1)


def test_another_thread_runs_while_training(large):
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    other = threading.Thread(target=count)
    other.start()
    try:
        started = time.monotonic()
        SubgCon(n_components=64, max_iter=2000, random_state=0, n_jobs=1).fit(large)
        took = time.monotonic() - started
    finally:
        stop.set()
        other.join()
    assert took > 0.3
    assert counted[0] > 10 * took, "a thread that held the interpreter would have let it run about never"


PHASES = ["sampling contexts", "projecting features", "training", "encoding nodes", "smoothing columns"]


def seconds_to_stop(phase, graph, columns=128, **settings):
    """How long learning goes on after Ctrl-C in this phase; None where it was over before it was seen."""
    pressed = []

    def watch(what, done, total, unit, note):
        if what == phase and done < total and not pressed:
            pressed.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    learner = SubgCon(columns, random_state=0, verbose=watch, **settings)
    try:
        learner.fit(graph)
    except KeyboardInterrupt:
        assert not hasattr(learner, "embedding_")
        return time.monotonic() - pressed[0]
    assert not pressed, "it was not stopped"
    return None


@pytest.mark.parametrize("phase", PHASES)
def test_ctrl_c_stops_every_phase_within_a_second(large, phase):
    settings = {"max_iter": 100_000 if phase == "training" else 3, "n_jobs": 1}
    if phase == "encoding nodes":
        settings["encoder"] = "gat"
    if phase in ("encoding nodes", "smoothing columns"):
        settings["columns"] = 1024
    tries = [seconds_to_stop(phase, large, **settings)]
    if tries[0] is None:
        # A phase is seen if it takes longer than it takes to look: a fast machine gets a larger graph.
        large = datasets.communities(nodes=240_000, edges=1_440_000, feature_width=200, seed=1)
        tries = [seconds_to_stop(phase, large, **settings)]
    assert tries[0] is not None, f"{phase} passed unseen"
    if tries[0] >= 1.0:
        # A busy machine may have been elsewhere for half a second, but not twice.
        tries.append(seconds_to_stop(phase, large, **settings))
    assert min(tries) < 1.0


def test_ctrl_c_stops_all_threads(large):
    assert seconds_to_stop("training", large, max_iter=100_000) < 5.0


def test_ctrl_c_does_not_wait_for_work_that_tells_nothing():
    """Smoothing columns of a large graph takes long between two signs of life."""
    graph = datasets.communities(nodes=200_000, edges=2_000_000, feature_width=200, classes=4, dense=True)
    settings = {"context_size": 2, "n_jobs": 1, "settings": {"contexts": {"method": {"power": {"steps": 1}}}}}
    tries = [seconds_to_stop("projecting features", graph, **settings)]
    if tries[0] >= 1.0:
        tries.append(seconds_to_stop("projecting features", graph, **settings))
    assert min(tries) < 1.0


def test_an_interrupted_training_goes_on_to_the_same_bytes(toy, tmp_path):
    model = tmp_path / "mine.model"

    def interrupted(steps):
        """The learner, and the step at which it was seen; None if it was over before it was stopped."""
        pressed = []

        def watch(what, done, total, unit, note):
            if what == "training" and 0 < done < total and not pressed:
                pressed.append(done)
                os.kill(os.getpid(), signal.SIGINT)

        learner = SubgCon(n_components=8, max_iter=steps, random_state=0, checkpoint=model, verbose=watch)
        try:
            learner.fit(toy.X, toy.A)
        except KeyboardInterrupt:
            return learner, pressed[0]
        shutil.rmtree(model)
        return None

    steps = 8000
    stopped = interrupted(steps)
    if stopped is None:
        steps = 80_000
        stopped = interrupted(steps)
    assert stopped, "training passed unseen"
    learner, pressed = stopped
    wanted = SubgCon(n_components=8, max_iter=steps, random_state=0).fit(toy.X, toy.A)
    assert (tmp_path / "mine.model.training" / "checkpoint.safetensors").exists()
    assert not model.exists()
    other = SubgCon(n_components=8, max_iter=steps - 1, random_state=0, checkpoint=model)
    with pytest.raises(Exception, match="began with another training.steps .* fit with the settings"):
        other.fit(toy.X, toy.A)
    seen = []
    learner.verbose = lambda what, done, *rest: seen.append(done) if what == "training" else None
    learner.fit(toy.X, toy.A)
    assert learner.embedding_.tobytes() == wanted.embedding_.tobytes()
    assert np.array_equal(learner.loss_curve_, wanted.loss_curve_) and len(learner.loss_curve_) == steps
    assert seen[0] >= pressed, "it began anew"
    assert not (tmp_path / "mine.model.training").exists()
    assert SubgCon.load(model).transform(toy.X, toy.A).tobytes() == wanted.embedding_.tobytes()


def test_a_killed_process_goes_on(toy, tmp_path):
    program = f"""
import numpy as np, scipy.sparse as sp, sys
from subgcon import SubgCon
data = np.load({str(tmp_path / "toy.npz")!r})
A = sp.csr_array((data["data"], data["indices"], data["indptr"]), shape=(150, 150))
learner = SubgCon(n_components=8, max_iter=int(sys.argv[1]), random_state=0, checkpoint={str(tmp_path / "m")!r}, checkpoint_every=10)
learner.fit(data["X"], A)
np.save({str(tmp_path / "e.npy")!r}, learner.embedding_)
"""
    np.savez(tmp_path / "toy.npz", X=toy.X, data=toy.A.data, indices=toy.A.indices, indptr=toy.A.indptr)
    checkpoint = tmp_path / "m.training" / "checkpoint.safetensors"
    for steps in (1500, 30_000):
        words = [sys.executable, "-c", program, str(steps)]
        running = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not checkpoint.exists() and time.monotonic() < deadline:
            time.sleep(0.002)
        running.kill()
        running.wait()
        if checkpoint.exists():
            break
        # It was over before it was killed.
        shutil.rmtree(tmp_path / "m", ignore_errors=True)
        (tmp_path / "e.npy").unlink(missing_ok=True)
    assert checkpoint.exists() and not (tmp_path / "e.npy").exists()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    wanted = SubgCon(n_components=8, max_iter=steps, random_state=0).fit_transform(toy.X, toy.A)
    assert np.load(tmp_path / "e.npy").tobytes() == wanted.tobytes()


def test_two_estimators_at_once(toy, weighted):
    wanted = [SubgCon(n_components=8, max_iter=300, random_state=0).fit_transform(g.X, g.A) for g in (toy, weighted)]
    found = [None, None]

    def fit(place, graph):
        found[place] = SubgCon(n_components=8, max_iter=300, random_state=0).fit_transform(graph.X, graph.A)

    running = [threading.Thread(target=fit, args=item) for item in enumerate((toy, weighted))]
    [thread.start() for thread in running]
    [thread.join() for thread in running]
    assert all(a.tobytes() == b.tobytes() for a, b in zip(found, wanted))


def test_a_forked_process_can_learn(toy):
    # Hashing uses all cores too: a pickle and a fingerprint before the fork must not leave threads that the child waits for.
    learnt = SubgCon(n_components=96, max_iter=2, random_state=0, settings={"output": [{"source": "encoder"}]}).fit(toy.X, toy.A)
    pickle.dumps(learnt), learnt.graph_.fingerprint
    wanted = SubgCon(n_components=4, max_iter=5, random_state=0).fit_transform(toy.X, toy.A)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        pickle.dumps(learnt)
        found = SubgCon(n_components=4, max_iter=5, random_state=0).fit_transform(toy.X, toy.A)
        os.write(writer, b"y" if found.tobytes() == wanted.tobytes() else b"n")
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        assert answer.read() == b"y"
    os.waitpid(child, 0)


def test_progress_is_told_and_an_error_in_it_stops_the_work(large):
    told = {}

    def watch(what, done, total, unit, note):
        told.setdefault(what, []).append((done, total, unit, note))

    SubgCon(128, max_iter=200, random_state=0, verbose=watch).fit(large)
    # The end of each piece of work is told, however short it was.
    assert told["sampling contexts"][-1][:3] == (30_000, 30_000, "nodes")
    done, total, unit, note = told["training"][-1]
    assert (done, total, unit) == (200, 200, "steps")
    assert re.fullmatch(r"loss \d\.\d{4} retrieval \d\.\d{3}", note)
    assert all(0 <= done <= total for steps in told.values() for done, total, *_ in steps)

    def broken(*_):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        Contexts.of(large, 60, verbose=broken)


@pytest.mark.parametrize("tqdm", [True, False])
def test_bars_are_drawn_and_taken_away(large, capsys, monkeypatch, tqdm):
    if tqdm:
        pytest.importorskip("tqdm")
    else:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setattr("subgcon._progress._PATIENCE", 0.0)
    SubgCon(128, max_iter=150, random_state=0, verbose=1).fit(large)
    seen = capsys.readouterr()
    assert re.search(r"\rtraining: [^\r]*\b150( of |/)150 [^\r]*loss \d", seen.err) and seen.out == ""
    SubgCon(16, max_iter=5, random_state=0).fit(large)
    assert capsys.readouterr().err == ""
    # Work whose length nobody knows.
    with Bar() as bar:
        bar("checking contents", 3, 0, "parts", "")
        bar("checking files", 1, 2, "bytes", "")
    assert re.search(r"\rchecking contents: 3", seen := capsys.readouterr().err) and "checking files" in seen


# What both begin with. Importing is not all: scikit-learn loads more, and starts threads, when it first fits something.
IMPORTS = """
import re, runpy, sys, time
import numpy, scipy.sparse, sklearn.linear_model
from subgcon import Graph, SubgCon, datasets, evaluate

def peak():  # of this program alone: what resource tells is at least what the parent had
    return int(re.search("VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1])

few = numpy.eye(4, dtype="f4")
for rows in (few, scipy.sparse.csr_array(few)):
    sklearn.linear_model.LogisticRegression().fit(rows, [0, 0, 1, 1]).score(rows, [0, 0, 1, 1])
imports, started = peak(), time.process_time()
"""

BY_PATH = IMPORTS + """
SubgCon(random_state=0, n_jobs=1).fit(sys.argv[1])
print(peak() - imports)
"""

FROM_ARRAYS = IMPORTS + """
graph = Graph.open(sys.argv[1])
X, A = graph.features, graph.adjacency
SubgCon(random_state=0, n_jobs=1).fit_transform(X, A)
print(peak() - imports)
"""

# Its own words go to stderr. Seconds are the processor's: those of the clock depend on what else runs.
QUICKSTART = IMPORTS + """
sys.argv, out, sys.stdout = sys.argv[1:], sys.stdout, sys.stderr
runpy.run_path(sys.argv[0], run_name="__main__")
print(peak() - imports, time.process_time() - started, file=out)
"""

# Through a small process: a child's peak is at least what its parent has when it starts.
RUN = """
import resource, subprocess, sys
for words in sys.argv[1:]:
    subprocess.run(words.split("|"), check=True, capture_output=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""

ON_LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peaks are in other units elsewhere")


def told(*words, **environment):
    """The numbers that a program prints."""
    run = [sys.executable, "-c", *map(str, words)]
    done = subprocess.run(run, check=True, capture_output=True, text=True, env={**os.environ, **environment})
    return [float(word) for word in done.stdout.split()]


def peak_of_the_command(store, folder):
    """The larger of those of learning and embedding, contexts not yet sampled."""
    program, model = os.environ["SUBGCON"], folder / "m"
    train = f"{program}|train|{store}|-o|{model}|--threads|1"
    embed = f"{program}|embed|{store}|--model|{model}|-o|{folder / 'e.npy'}|--threads|1"
    return told(RUN, train, embed)[0]


@ON_LINUX
def test_memory_beyond_imports_is_within_a_fifth_of_the_command(command, tmp_path):
    graph = datasets.communities(nodes=20_000, edges=100_000, feature_width=300, seed=1)
    for name in ("ours", "theirs"):
        graph.save(tmp_path / f"{name}.graph")
    arrays, path = (min(told(way, tmp_path / "ours.graph")[0] for _ in range(2)) for way in (FROM_ARRAYS, BY_PATH))
    theirs = peak_of_the_command(tmp_path / "theirs.graph", tmp_path)
    assert 0 < path <= 1.2 * theirs
    assert 0 < arrays <= 1.2 * theirs


@ON_LINUX
@pytest.mark.parametrize("name", ["cora", "pubmed"])
def test_the_quickstart_on_public_graphs_is_quick_and_small(command, shared, tmp_path, name):
    script, folder = ROOT / "examples" / "quickstart.py", shared / "planetoid"
    one = {"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    memory, seconds = told(QUICKSTART, script, folder, name, **one)
    store = tmp_path / "g.graph"
    command("import", "planetoid", "--dir", folder, "--name", name, "-o", store)
    assert 0 < memory <= 1.2 * peak_of_the_command(store, tmp_path)
    if name == "cora":
        assert seconds < 5
