"""What a search gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from corpora.paper import Paper
from search_plugin.legs import Contribution

if TYPE_CHECKING:
    from search_plugin.highlights import Snippet


@dataclass(frozen=True, slots=True)
class Facets:
    """Counts by field over all matches.

    Attributes:
        matches: How many papers were counted.
        counted: What they are, in words.
        counts: By field, the most frequent values with their counts; equal counts by value.
    """

    matches: int
    counted: str
    counts: Mapping[str, tuple[tuple[str | int, int], ...]]


@dataclass(frozen=True, slots=True)
class Hit:
    """One paper found.

    Attributes:
        rank: From 1, over all pages.
        paper: The paper as indexed.
        score: Fused score; comparable within one search only.
        legs: Each leg's rank, raw score and contribution; legs that did not find it are absent.
        snippets: Where the query's words stand.
        collapsed: Candidates not shown because they share this one's value of the field collapsed by.
    """

    rank: int
    paper: Paper
    score: float
    legs: Mapping[str, Contribution]
    snippets: tuple[Snippet, ...]
    collapsed: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """One page of hits.

    Attributes:
        index: Name of the index searched.
        query: As it was searched.
        mode: By words, by meaning or both.
        fusion: How the legs were joined.
        joined_by: Who joined them: `ses` or `engine`.
        hits: The page.
        candidates: Papers that any leg brought: what can be paged through.
        window: How many each leg could bring.
        found: How many each leg did bring.
        facets: Counts, where asked for.
        milliseconds: Time spent, by step: encoding the query, and each stage.
        requests: What was asked of a cluster and what for, by step.
        rerank: The reranker that put the papers into another order; empty for none.
    """

    index: str
    query: str
    mode: str
    fusion: str
    joined_by: str
    hits: tuple[Hit, ...]
    candidates: int
    window: int
    found: Mapping[str, int]
    facets: Facets | None
    milliseconds: Mapping[str, float]
    requests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rerank: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the page as plain values, ready for JSON."""
        return asdict(self)
