"""Examples of records: texts and targets of each shape, and why a record gives none."""

from __future__ import annotations

import math

import pytest

from corpora.errors import InputError
from tests.training.recipes import write
from training.data.examples import Example, Unusable, read_examples, read_labels
from training.task import TrainingTask


def task(folder, kind, records, **values):
    path = write(folder / "records.jsonl", records)
    return TrainingTask.model_validate({"name": "t", "type": kind, "train": path, "format": "prx"} | values)


def read(folder, kind, *records, labels=(), **values):
    given = task(folder, kind, records, **values)
    return list(read_examples(given, given.train, "[SEP]", labels))


def text(number):
    return {"title": f"t{number}", "abstract": f"a{number}"}


def test_texts_are_the_fields_of_the_task_in_order(tmp_path):
    record = {"venue": " V ", "year": 2001.0, "title": "T", "empty": "", "n": 7, "value": 0.5, "odd": math.inf}
    found = read(tmp_path, "regression", record, label="value", fields=["year", "title", "none", "empty", "n", "venue"])
    assert found == [Example(("2001 [SEP] T [SEP] 7 [SEP]  V",), (0.5,))]
    assert [one.line for one in read(tmp_path, "regression", record, record, label="n")] == [1, 2]
    assert read(tmp_path, "regression", record, label="n", fields=["odd"])[0].texts == ("inf",)


def test_every_shape_of_records(tmp_path):
    vector = read(tmp_path, "vectors", {**text(1), "label": [1, 2.5]})
    assert vector == [Example(("t1 [SEP] a1",), (1.0, 2.5))]
    triplet = read(tmp_path, "triplet", {"query": " q ", "pos": text(1), "neg": text(2)})
    assert triplet == [Example(("q", "t1 [SEP] a1", "t2 [SEP] a2"))]
    scores = [{**text(number), "score": score} for number, score in enumerate((1, 0.5, -2))]
    ranked = read(tmp_path, "ranked", {"query": text(9), "candidates": scores})
    assert ranked == [Example(("t9 [SEP] a9", "t0 [SEP] a0", "t1 [SEP] a1", "t2 [SEP] a2"), (1.0, 0.5, -2.0))]
    several = {"multi_label": True, "labels": ("a", "b", "c")}
    records = [{**text(1), "label": label} for label in (["c", "a", "c"], "b", [], None, "", [1])]
    found = read(tmp_path, "classification", *records, **several)
    targets = [one.targets if isinstance(one, Example) else one.reason for one in found]
    assert targets == [(0, 2), (1,), (), (), (), "the label '1' is none of the task's labels"]


@pytest.mark.parametrize(
    ("kind", "record", "reason"),
    [
        ("vectors", {"title": "A", "label": []}, "label is not a list of numbers"),
        ("vectors", {"title": "A", "label": 3}, "label is not a list of numbers"),
        ("vectors", {"title": "A", "label": [1, "x"]}, "a part of label is 'x' and not a number"),
        ("vectors", {"label": [1]}, "a text is empty or not a text: none of title, abstract is there"),
        ("regression", {"title": "A", "label": math.nan}, "label is nan and not a number"),
        ("ranked", {"query": "q", "candidates": []}, "candidates is not a list of papers"),
        ("ranked", {"query": "q", "candidates": ["x"]}, "candidates is not a list of papers"),
        ("ranked", {"query": "q", "candidates": [{"title": "A", "score": True}]}, "a candidate's score is True"),
        (
            "ir",
            {"query": "q", "candidates": [{"title": "A", "score": 0}]},
            "one candidate with a score above 0 and one",
        ),
    ],
)
def test_why_a_record_gives_no_example(tmp_path, kind, record, reason):
    good = {"vectors": {"title": "A", "label": [1]}, "regression": {"title": "A", "label": 1}}.get(kind)
    *_, found = read(tmp_path, kind, *([good] if good else []), record)
    assert (type(found), found.line) == (Unusable, 2 if good else 1)
    assert reason in found.reason


def test_labels_are_those_of_the_file_or_of_the_records_sorted(tmp_path):
    records = [{"label": label} for label in ("b", ["c", "a"], "b", None, [], 3)]
    assert read_labels(task(tmp_path, "classification", records, multi_label=True)) == ("3", "a", "b", "c")
    (tmp_path / "labels.txt").write_text("c\n\n a \nb\n")
    named = {"labels": tmp_path / "labels.txt"}
    assert read_labels(task(tmp_path, "classification", records, **named)) == ("c", "a", "b")
    assert read_labels(task(tmp_path, "classification", records, **named, multi_label=True)) == ("a", "b", "c")
    assert read_labels(task(tmp_path, "regression", records)) == ()


def test_too_few_labels(tmp_path):
    one, none = [{"label": "a"}, {"label": "a"}], [{"title": "A"}]
    assert read_labels(task(tmp_path, "classification", one, multi_label=True)) == ("a",)
    with pytest.raises(InputError, match="The task t has 1 labels in 'label', too few to tell papers apart"):
        read_labels(task(tmp_path, "classification", one))
    with pytest.raises(InputError, match="The task t has 0 labels in 'label'"):
        read_labels(task(tmp_path, "classification", none, multi_label=True))
    two = [{"label": "a"}, {"label": "b"}]
    assert read_labels(task(tmp_path, "classification", two)) == ("a", "b")
