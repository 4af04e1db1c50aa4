"""What a peer is: a module with `PACKAGES`, `FIELDS`, `load` and `opened`, as the protocol `Peer` says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np

SIZE = 10
WINDOW = 100
CONSTANT = 60
"""Of reciprocal rank fusion: a leg adds 1 / (CONSTANT + rank)."""

# fmt: off
STOP_WORDS = frozenset((
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of",
    "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
))
# fmt: on
"""Those of Lucene's English analyzer."""


class Row(NamedTuple):
    """What a page shows of a paper."""

    id: str
    title: str
    abstract: str
    year: int | None
    venue: str

    @property
    def text(self) -> str:
        """What is searched by words."""
        return f"{self.title} {self.abstract}"


Counts = Mapping[str, Mapping[str | int, int]]
"""Papers by value, of each facet."""

Answer = tuple[Sequence[Row], Counts]

Search = Callable[[str, "np.ndarray", Sequence[str]], Answer]
"""Answers a question: its text, its vector, and the fields to count by."""


class Peer(Protocol):
    """A library that searches papers by words and vectors, in the process.

    Its own libraries are imported at the top of its module, so that their import can be measured.
    """

    PACKAGES: tuple[str, ...]
    """What is installed for it."""

    FIELDS: tuple[str, ...]
    """What it can count all matches by; empty if it has no way to do that."""

    def load(self, folder: Path, papers: Sequence[Row], vectors: np.ndarray) -> None:
        """Write all papers into an empty folder and build all indexes."""

    def opened(self, folder: Path) -> Search:
        """Open what `load` wrote."""


def words(text: str) -> list[str]:
    """Return the lowercase words of a text, without stop words."""
    return [word for word in re.findall(r"\w+", text.lower()) if word not in STOP_WORDS]


def stems(text: str) -> list[str]:
    """Return the stems of the words of a text, for peers without an analyzer."""
    from Stemmer import Stemmer

    return Stemmer("english").stemWords(words(text))


def fused(*legs: Iterable[str]) -> list[str]:
    """Return the first ids by reciprocal rank fusion of some legs."""
    scores: dict[str, float] = {}
    for leg in legs:
        for rank, paper in enumerate(leg, start=1):
            scores[paper] = scores.get(paper, 0.0) + 1 / (CONSTANT + rank)
    return sorted(scores, key=lambda paper: -scores[paper])[:SIZE]
