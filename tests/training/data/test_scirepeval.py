"""SciRepEval's task configuration as tasks of a recipe."""

from __future__ import annotations

import json

import pytest

from corpora.errors import InputError
from training.data.scirepeval import read_config


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
        (
            [{**LEAST, "ctrl_token": "[XXX]"}],
            r"has the ctrl_token '\[XXX\]'; use \[CLF\], \[RGN\], \[PRX\], \[QRY\]\.",
        ),
    ],
)
def test_mistakes(tmp_path, given, told):
    (tmp_path / "tasks.json").write_text(json.dumps(given))
    with pytest.raises(InputError, match=told):
        read_config(tmp_path / "tasks.json")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="can't be read"):
        read_config(tmp_path / "none.json")
