"""Writes the papers of an index that have a value in a field: those to train on, and those that only measure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from corpora.errors import InputError, require
from corpora.paper import is_empty
from corpora.writing import explaining, replacing
from encoders.models.formats import Format
from products.indexed import in_blocks, read_values
from search_plugin.contract.engine import Index
from search_plugin.contract.schema import Field
from search_plugin.words.works import works
from training.data.builders.base import drawn, identity_of
from training.data.guard import make_guard

PAPERS, TEST = "papers.jsonl", "test.jsonl"
"""The files of both kinds of papers, in the folder of the run."""

LABEL = "label"
"""The key of a paper's value in them."""

FEWEST = 10
"""Papers that a label needs."""

_TEST_SHARE, _MOST_TEST = 0.2, 2_000

FieldTask = Literal["label", "labels", "number"]
"""What a field says of a paper: one label, several, or a number."""

_TASKS: Mapping[str, FieldTask] = {"keyword": "label", "keywords": "labels", "number": "number"}
_FORMATS: Mapping[FieldTask, Format] = {"label": Format.CLF, "labels": Format.CLF, "number": Format.RGN}


@dataclass(frozen=True, slots=True)
class FieldPapers:
    """The papers of an index with a value in a field.

    Attributes:
        field: Name of the field.
        task: What its values are.
        format: The format that they train.
        train: Number of papers to train on, validation included.
        test: Number of papers that only measure.
        same: Papers left out, since the index holds their work twice.
        rare: Papers left out, since too few papers have any of their labels.
        evaluated: Papers left out of those to train on, since the suites of the evaluation test on them.
    """

    field: str
    task: FieldTask
    format: Format
    train: int
    test: int
    same: int
    rare: int = 0
    evaluated: int = 0


def field_of(index: Index, name: str, wanted: Format | None) -> tuple[Field, FieldTask, Format]:
    """Return the field of a name, what its values are, and the format that they train.

    Raises `InputError` if there is no such field, a model gave its values, they are neither labels nor numbers, or
    they train another format than the one that is wanted.
    """
    field = index.schema.field(name)
    if field.origin in ("tag", "forecast"):
        raise InputError(
            f"The values of {field.name} come from a model, and a format learns from people or corpora only",
            "name another field by <labels>",
        )
    if field.kind not in _TASKS:
        raise InputError(
            f"The field {field.name} is of the kind {field.kind}, and a format learns from {', '.join(_TASKS)}",
            "name another field by <labels>",
        )
    task = _TASKS[field.kind]
    if wanted not in (None, _FORMATS[task]):
        raise InputError(
            f"The field {field.name} is of the kind {field.kind}, which trains {_FORMATS[task]} vectors, not {wanted}",
            f"give <format={_FORMATS[task]}>, or another field by <labels>",
        )
    return field, task, _FORMATS[task]


def write_papers(index: Index, name: str, wanted: Format | None, folder: Path) -> FieldPapers:
    """Write the papers that have a value in a field, in an order that is drawn, into two files of a folder.

    A fifth of the papers, at most 2,000, only measure. A work that the index holds twice is written once, and papers
    with rare labels alone are left out. Papers that the suites test on are not trained on, so that they can measure the
    new format too. Raises `InputError` as `field_of` does, or if there are too few papers or labels.
    """
    field, task, task_format = field_of(index, name, wanted)
    values = {
        id_: row[field.name] for id_, row in read_values(index, [field.name]) if not is_empty(row.get(field.name))
    }
    same = _second_versions(index, values)
    ids = sorted((id_ for id_ in values if id_ not in same), key=lambda id_: drawn("order", id_))
    share = min(_TEST_SHARE, _MOST_TEST / max(1, len(ids)))
    counts, guard = Counter[str](), make_guard(())
    with ExitStack() as stack:
        stack.enter_context(explaining(folder, "name another folder by <output>"))
        files = {part: stack.enter_context((folder / part).open("w", encoding="utf-8")) for part in (PAPERS, TEST)}
        for block in in_blocks(ids):
            papers = index.papers(block)
            for paper in (papers[id_] for id_ in block if id_ in papers):
                record: dict[str, Any] = {
                    "id": paper.id,
                    "title": paper.title,
                    "abstract": paper.abstract,
                    "identifiers": paper.identifiers,
                    LABEL: values[paper.id],
                }
                part = TEST if drawn("test", identity_of(record)) < share else PAPERS
                if part == PAPERS and guard.reason(record):
                    counts["evaluated"] += 1
                    continue
                files[part].write(json.dumps(record) + "\n")
                counts[part] += 1
    require(
        counts[PAPERS] and counts[TEST],
        f"Only {len(ids):,} papers of the index {index.name} have a value in {field.name}, too few to learn from",
        "name another field by <labels>",
    )
    rare = Counter[str]() if task == "number" else _without_rare(folder)
    written = {part: counts[part] - rare[part] for part in (PAPERS, TEST)}
    require(written[TEST], f"No paper is left to measure by {field.name}", "name another field by <labels>")
    return FieldPapers(
        *(field.name, task, task_format, written[PAPERS], written[TEST], len(same), rare.total(), counts["evaluated"])
    )


def _without_rare(folder: Path) -> Counter[str]:
    """Take the papers without a common label out of the files of a folder; return how many of each file these are."""
    labels = set(common_labels([one[LABEL] for one in read_records(folder / PAPERS)], FEWEST))
    rare = Counter[str]()
    for part in (PAPERS, TEST):
        with replacing(folder / part) as place, place.open("w", encoding="utf-8") as file:
            for one in read_records(folder / part):
                found = [one[LABEL]] if isinstance(one[LABEL], str) else one[LABEL]
                if labels.isdisjoint(found):
                    rare[part] += 1
                else:
                    file.write(json.dumps(one) + "\n")
    return rare


def common_labels(values: Sequence[Any], fewest: int) -> list[str]:
    """Return the labels that enough papers have, in order; `InputError` if there are fewer than two."""
    counts: dict[str, int] = {}
    for value in values:
        for label in {value} if isinstance(value, str) else set(value):
            counts[label] = counts.get(label, 0) + 1
    found = sorted(label for label, count in counts.items() if count >= fewest)
    require(
        len(found) > 1,
        f"{len(found)} labels have {fewest} papers or more, and a format needs two",
        "name another field by <labels>",
    )
    return found


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return the papers of one of the two files."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _second_versions(index: Index, ids: Mapping[str, object]) -> set[str]:
    """Return the papers that are the same work as one before them."""
    papers = [replace(paper, abstract="") for block in in_blocks(ids) for paper in index.papers(block).values()]
    return {id_ for work in works(papers, language=index.schema.language) for id_ in work[1:]}
