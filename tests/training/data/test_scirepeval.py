"""SciRepEval's task configuration as tasks of a recipe."""

from __future__ import annotations

import json

import pytest

from corpora.errors import InputError
from tests.tiny import make_model
from tests.training.recipes import FILES, LABELS, PUBLISHED, publish, read_recipe, task_files, toml
from training.data.examples import read_examples
from training.data.records import read_records
from training.data.scirepeval import read_config
from training.train import train


def read(folder, *tasks):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tasks.json").write_text(json.dumps(tasks))
    return read_config(folder / "tasks.json")


LEAST = {"name": "t", "type": "triplet", "data_files": {"train": "t.jsonl"}}


def test_the_least_that_a_task_may_say_has_scirepevals_defaults(tmp_path):
    assert read(tmp_path, LEAST) == [
        {
            "name": "t",
            "type": "triplet",
            "train": tmp_path / "t.jsonl",
            "validation": None,
            "format": "prx",
            "query_format": "prx",
            "fields": ["title", "abstract"],
            "label": "label",
            "labels": None,
            "multi_label": False,
            "limit": None,
        }
    ]


def test_all_that_a_task_may_say(tmp_path):
    given = {
        "name": "s",
        "type": "classification",
        "data_files": {"train": "in/t", "dev": "d"},
        "labels": "l",
        "ctrl_token": {"query": "[QRY]", "candidates": "[CLF]"},
        "input_fields": ["x"],
        "labels_field": "y",
        "multi_label": True,
        "sample_size": 1,
        "contrastive": True,
    }
    here = tmp_path / "config"
    (here / "in").mkdir(parents=True)
    for path in (tmp_path / "d", here / "d", tmp_path / "l"):
        path.touch()
    # A file is beside the configuration, or else in the folder above.
    assert read(here, given) == [
        {
            "name": "s",
            "type": "classification",
            "train": here / "in" / "t",
            "validation": here / "d",
            "format": "clf",
            "query_format": "qry",
            "fields": ["x"],
            "label": "y",
            "labels": tmp_path / "l",
            "multi_label": True,
            "limit": 1,
            "objective": "supervised-contrastive",
        }
    ]


@pytest.mark.parametrize("form", ["{split}/000{number}.parquet", "{split}-0000{number}-of-00002.parquet"])
@pytest.mark.parametrize("beside", ["", "sample_data"])
def test_published_sets_give_the_examples_of_their_records(tmp_path, form, beside):
    publish(task_files(tmp_path), form)
    recipe = tmp_path / "recipe.toml"
    read(tmp_path / beside, *PUBLISHED)
    keys = {"base": "b", "trains": "all", "learning_rate": 1, "scirepeval": f"./{beside}/tasks.json"}
    recipe.write_text(toml(keys))
    for task, name in zip(read_recipe(recipe).tasks, FILES, strict=True):
        lines = list(read_examples(task, tmp_path / f"{name}.jsonl", "[SEP]", LABELS))
        assert list(read_examples(task, task.train, "[SEP]", LABELS)) == lines[: len(lines) * 2 // 3]
        assert len(list(read_examples(task, task.validation, "[SEP]", LABELS))) == len(lines) // 3


@pytest.mark.torch
def test_a_model_is_trained_on_published_sets(tmp_path):
    publish(task_files(tmp_path), "{split}/000{number}.parquet")
    make_model(tmp_path / "base")
    read(tmp_path, *PUBLISHED)
    recipe = tmp_path / "recipe.toml"
    keys = {"base": str(tmp_path / "base"), "trains": "adapters", "learning_rate": 0.01, "steps": 2}
    recipe.write_text(toml(keys | {"scirepeval": "tasks.json"}))
    done = train(read_recipe(recipe), tmp_path / "run")
    names = [one["name"] for one in PUBLISHED]
    assert done.unusable == dict.fromkeys(names, 0)
    assert sorted(done.measures) == sorted(names)


def test_a_published_set_that_is_not_there_says_how_to_get_it(tmp_path):
    told = "the published set allenai/scirepeval fos, which is not in .*; download the folder fos from its branch"
    with pytest.raises(InputError, match=told):
        read(tmp_path, PUBLISHED[2])
    (tmp_path / "scirepeval" / "fos" / "train").mkdir(parents=True)
    (tmp_path / "scirepeval" / "fos" / "train" / "0.parquet").write_text("no Parquet")
    (task,) = read(tmp_path, PUBLISHED[2])
    assert (task["train"], task["validation"]) == (tmp_path / "scirepeval" / "fos" / "train", None)
    with pytest.raises(InputError, match=r"0\.parquet is not a sound Parquet file: fetch it again"):
        list(read_records(task["train"]))


@pytest.mark.parametrize(
    ("size", "limit"), [(-1, None), (0, None), (1, 1), ({"train": 1}, 1), ({"dev": 5}, None), ({"train": -1}, None)]
)
def test_the_size_of_a_sample_is_the_limit(tmp_path, size, limit):
    (task,) = read(tmp_path, {**LEAST, "sample_size": size})
    assert task["limit"] == limit


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([{"type": "ir"}], "is no task configuration: it must hold a list of tasks with names"),
        ({"name": "x"}, "is no task configuration"),
        ([3], "is no task configuration"),
        ([{"name": "x"}], "The task x of .* names no data_files with a train file"),
        ([{"name": "x", "data_files": {"dev": "a"}}], "The task x of .* names no data_files with a train file"),
        ([{"name": "x", "dataset": {"name": "a"}}], "and no dataset with a path; name one"),
        ([{**LEAST, "ctrl_token": "[XXX]"}], r"has the ctrl_token '\[XXX\]'; use \[CLF\], \[RGN\], \[PRX\], \[QRY\]\."),
    ],
)
def test_mistakes(tmp_path, given, told):
    (tmp_path / "tasks.json").write_text(json.dumps(given))
    with pytest.raises(InputError, match=told):
        read_config(tmp_path / "tasks.json")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="can't be read"):
        read_config(tmp_path / "none.json")
