"""Data sets made of real papers for the offline suite: labels, numbers and citations, drawn the same everywhere."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corpora.errors import require
from eval.embedder import Text
from eval.files.text import json_objects
from eval.trec.judgments import Qrels

_CITED, _OTHERS = 5, 25
"""Candidates of a query, as SciDocs has them."""


@dataclass(frozen=True, slots=True)
class Numbered:
    """Papers and a number of each, divided by position."""

    train: tuple[Text, ...]
    test: tuple[Text, ...]
    targets: np.ndarray
    """Of the training papers, then of the test papers."""


def read_numbered(path: Path, name: str, *, count: int, log: bool, seed: int = 0) -> Numbered:
    """Draw papers that have a number, a third of them to test on; papers that share an id are then left out.

    Args:
        path: JSON lines, plain or compressed.
        name: The number's key, which may hold it as digits; below 0 it is unknown.
        count: How many to draw.
        log: Whether to take log(1 + number), as SciRepEval does for counts of citations.
        seed: Of the draw.

    Returns:
        The papers.

    Raises:
        InputError: If the file can't be read, or holds no such number.
    """
    rows, seen = list[tuple[dict[str, Any], float]](), Counter[str]()
    for _, row in json_objects(path):
        seen[str(row.get("id"))] += 1
        if (number := _number(row.get(name))) is not None:
            rows.append((row, number))
    # Vectors are stored by id. In some files many papers share an id, such as "cvpr2016:None".
    repeated = {name for name, times in seen.items() if times > 1}
    require(rows, f"No paper of {path} has a number under {name!r}; fetch the data again.")
    drawn = random.Random(seed).sample(rows, min(count, len(rows)))  # noqa: S311 - not for secrets
    cut = len(drawn) - len(drawn) // 3
    train, test = (
        [row for row in part if str(row[0].get("id")) not in repeated] for part in (drawn[:cut], drawn[cut:])
    )
    values = np.array([math.log1p(number) if log else number for _, number in (*train, *test)])
    return Numbered(tuple(_text(row) for row, _ in train), tuple(_text(row) for row, _ in test), values)


def _number(value: object) -> float | None:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return float(value)
    known = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    return float(value) if known else None  # type: ignore[arg-type]


def read_citations(
    path: Path, *, reviews: Collection[str], queries: int = 500, seed: int = 0
) -> tuple[dict[str, Text], Qrels]:
    """Draw papers that cite five others of the file, each with 25 that it does not cite (SciDocs, section 3.2).

    Args:
        path: JSON lines, plain or compressed with `references_in_set`.
        reviews: Names in `dataset`; queries and candidates are papers of these alone.
        queries: How many to draw.
        seed: Of the draw.

    Returns:
        Papers by id, and for each query, cited papers among papers that it does not cite.

    Raises:
        InputError: If the file can't be read.
    """
    draw = random.Random(seed)  # noqa: S311 - not for secrets
    rows = {row["id"]: row for _, row in json_objects(path) if row.get("title") and row.get("dataset") in reviews}
    cited = {
        name: [other for other in row.get("references_in_set") or () if other in rows] for name, row in rows.items()
    }
    able = sorted(name for name, others in cited.items() if len(others) >= _CITED)
    gains: dict[str, dict[str, int]] = {}
    for name in sorted(draw.sample(able, min(queries, len(able)))):
        # From the same review, because the subject alone would separate papers of another.
        near = sorted(
            other for other, row in rows.items() if row.get("dataset") == rows[name].get("dataset") and other != name
        )
        others = [other for other in near if other not in cited[name] and name not in cited[other]]
        if len(others) >= _OTHERS:
            gains[name] = dict.fromkeys(draw.sample(sorted(cited[name]), _CITED), 1)
            gains[name] |= dict.fromkeys(draw.sample(others, _OTHERS), 0)
    used = {*gains, *(other for judged in gains.values() for other in judged)}
    return {name: _text(rows[name]) for name in sorted(used)}, Qrels(gains)


def held_out(path: Path, reviews: Collection[str]) -> set[str]:
    """Return the ids of all papers of some reviews."""
    return {str(row["id"]) for _, row in json_objects(path) if row.get("dataset") in reviews}


def _text(row: dict[str, Any]) -> Text:
    return Text(str(row["id"]), row.get("title") or "", row.get("abstract") or "")
