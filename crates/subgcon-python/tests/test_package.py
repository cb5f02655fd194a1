"""The package as a whole: quick to import, typed, documented by what runs."""

import doctest
import importlib
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def test_importing_takes_no_time_and_loads_nothing():
    program = """
import sys, time
started = time.perf_counter()
import subgcon
took = time.perf_counter() - started
assert not {"numpy", "scipy", "sklearn"} & set(sys.modules), "nothing is loaded before it is used"
print(took)
"""
    run = lambda: float(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout)
    assert min(run() for _ in range(3)) < 0.1


@pytest.mark.parametrize("name", ["", "._graph", "._sources", "._contexts", "._estimator", "._evaluate", ".datasets"])
def test_examples_in_the_documentation_hold(name):
    module = importlib.import_module("subgcon" + name)
    found = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted > 0 and found.failed == 0


def test_the_guide_holds():
    found = doctest.testfile(str(ROOT / "docs" / "python.md"), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted > 20 and found.failed == 0


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_scripts_run(path, tmp_path):
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_there_are_three_examples():
    assert len(EXAMPLES) >= 3


def test_the_stub_says_what_is_there():
    pytest.importorskip("mypy")
    environment = {**os.environ, "MYPY_CACHE_DIR": os.devnull}
    command = [sys.executable, "-m", "mypy.stubtest", "subgcon._native"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_is_typed():
    pytest.importorskip("mypy")
    package = pathlib.Path(importlib.import_module("subgcon").__file__).parent
    assert (package / "py.typed").exists()
    command = [sys.executable, "-m", "mypy", "--ignore-missing-imports", "--cache-dir", os.devnull, "-p", "subgcon"]
    environment = dict(os.environ)
    if package.parent.name != "site-packages":
        environment["MYPYPATH"] = str(package.parent)
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
