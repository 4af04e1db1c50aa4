"""What a run begins with: its data, its untrained model, and the key by which it resumes."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from corpora.errors import ConflictError, InputError, UnavailableError
from encoders.registry import find_model
from tests.tiny import make_model
from tests.training.recipes import LABELS, read_recipe, write_recipe
from training.preparing import base_of, held, make_ready, prepare

TASKS = ("cross-entropy", "contrastive")


def ready(folder, run="run", **values):
    recipe = read_recipe(write_recipe(folder, TASKS, **values))
    return make_ready(recipe, base_of(recipe), folder / run, lambda _: None)


def test_a_run_begins_with_packed_tasks_labels_and_an_untrained_model(tmp_path):
    made = ready(tmp_path, options={"layers": 1})
    assert made.recipe.max_tokens == made.base.card.max_tokens == 128
    assert made.labels == {"cross-entropy": LABELS, "contrastive": ()}
    # Two wrong candidates of each query make two triplets.
    sizes = [[(len(one), one.columns) for one in packs] for packs in (made.data.train, made.data.validation)]
    assert sizes == [[(24, 1), (48, 3)]] * 2
    assert made.model.card.name == str(tmp_path / "run" / "start")
    assert {name.split(".adapters.")[0] for name in made.model.read() if ".adapters." in name} == {
        "encoder.layer.1.output"
    }
    (tmp_path / "recipe.toml").write_text(
        (tmp_path / "recipe.toml").read_text().replace('validation = "papers.jsonl"\n', "")
    )
    recipe = read_recipe(tmp_path / "recipe.toml")
    made = make_ready(recipe, base_of(recipe), tmp_path / "run", lambda _: None)
    assert [one and len(one) for one in made.data.validation] == [None, 48]


def test_texts_may_be_as_long_as_the_base_takes(tmp_path):
    assert ready(tmp_path, max_tokens=128).recipe.max_tokens == 128
    assert ready(tmp_path, max_tokens=9).recipe.max_tokens == 9
    with pytest.raises(InputError, match=r"The recipe has max_tokens = 129, and .*base takes 128; lower it"):
        ready(tmp_path, max_tokens=129)


def test_the_key_changes_with_what_decides_the_weights_alone(tmp_path):
    made = ready(tmp_path)
    (tmp_path / "there").mkdir()
    shutil.copytree(tmp_path / "base", tmp_path / "there" / "base")
    assert ready(tmp_path / "there").key == made.key
    for update in ({"keep_states": tmp_path}, {"seed": 3}, {"learning_rate": 0.5}, {"trains": "lora"}):
        assert replace(made, recipe=made.recipe.model_copy(update=update)).key != made.key
    for update in ({"base": "x"}, {"guard": (tmp_path,)}):
        assert replace(made, recipe=made.recipe.model_copy(update=update)).key == made.key
    kept = [replace(made, recipe=made.recipe.model_copy(update={"keep_states": path})) for path in (tmp_path, "x")]
    assert kept[0].key == kept[1].key

    def with_task(**update):
        tasks = (made.recipe.tasks[0].model_copy(update=update), made.recipe.tasks[1])
        return replace(made, recipe=made.recipe.model_copy(update={"tasks": tasks})).key

    assert with_task(train=tmp_path, validation=None, labels=tmp_path) == made.key
    assert with_task(weight=2.0) != made.key
    other = replace(made, base=find_model(str(make_model(tmp_path / "other", seed=5))))
    assert other.key != made.key
    assert replace(made, data=replace(made.data, train=made.data.train[:1])).key != made.key
    assert replace(made, data=replace(made.data, validation=())).key == made.key
    assert len(made.key) == 24


def test_a_prepared_folder_tells_its_files_relative_to_itself(tmp_path):
    path = write_recipe(tmp_path, TASKS, keep_states="kept", guard=["papers.jsonl"])
    assert prepare(read_recipe(path), tmp_path / "run") == {"cross-entropy": (24, 24), "contrastive": (48, 48)}
    told = json.loads((tmp_path / "run" / "recipe.json").read_text())
    assert (told["guard"], told["keep_states"]) == ([], "states")
    assert [task["train"] for task in told["tasks"]] == [
        str(tmp_path / name) for name in ("papers.jsonl", "judged.jsonl")
    ]
    text = path.read_text().replace('validation = "judged.jsonl"\n', "").replace('keep_states = "kept"\n', "")
    path.write_text(text.replace('"papers.jsonl"', '"run/papers.jsonl"').replace('guard = ["run/', 'guard = ["'))
    shutil.copy(tmp_path / "papers.jsonl", tmp_path / "run")
    assert prepare(read_recipe(path), tmp_path / "run") == {"cross-entropy": (24, 24), "contrastive": (48, 0)}
    told = json.loads((tmp_path / "run" / "recipe.json").read_text())
    assert told["keep_states"] is None
    assert [(task["train"], task["validation"]) for task in told["tasks"]] == [
        ("papers.jsonl", "papers.jsonl"),
        (str(tmp_path / "judged.jsonl"), None),
    ]


def test_one_process_holds_a_folder_and_leaves_it_again(tmp_path):
    first, second = held(tmp_path / "a" / "b"), held(tmp_path / "a" / "b")
    with first, pytest.raises(ConflictError, match=r"Another process trains in .*b"), second:
        pass
    with held(tmp_path / "a" / "b"):
        pass
    (tmp_path / "file").touch()
    with pytest.raises(UnavailableError, match="file can't be written"), held(tmp_path / "file"):
        pass
    (tmp_path / "c" / ".lock").mkdir(parents=True)
    with pytest.raises(UnavailableError, match=r"c/\.lock can't be locked \(Is a directory\)"), held(tmp_path / "c"):
        pass
