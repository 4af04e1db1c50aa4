"""Turns the records of task files into examples: texts and their targets.

The shapes are those of SciRepEval's training files (its mtl_datasets.py): a flat paper with a label;
`{query, pos, neg}`; `{query, candidates: [{..., score}]}`, whose query is a paper or plain text.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from corpora.errors import InputError
from training.data.records import read_records
from training.task import TrainingTask

_FEWEST_CLASSES = 2

MOST_TRIPLETS = 5
"""Triplets made from one query with judged candidates, as in SciRepEval's training."""


@dataclass(frozen=True, slots=True)
class Example:
    """One example.

    The texts are the text itself; or the query, its positive and negatives, or its candidates. The targets are one
    class, some labels, one value, a score a candidate, a vector, or nothing. The line is that on which the record
    begins.
    """

    texts: tuple[str, ...]
    targets: tuple[float, ...] = ()
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Unusable:
    """A record that gives no example: the line on which it begins, and why it gives none."""

    line: int
    reason: str


def read_labels(task: TrainingTask) -> tuple[str, ...]:
    """Return the labels of a classification task in the order of the head's outputs; none for other tasks.

    If the task names no file of labels, the labels of its training data are used, sorted. `InputError` if there are too
    few.
    """
    if task.type != "classification":
        return ()
    if task.labels:
        lines = task.labels.read_text(encoding="utf-8").splitlines()
        labels = [line.strip() for line in lines if line.strip()]
    else:
        records = read_records(task.train) if task.train else ()
        found = (_given_labels(task, record) for _, record in records if isinstance(record, dict))
        labels = sorted({label for given in found if given for label in given})
    if len(labels) < (1 if task.multi_label else _FEWEST_CLASSES):
        raise InputError(
            f"The task {task.name} has {len(labels)} labels in {task.label!r}, too few to tell papers apart; check "
            "the key label and the records."
        )
    # Several labels are sorted, as scikit-learn's binarizer sorts them in SciRepEval's code.
    return tuple(sorted(labels) if task.multi_label else labels)


def read_examples(
    task: TrainingTask, path: Path, separator: str, labels: Sequence[str]
) -> Iterator[Example | Unusable]:
    """Yield every example in the order of a task file, and every record that gives none.

    The type of the task says which shape the records have; `separator` is the text between the fields of a paper, and
    `labels` come from `read_labels`.
    """
    reader = _Reader(task, separator, {label: number for number, label in enumerate(labels)})
    for line, record in read_records(path):
        if isinstance(record, str):
            yield Unusable(line, record)
            continue
        try:
            for example in reader.examples(record):
                yield replace(example, line=line)
        except _UnusableError as error:
            yield Unusable(line, str(error))


class _UnusableError(Exception):
    """Why a record gives no example."""


@dataclass(frozen=True, slots=True)
class _Reader:
    """Makes the examples of a task's records.

    Attributes:
        task: The task, whose type says which shape the records have.
        separator: Text between the fields of a paper.
        numbers: Numbers of the labels.
    """

    task: TrainingTask
    separator: str
    numbers: Mapping[str, int]

    def examples(self, record: Mapping[str, Any]) -> list[Example]:
        """Return the examples of a record, which are several of a query with judged candidates."""
        if self.task.type == "ir":
            return self._judged(record)
        if self.task.type == "triplet":
            return [Example(tuple(self._text(record.get(part)) for part in ("query", "pos", "neg")))]
        if self.task.type == "ranked":
            candidates = _candidates(record)
            texts = (self._text(one) for one in (record.get("query"), *candidates))
            return [Example(tuple(texts), tuple(float(one["score"]) for one in candidates))]
        targets = {"classification": self._classes, "regression": self._value, "vectors": self._vector}
        return [Example((self._text(record),), targets[self.task.type](record))]

    def _text(self, given: Any) -> str:
        """Return the text of a paper or of a plain query."""
        if isinstance(given, str):
            text = given
        elif isinstance(given, dict):
            parts = [given.get(field) for field in self.task.fields]
            # Years may be numbers with a point (SciRepEval's Search data).
            parts = [str(int(part)) if isinstance(part, float) and math.isfinite(part) else part for part in parts]
            between = f" {self.separator} " if self.separator else " "
            text = between.join(str(part) for part in parts if part)
        else:
            text = ""
        if not text.strip():
            raise _UnusableError(f"a text is empty or not a text: none of {', '.join(self.task.fields)} is there")
        return text.strip()

    def _classes(self, record: Mapping[str, Any]) -> tuple[float, ...]:
        given = _given_labels(self.task, record)
        if not self.task.multi_label and len(given) != 1:
            raise _UnusableError(f"{self.task.label} holds {len(given)} labels instead of one")
        if unknown := [label for label in given if label not in self.numbers]:
            raise _UnusableError(f"the label {unknown[0]!r} is none of the task's labels")
        return tuple(sorted({self.numbers[label] for label in given}))

    def _value(self, record: Mapping[str, Any]) -> tuple[float, ...]:
        return (_number(record.get(self.task.label), self.task.label),)

    def _vector(self, record: Mapping[str, Any]) -> tuple[float, ...]:
        given = record.get(self.task.label)
        if not isinstance(given, list) or not given:
            raise _UnusableError(f"{self.task.label} is not a list of numbers")
        return tuple(_number(one, f"a part of {self.task.label}") for one in given)

    def _judged(self, record: Mapping[str, Any]) -> list[Example]:
        """Return up to five triplets. Positives are taken from the first on, repeatedly; negatives from the last on."""
        query, candidates = self._text(record.get("query")), _candidates(record)
        positives = [one for one in candidates if one["score"]]
        negatives = [one for one in candidates if not one["score"]]
        if not positives or not negatives:
            raise _UnusableError("it needs one candidate with a score above 0 and one with a score of 0")
        pairs = zip(itertools.cycle(positives), negatives[: -MOST_TRIPLETS - 1 : -1], strict=False)
        return [Example((query, self._text(positive), self._text(negative))) for positive, negative in pairs]


def _given_labels(task: TrainingTask, record: Mapping[str, Any]) -> list[str]:
    given = record.get(task.label)
    if given is None or given == "":
        return []
    return [str(label) for label in given] if isinstance(given, list) else [str(given)]


def _candidates(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = record.get("candidates")
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given) or not given:
        raise _UnusableError("candidates is not a list of papers")
    for one in given:
        _number(one.get("score"), "a candidate's score")
    return given


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _UnusableError(f"{what} is {value!r} and not a number")
    return float(value)
