"""Training by several processes: the same as one process with larger steps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from corpora.errors import UnavailableError
from tests.training.recipes import write_recipe
from tests.training.test_train import all_weights
from training.log import read_log
from training.processes import ALONE, Processes, _others_live, joined
from training.recipe import read_variants
from training.train import train

pytestmark = pytest.mark.torch

VARIANTS = """
[[variants]]
name = "exact"
dropout = 0.0
tasks = [{name = "triplet", type = "triplet", train = "triplets.jsonl", format = "prx"}]

[[variants]]
name = "dropped"
dropout = 0.1

[[variants]]
name = "built-and-kept"
dropout = 0.0
keep_states = "states"
options = {layers = 1}

[[variants.tasks]]
name = "built"
format = "clf"
build = {builder = "labels", papers = ["papers.jsonl"], options = {fewest = 2}}
"""


def close(first, second):
    ours, theirs = all_weights(first), all_weights(second)
    return ours.keys() == theirs.keys() and max(np.abs(ours[name] - theirs[name]).max() for name in ours) < 1e-6


def test_a_process_alone(monkeypatch):
    assert (Processes(), ALONE.first, Processes(1, 2).first) == (Processes(0, 1), True, False)
    assert ALONE.summed([1, 2.5]) == [1, 2.5]
    assert ALONE.in_turn(lambda: 3) == 3
    for size in (None, "1"):
        monkeypatch.delenv("WORLD_SIZE", raising=False)
        if size:
            monkeypatch.setenv("WORLD_SIZE", size)
        with joined() as found:
            assert found is ALONE


def test_processes_in_turn_wait_for_the_first(monkeypatch):
    told = []
    monkeypatch.setattr(Processes, "summed", lambda _, values: told.append(values))
    for rank, wanted in ((0, ["made", [0.0]]), (1, [[0.0], "made"])):
        told.clear()
        assert Processes(rank, 2).in_turn(lambda: told.append("made") or rank) == rank  # noqa: B023 - called at once
        assert told == wanted


def test_the_end_of_another_process_is_told():
    told = r"Another process of this run has ended; .* why \(first line\)"
    with pytest.raises(UnavailableError, match=told), _others_live():
        raise RuntimeError("first line\nsecond line")


def test_two_processes_are_one_with_steps_twice_as_large(tmp_path):
    values = {"batch_size": 5, "learning_rate": 1e-3, "schedule": "constant", "validate_every": 2}
    path = write_recipe(tmp_path, **values)
    path.write_text(path.read_text() + VARIANTS)
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "ses", "train", str(path)]
    done = subprocess.run(
        [sys.executable, *launch, "--output", str(tmp_path / "two"), "--json"],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Only the first process prints, and only it writes.
    told = json.loads(done.stdout)["variants"]
    recipes = read_variants(path)
    for name, recipe in recipes.items():
        twice = train(recipe.model_copy(update={"accumulation": 2}), tmp_path / "alone" / name)
        assert told[name]["steps"] == twice.steps == {"exact": 3, "dropped": 5, "built-and-kept": 3}[name]
        assert close(tmp_path / "two" / name / "model", twice.folder)
        one, two = (read_log(tmp_path / run / name) for run in ("alone", "two"))
        assert [entry["loss"] for entry in one] == pytest.approx([entry["loss"] for entry in two], abs=1e-6)
        assert [entry["losses"].keys() for entry in one] == [entry["losses"].keys() for entry in two]
        assert told[name]["measures"] == pytest.approx(dict(twice.measures))
    larger = train(recipes["exact"].model_copy(update={"batch_size": 10}), tmp_path / "larger")
    assert larger.steps == 3
    # The last of the 24 examples make a batch of 4, whose mean counts as that of 5: so the first steps are compared.
    losses, others = ([entry["loss"] for entry in read_log(tmp_path / run)][:2] for run in ("larger", "two/exact"))
    assert losses == pytest.approx(others, abs=1e-6)


ENDING = """
import pathlib, torch
from training.processes import joined
with joined() as processes:
    torch.optim.AdamW([torch.nn.Parameter(torch.ones(3))])
    assert processes.summed([1.0]) == [2.0]
names = {path.read_text().strip() for path in pathlib.Path("/proc/self/task").glob("*/comm")}
assert not [name for name in names if "gloo" in name], names
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads have names on Linux")
def test_no_thread_of_the_group_is_left_when_python_ends(tmp_path):
    (tmp_path / "ending.py").write_text(ENDING)
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(tmp_path / "ending.py")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, *launch], env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr


def test_batches_are_shared_by_index():
    batches = list("abcde")
    assert [Processes(rank, 2).share(batches) for rank in range(2)] == [["a", "c", "e"], ["b", "d"]]
    assert ALONE.share(batches) == batches
    assert Processes(1, 2).share(["a"]) == []
