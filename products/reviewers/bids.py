"""Bids: how much reviewers want to review submissions, added to their scores."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from pathlib import Path

from corpora.errors import InputError
from corpora.lazy import np
from products.reviewers.spool import ROWS, Spool
from products.reviewers.venue import ReviewPair, read_pairs

Bids = Mapping[ReviewPair, float]
"""Bids from -1 to 1 by the ids of a submission and a reviewer; nothing is said of other pairs."""

_OPENREVIEW = {"very high": 1.0, "high": 0.5, "neutral": 0.0, "low": -0.5, "very low": -1.0}
_CMT = {"eager": 1.0, "willing": 0.5, "in a pinch": 0.0, "not willing": -1.0}
_EASYCHAIR = {"yes": 1.0, "maybe": 0.5, "no": -1.0}

WORDS: Mapping[str, float] = _OPENREVIEW | _CMT | _EASYCHAIR
"""The value of each word for a bid."""


def read_bids(path: Path, papers: Collection[str], reviewers: Collection[str]) -> Bids:
    """Read bids from CSV with the columns paper, reviewer and bid: a word of `WORDS`, or a number from -1 to 1.

    Empty cells are no bids. Raises `InputError` if a column is missing, there is no such paper or reviewer, a bid can't
    be read, or a pair has two.
    """
    bids: dict[ReviewPair, float] = {}
    for line, pair, cells in read_pairs(path, papers, reviewers, ("bid",)):
        if not (text := cells["bid"].strip()):
            continue
        bid = _value(text)
        if bid is None:
            raise InputError(
                f"{path}, line {line}: {text[:40]!r} is no bid",
                f"write a number from -1 to 1, or one of {', '.join(WORDS)}",
            )
        if bids.setdefault(pair, bid) != bid:
            raise InputError(f"{path}, line {line}: {pair[1]} has another bid for {pair[0]} already; keep one of them.")
    return bids


def _value(text: str) -> float | None:
    word = " ".join(text.lower().replace("_", " ").split())
    try:
        value = WORDS[word] if word in WORDS else float(word)
    except ValueError:
        return None
    return value if -1 <= value <= 1 else None


def add_bids(scores: Spool, rows: Mapping[str, int], columns: Mapping[str, int], bids: Bids, weight: float) -> Spool:
    """Return scores with each bid added, times the weight and the standard deviation of all scores, in a new file.

    So a bid changes a score as much whatever the factors are. Minus infinity, a conflict, stays.

    Args:
        scores: Scores, (submissions, reviewers).
        rows: Row of each submission by its id.
        columns: Column of each reviewer by their id.
        bids: The bids.
        weight: Weight of a bid of 1.

    Returns:
        The scores with bids.
    """
    count, total, squares = 0, 0.0, 0.0
    for _, block in scores.blocks():
        held = block[np.isfinite(block)].astype(np.float64)
        count, total, squares = count + held.size, total + held.sum(), squares + np.square(held).sum()
    spread = math.sqrt(max(squares / count - (total / count) ** 2, 0.0)) if count else 0.0
    by_row: dict[int, dict[int, float]] = {}
    for (paper, reviewer), bid in bids.items():
        if paper in rows and reviewer in columns:
            by_row.setdefault(rows[paper], {})[columns[reviewer]] = bid
    made = Spool(scores.path.with_suffix(".bids"), scores.width)
    for start, block in scores.blocks(ROWS):
        for row in range(start, start + len(block)):
            if row in by_row:
                block[row - start, [*by_row[row]]] += np.float32(weight * spread) * np.array([*by_row[row].values()])
        made.append(block)
    return made
