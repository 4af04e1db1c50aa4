"""`ses train` as a user sees it."""

from __future__ import annotations

import json

import pytest

from encoders.registry import find_model
from tests.commands import fails, ses
from tests.training.recipes import write_recipe

pytestmark = pytest.mark.torch

VARIANTS = '[[variants]]\nname = "one"\nseed = 1\n[[variants]]\nname = "two"\nsteps = 1\n'


def test_steps_a_table_and_where_the_model_is(tmp_path):
    path = write_recipe(tmp_path, ("triplet", "cross-entropy"), epochs=1, validate_every=2)
    done = ses(tmp_path, "train", path, "--output", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert lines[0].startswith("step 1 of 6: loss ")
    assert lines[0].endswith(" s left")
    assert [line.split(":")[0] for line in lines[1:]] == [f"step {step} of 6" for step in (2, 4, 6)]
    assert ", triplet 0." in lines[-1] or ", triplet 1." in lines[-1]
    head, triplet, classes, waited, log, model = done.stdout.splitlines()
    steps = {step: mark for step, mark in ((2, "first"), (4, "chosen"), (6, "last")) if f"step {step} (" in head}
    assert "(chosen)" in head
    assert head.split()[:2] == ["validation", "measure"]
    assert triplet.split()[:2] == ["triplet", "first"]
    assert classes.split()[:2] == ["cross-entropy", "macro-f1"]
    assert len(triplet.split()) == len(classes.split()) == 2 + head.count("step")
    assert steps
    assert waited.startswith("Waiting for data took ")
    assert log.endswith("log.jsonl, drawn in loss.svg and validation.svg.")
    assert f"The model is in {tmp_path / 'run' / 'model'} (step " in model


def test_variants_one_after_another(tmp_path):
    path = write_recipe(tmp_path, ("triplet",), epochs=1)
    path.write_text(path.read_text() + VARIANTS)
    done = ses(tmp_path, "train", path, "--output", tmp_path / "run", "--variant", "two")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "run" / "one").exists()
    done = ses(tmp_path, "train", path, "--output", tmp_path / "run", "--resume")
    *_, head, one, two = done.stdout.splitlines()
    assert head.split() == ["variant", "triplet"]
    assert (one.split()[:3], two.split()[:3]) == (["one", "step", "3"], ["two", "step", "1"])
    done = ses(tmp_path, "train", path, "--output", tmp_path / "run", "--resume", "--json")
    told = json.loads(done.stdout)["variants"]
    assert {name: result["steps"] for name, result in told.items()} == {"one": 3, "two": 1}
    assert all(find_model(result["model"]) for result in told.values())
    assert done.stderr == ""


def test_the_time_is_for_all_variants(tmp_path):
    path = write_recipe(tmp_path, ("triplet",), epochs=1)
    path.write_text(path.read_text() + VARIANTS)
    done = ses(tmp_path, "train", path, "--output", tmp_path / "run", "--minutes", "0.000001")
    assert [line.split() for line in done.stdout.splitlines()[-2:]] == [
        ["one", "1", "of", "3", "steps;", "add", "--resume"],
        ["two", "not", "started;", "add", "--resume"],
    ]
    done = ses(tmp_path, "train", path, "--output", tmp_path / "run", "--minutes", "0.000001", "--json")
    fails(done, 2, "holds a run of 1 steps; add --resume")
    done = ses(tmp_path, "train", path, "--output", tmp_path / "new", "--minutes", "0.000001", "--json")
    told = json.loads(done.stdout)["variants"]
    assert (told["one"]["model"], told["one"]["steps"], told["two"]) == (None, 1, None)


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (["--output", "{home}/recipe.toml"], 3, "can't be written"),
        (["--output", "/proc/nowhere"], 3, "/proc/nowhere can't be written"),
        (["--variant", "one"], 2, "has no variant 'one'; its variants are: none"),
        (["--minutes", "0"], 2, "0.0 is not in the range"),
    ],
)
def test_wrong_options(tmp_path, options, code, told):
    path = write_recipe(tmp_path, ("triplet",))
    done = ses(tmp_path, "train", path, *(option.format(home=tmp_path) for option in options))
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert told in done.stderr


@pytest.mark.parametrize(
    ("before", "after", "code", "told"),
    [
        ('base = "', 'base = "none-', 2, "There is no model 'none-"),
        ('trains = "adapters"', 'trains = "adapters"\nmax_tokens = 500', 2, "takes 128; lower it"),
        ('trains = "adapters"', 'trains = "last"\noptions = {layers = 9}', 2, "asks for 9 layers"),
        ("learning_rate", "learning-rate", 2, "did you mean 'learning_rate'?"),
        (
            'train = "triplets.jsonl"',
            'train = "empty.jsonl"',
            2,
            "empty.jsonl is empty: fetch it again or name another file",
        ),
        ('train = "triplets.jsonl"', 'train = "papers.jsonl"', 2, "24 x a text is empty or not a text"),
        ('train = "triplets.jsonl"', 'train = "bytes.jsonl"', 2, "bytes.jsonl is a binary file"),
        ('train = "triplets.jsonl"', 'train = "."', 2, "there is no such file"),
    ],
)
def test_wrong_recipes(tmp_path, before, after, code, told):
    path = write_recipe(tmp_path, ("triplet",))
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "bytes.jsonl").write_bytes(bytes(range(256)))
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))
    fails(ses(tmp_path, "train", path, "--output", tmp_path / "run"), code, told)
