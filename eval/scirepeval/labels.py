"""Labels of classification and regression tasks: checked, and converted to the same type in both splits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from corpora.errors import InputError
from eval.files.text import Row, is_id
from eval.scirepeval.task_file import Task


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Papers of a split with their labels: `labels` is (papers,) or, for several labels per paper, (papers, k)."""

    ids: tuple[str, ...]
    labels: np.ndarray


def read_labels(train: Iterable[Row], test: Iterable[Row], task: Task) -> tuple[Labels, Labels]:
    """Read the labels of both splits.

    Args:
        train: Rows of `paper_id` and `label`.
        test: The same.
        task: The task of the labels: numbers for regression, lists of 0 and 1 for several labels per paper, else
            classes.

    Returns:
        The labels to learn from, and those to predict.

    Raises:
        InputError: If there are none, or one can't be a label of the task.
    """
    learnt, asked = ([_label(row, task) for row in rows] for rows in (train, test))
    for split, rows in (("train", learnt), ("test", asked)):
        if not rows:
            raise InputError(f"The task {task.name} has no {split} labels; each line needs paper_id and label.")
    labels = _as_array([label for _, label in (*learnt, *asked)], task)
    return (
        Labels(tuple(paper for paper, _ in learnt), labels[: len(learnt)]),
        Labels(tuple(paper for paper, _ in asked), labels[len(learnt) :]),
    )


def _label(row: Row, task: Task) -> tuple[str, object]:
    paper, label = row.get("paper_id"), row.get("label")
    if not is_id(paper) or label is None or label == "":
        raise InputError(f"A label of the task {task.name} lacks its paper_id or label: {str(dict(row))[:100]}.")
    return str(paper), label


def _as_array(labels: Sequence[object], task: Task) -> np.ndarray:
    if task.multi_label:
        return _several(labels, task)
    if task.type == "regression":
        try:
            numbers = np.array([float(str(label)) for label in labels])
        except ValueError:
            numbers = np.array([np.nan])
        if not np.isfinite(numbers).all():
            raise InputError(f"A label of the task {task.name} is no number, and {task.type} needs numbers.")
        return numbers
    if any(isinstance(label, list | dict) for label in labels):
        raise InputError(
            f'A paper of the task {task.name} has several labels: say "multi_label": true in the task file.'
        )
    words = [str(label) for label in labels]
    # 0, 1, ... stay numbers also where CSV made them words: f1 without an average is that of class 1.
    whole = all(word.removeprefix("-").isdecimal() and len(word) < 10 for word in words)
    return np.array([int(word) for word in words] if whole else words)


def _several(labels: Sequence[object], task: Task) -> np.ndarray:
    try:
        rows = [json.loads(label) if isinstance(label, str) else label for label in labels]
    except ValueError:
        rows = []
    lists = [row for row in rows if isinstance(row, list) and row and all(value in (0, 1) for value in row)]
    if len(lists) < len(labels) or len(set(map(len, lists))) != 1:
        raise InputError(
            f"The labels of the task {task.name} must be lists of 0 and 1, one for each of its classes, as multi_label "
            "says."
        )
    return np.array(lists, dtype=np.int64)
