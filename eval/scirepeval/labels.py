"""Labels of classification and regression tasks: checked, converted to the same type in both splits, and sampled.

Few-shot samples are the same as SciRepEval's own code draws.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from corpora.errors import InputError, require
from eval.files.text import Row, is_id
from eval.optional import optional
from eval.probes.linear import SEED
from eval.scirepeval.task_file import FewShot, Task


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
        require(rows, f"The task {task.name} has no {split} labels; each line needs paper_id and label.")
    labels = _as_array([label for _, label in (*learnt, *asked)], task)
    return (
        Labels(tuple(paper for paper, _ in learnt), labels[: len(learnt)]),
        Labels(tuple(paper for paper, _ in asked), labels[len(learnt) :]),
    )


def few_shot_samples(labels: np.ndarray, few_shot: FewShot) -> Iterator[list[int]]:
    """Yield the training rows of each run.

    With one class per paper, they are the held-out parts of stratified folds of about the sample size, so that no two
    runs share a paper. With several labels per paper, the sample size is drawn from the papers of each label, with a
    different seed for each run.

    Args:
        labels: Of the training rows, (rows,) or (rows, labels).
        few_shot: Sample size and runs; with one class per paper, there are no more runs than folds.

    Yields:
        Rows.

    Raises:
        InputError: If there are too few rows.
        UnavailableError: If scikit-learn isn't installed.
    """
    yield from (_of_each_label if labels.ndim == 2 else _held_out_parts)(labels, few_shot)


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
        require(
            np.isfinite(numbers).all(), f"A label of the task {task.name} is no number, and {task.type} needs numbers."
        )
        return numbers
    require(
        not any(isinstance(label, list | dict) for label in labels),
        f'A paper of the task {task.name} has several labels: say "multi_label": true in the task file.',
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
    require(
        len(lists) == len(labels) and len(set(map(len, lists))) == 1,
        f"The labels of the task {task.name} must be lists of 0 and 1, one for each of its classes, as multi_label "
        "says.",
    )
    return np.array(lists, dtype=np.int64)


def _held_out_parts(labels: np.ndarray, few_shot: FewShot) -> Iterator[list[int]]:
    stratified = optional("sklearn.model_selection", "Few-shot samples need scikit-learn").StratifiedKFold
    folds = math.ceil(len(labels) / few_shot.sample_size)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the protocol allows a class with fewer papers than folds
            parts = list(islice(stratified(folds).split(labels, labels), few_shot.iterations))
    except ValueError as error:
        raise InputError(
            f"{len(labels):,} training papers can't be divided into samples of {few_shot.sample_size}: take fewer."
        ) from error
    yield from (part.tolist() for _, part in parts)


def _of_each_label(labels: np.ndarray, few_shot: FewShot) -> Iterator[list[int]]:
    rarest = int(labels.sum(axis=0).min())
    require(
        rarest >= few_shot.sample_size,
        f"A label has {rarest} training papers, and {few_shot.sample_size} are to be drawn of each: take fewer.",
    )
    holders = [np.flatnonzero(column == 1) for column in labels.T]
    for run in range(few_shot.iterations):
        # The generator that np.random.seed sets, not default_rng, and a set's order, since folds and liblinear's
        # coordinate descent depend on it.
        draw = np.random.RandomState(SEED + run)
        rows: set[int] = set()
        for holder in holders:
            rows.update(draw.choice(holder, few_shot.sample_size, replace=False).tolist())
        yield list(rows)
