"""Runs of the trainer: what it learns, that a killed run ends in the same weights, and what it refuses."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from filelock import FileLock
from safetensors.numpy import load_file

from corpora.errors import ConflictError, InputError
from encoders.encoder import load_encoder
from encoders.heads import read_heads
from encoders.models.formats import Format
from encoders.registry import find_model
from tests.chance import drawn, kills
from tests.training.recipes import TASKS, read_recipe, write_recipe
from training.checkpoints import TrainingProgress
from training.log import read_log
from training.objectives import OBJECTIVES
from training.processes import Processes
from training.train import _finish, train

pytestmark = pytest.mark.torch

TEXTS = ["virus lung cell [SEP] protein gene", "galaxy star", "climate ocean water soil"]


def losses(folder):
    return [json.loads(line)["loss"] for line in (folder / "log.jsonl").read_text().splitlines()]


def all_weights(folder):
    files = sorted(folder.rglob("*.safetensors"))
    assert files
    return {f"{path.relative_to(folder)}:{name}": array for path in files for name, array in load_file(path).items()}


def same(first, second):
    ours, theirs = all_weights(first), all_weights(second)
    return ours.keys() == theirs.keys() and all(np.array_equal(ours[name], theirs[name]) for name in ours)


def vectors(model, cache, task_format):
    return load_encoder(str(model), cache_dir=cache, precision="fp32").encode(TEXTS, task_format)


@pytest.mark.parametrize(("step", "rank", "model"), [(3, 1, True), (2, 1, False), (2, 0, False)])
def test_what_a_run_says_at_its_end(tmp_path, step, rank, model):
    """A process that does not write says where the model is; a run that is not finished has none."""
    packs = [SimpleNamespace(manifest=SimpleNamespace(unusable=Counter(bad))) for bad in ("aab", "", "c")]
    tasks = [SimpleNamespace(name=name, rate=1) for name in ("one", "two")]
    recipe = SimpleNamespace(tasks=tasks, batch_size=8, accumulation=1, epochs=1, steps=None, patience=0)
    train_data, validation = (Sized(packs[0], 16), Sized(packs[1], 8)), (packs[2], None)
    ready = SimpleNamespace(recipe=recipe, data=SimpleNamespace(train=train_data, validation=validation))
    (tmp_path / "log.jsonl").write_text('{"step": 1, "seconds": 3.0, "waited": 1.0}\n')
    done = _finish(ready, None, TrainingProgress(step), tmp_path, Processes(rank, 2))
    assert done.folder == (tmp_path / "model" if model else None)
    assert (done.steps, done.total, done.chosen, done.measures) == (step, 3, step, {})
    assert done.unusable == {"one": 4, "two": 0}
    assert (done.waiting, done.plots) == (0.0 if rank else 0.25, [])


class Sized:
    """A pack of so many examples."""

    def __init__(self, pack, size):
        self.manifest, self.size = pack.manifest, size

    def __len__(self):
        return self.size


def test_every_objective_is_tried():
    assert TASKS.keys() | {"listwise"} == OBJECTIVES.keys()


@pytest.mark.parametrize("trains", ["adapters", "all"])
def test_every_objective_learns_together(tmp_path, trains):
    """What else can be trained takes two steps with every objective in tests/training/test_smoke.py."""
    recipe = write_recipe(tmp_path, tuple(TASKS), trains=trains, epochs=3, batch_size=24, dropout=0.0)
    done = train(read_recipe(recipe), tmp_path / "run")
    assert done.folder == tmp_path / "run" / "model"
    # Tasks of 24 examples each, in batches of 24; the queries of one task give two triplets each.
    assert done.steps == done.total == 3 * (len(TASKS) + 1)
    found = losses(tmp_path / "run")
    assert np.mean(found[-5:]) < np.mean(found[:5])
    before = vectors(tmp_path / "run" / "start", tmp_path / "cache", Format.PRX)
    after = vectors(done.folder, tmp_path / "cache", Format.PRX)
    assert np.abs(before - after).max() > 1e-4


def test_a_task_may_have_any_name(tmp_path):
    """Also names that a table of torch, a path or a plot would read otherwise."""
    names = {"cross-entropy": "topics.v2", "mse": "type", "bce": "../up", "ranking": "$a_{$"}
    path = write_recipe(tmp_path, tuple(names), steps=2)
    text = path.read_text()
    for objective, name in names.items():
        text = text.replace(f'name = "{objective}"', f'keep_head = true\nname = "{name}"')
    path.write_text(text)
    assert train(read_recipe(path), tmp_path / "run", minutes=1e-9).steps == 1
    done = train(read_recipe(path), tmp_path / "run", resume=True)
    assert sorted(read_heads(done.folder)) == sorted(names.values())
    assert (done.steps, done.plots) == (2, ["loss.svg", "validation.svg"])


@pytest.mark.parametrize("trains", ["adapters", "last"])
def test_what_is_not_trained_stays(tmp_path, trains):
    recipe = write_recipe(tmp_path, trains=trains, steps=2, options={"layers": 1})
    done = train(read_recipe(recipe), tmp_path / "run")
    before, after = (find_model(str(path)).read() for path in (tmp_path / "run" / "start", done.folder))
    changed = {name for name in before if not np.array_equal(before[name], after[name])}
    assert changed
    assert all(name.startswith("encoder.layer.1.") for name in changed)


def test_codes_change_their_own_rows_only(tmp_path):
    done = train(read_recipe(write_recipe(tmp_path, trains="shared-codes", steps=2)), tmp_path / "run")
    before, after = (find_model(str(path)).read() for path in (tmp_path / "run" / "start", done.folder))
    words = "embeddings.word_embeddings.weight"
    base = find_model(str(tmp_path / "base")).read()[words]
    np.testing.assert_array_equal(after[words][: len(base)], base)
    assert not np.isclose(after[words][len(base) :], before[words][len(base) :]).all(axis=1).any()


def test_formats_of_the_model_are_those_of_the_tasks(tmp_path):
    done = train(read_recipe(write_recipe(tmp_path, ("mse", "contrastive"), steps=1)), tmp_path / "run")
    assert set(find_model(str(done.folder)).card.formats) == {Format.RGN, Format.PRX, Format.QRY}


def test_a_run_that_stops_resumes_to_the_same_weights(tmp_path):
    recipe = read_recipe(write_recipe(tmp_path, epochs=3, validate_every=2))
    whole = train(recipe, tmp_path / "whole")
    first = train(recipe, tmp_path / "parts", minutes=1e-9)
    assert (first.folder, first.steps) == (None, 1)
    second = train(recipe, tmp_path / "parts", minutes=1e-9, resume=True)
    assert second.steps == 2
    third = train(recipe, tmp_path / "parts", resume=True)
    assert third.steps == whole.steps > 2
    assert losses(tmp_path / "whole") == losses(tmp_path / "parts")
    assert same(whole.folder, third.folder)


def test_a_run_resumes_before_every_task_had_an_example(tmp_path):
    """The head of the second task has no averages yet when the state is saved."""
    values = {"sampler": "sequential", "batch_size": 24, "epochs": 1, "validate_every": 1}
    recipe = read_recipe(write_recipe(tmp_path, ("triplet", "cross-entropy", "mse"), **values))
    whole = train(recipe, tmp_path / "whole")
    assert train(recipe, tmp_path / "parts", minutes=1e-9).steps == 1
    parts = train(recipe, tmp_path / "parts", resume=True)
    assert parts.steps == whole.steps == 3
    assert same(whole.folder, parts.folder)


def test_killed_runs_resume_to_the_same_weights(tmp_path):
    path = write_recipe(tmp_path, ("cross-entropy", "triplet"), epochs=2, validate_every=1)
    whole = train(read_recipe(path), tmp_path / "whole")
    chance, left = drawn(), kills(newcomer=1, ci=1, long=20)
    command = [sys.executable, "-m", "ses", "train", str(path), "--output", str(tmp_path / "killed"), "--resume"]
    while left or not (tmp_path / "killed" / "model").exists():
        if (tmp_path / "killed" / "model").exists():
            assert same(whole.folder, tmp_path / "killed" / "model")
            shutil.rmtree(tmp_path / "killed")
        run = subprocess.Popen(
            command, cwd=Path(__file__).parents[2], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ
        )
        # Its log has a line a step: the kill comes while it computes, validates or saves.
        done = len(read_log(tmp_path / "killed"))
        limit = done + chance.randint(1, max(1, whole.steps - done)) if left else whole.steps + 1
        while run.poll() is None:
            if len(read_log(tmp_path / "killed")) >= limit:
                time.sleep(chance.random() / 20)
                run.kill()
                break
            time.sleep(0.005)
        run.wait(timeout=120)
        left -= run.returncode == -signal.SIGKILL
        assert run.returncode in (0, -signal.SIGKILL)
    assert same(whole.folder, tmp_path / "killed" / "model")


def test_one_process_a_folder(tmp_path):
    recipe = read_recipe(write_recipe(tmp_path, steps=1))
    (tmp_path / "run").mkdir()
    with FileLock(tmp_path / "run" / ".lock"), pytest.raises(ConflictError, match="Another process trains in"):
        train(recipe, tmp_path / "run")


def test_another_recipe_in_the_folder_is_refused(tmp_path):
    train(read_recipe(write_recipe(tmp_path, steps=1)), tmp_path / "run")
    with pytest.raises(InputError, match="holds a run of 1 steps; add resume"):
        train(read_recipe(write_recipe(tmp_path, steps=1)), tmp_path / "run")
    with pytest.raises(InputError, match="another recipe"):
        train(read_recipe(write_recipe(tmp_path, steps=2)), tmp_path / "run", resume=True)


def test_a_run_resumes_where_its_files_lie_elsewhere(tmp_path):
    (tmp_path / "here").mkdir()
    first = train(read_recipe(write_recipe(tmp_path / "here", epochs=2)), tmp_path / "here" / "run", minutes=1e-9)
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    shutil.rmtree(tmp_path / "here")
    path = tmp_path / "there" / "recipe.toml"
    path.write_text(path.read_text().replace(str(tmp_path / "here"), str(tmp_path / "there")))
    done = train(read_recipe(path), tmp_path / "there" / "run", resume=True)
    assert (first.steps, done.steps) == (1, done.total)


def test_the_best_validation_is_chosen_and_training_stops_early(tmp_path):
    recipe = write_recipe(tmp_path, ("cross-entropy",), epochs=60, validate_every=1, patience=3, learning_rate=0.3)
    done = train(read_recipe(recipe), tmp_path / "run")
    told = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    scores = [entry["validation"]["cross-entropy"] for entry in told]
    assert done.steps == len(scores) < done.total
    assert done.chosen == 1 + scores.index(max(scores)) == done.steps - 3
    assert done.measures["cross-entropy"] == max(scores)


def test_accumulation_is_a_larger_batch(tmp_path):
    values = {"epochs": 1, "dropout": 0.0, "learning_rate": 0.01, "clip": 0.0, "schedule": "constant"}
    options = {"identity": 1}
    whole = train(read_recipe(write_recipe(tmp_path, ("triplet",), options, batch_size=8, **values)), tmp_path / "a")
    parts = write_recipe(tmp_path, ("triplet",), options, batch_size=4, accumulation=2, **values)
    done = train(read_recipe(parts), tmp_path / "b")
    assert done.steps == whole.steps == 3
    ours, theirs = all_weights(whole.folder), all_weights(done.folder)
    assert all(np.allclose(ours[name], theirs[name], atol=2e-4) for name in ours)
    # Adam's steps are the same for gradients twice as large: its averages are not.
    one, two = (all_weights(next((tmp_path / run).glob("state-*"))) for run in ("a", "b"))
    averages = [name for name in one if ":adamw.exp_avg." in name]
    apart, size = (
        np.sqrt(sum(np.square(x).sum() for x in found))
        for found in ([one[name] - two[name] for name in averages], [one[name] for name in averages])
    )
    assert apart < 0.1 * size


def test_a_run_resumes_where_some_weights_had_no_gradient_yet(tmp_path):
    recipe = read_recipe(write_recipe(tmp_path, ("mse", "triplet"), sampler="task-per-batch", validate_every=1))
    whole = train(recipe, tmp_path / "whole")
    assert train(recipe, tmp_path / "parts", minutes=1e-9).steps == 1
    assert same(whole.folder, train(recipe, tmp_path / "parts", resume=True).folder)


def test_a_task_is_trained_at_its_rate(tmp_path):
    path = write_recipe(tmp_path, ("mse", "triplet"), sampler="shuffled-batches", epochs=2)
    text = (
        path.read_text()
        .replace('name = "mse"', 'rate = 0.34\nname = "mse"')
        .replace('name = "triplet"', 'rate = 2\nname = "triplet"')
    )
    path.write_text(text)
    done = train(read_recipe(path), tmp_path / "run")
    entries = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    # Of 24 examples each, in batches of 8: one batch of the first task and six of the second, twice.
    assert [sum(name in entry["losses"] for entry in entries) for name in ("mse", "triplet")] == [2, 12]
    assert done.steps == 14


def test_the_model_says_how_its_vectors_are_to_be_compared(tmp_path):
    for trains in ("all", "adapters", "experts"):
        recipe = write_recipe(tmp_path, ("contrastive",), trains=trains, steps=1, similarity="dot")
        done = train(read_recipe(recipe), tmp_path / trains)
        assert find_model(str(tmp_path / "base")).card.similarity == "l2"
        assert find_model(str(done.folder)).card.similarity == "dot"


@pytest.mark.parametrize("warmup", [4, 0.5])
def test_the_rate_rises_for_some_steps_or_a_share_of_all(tmp_path, warmup):
    recipe = write_recipe(tmp_path, ("mse",), steps=8, epochs=4, warmup=warmup, learning_rate=0.1)
    train(read_recipe(recipe), tmp_path / "run")
    entries = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert [entry["rate"] for entry in entries] == pytest.approx([0, 0.025, 0.05, 0.075, 0.1, 0.075, 0.05, 0.025])


def test_a_run_starts_from_the_model_of_another(tmp_path):
    train(read_recipe(write_recipe(tmp_path, ("triplet",), trains="all", steps=1)), tmp_path / "runs" / "vanilla")
    path = write_recipe(tmp_path, ("triplet",), trains="experts", steps=1, base="./runs/vanilla/model")
    done = train(read_recipe(path), tmp_path / "runs" / "experts")
    start, before = (find_model(str(tmp_path / "runs" / name)).read() for name in ("experts/start", "vanilla/model"))
    np.testing.assert_array_equal(
        start["encoder.layer.1.attention.self.moe_query.0.weight"],
        before["encoder.layer.1.attention.self.query.weight"],
    )
    assert find_model(str(done.folder)).card.architecture == "experts"
