"""The state that the stages of a search pass on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from search_plugin.understanding.known import Known

if TYPE_CHECKING:
    from corpora.paper import Paper
    from search_plugin.contract.engine import Index
    from search_plugin.contract.legs import Facets, Fused, Join, Scored
    from search_plugin.contract.plan import Plan
    from search_plugin.pages.page import Hit
    from search_plugin.request import SearchRequest


@dataclass(frozen=True, slots=True)
class SearchState:
    """A search between two stages; each stage returns a new one, or the same where it has nothing to do.

    Attributes:
        index: That is searched.
        request: What the user asks.
        plan: What the engine is asked.
        legs: Hits of each leg; empty if the engine joined them.
        joined_by: Who joined the legs.
        values: By id, those of the field to collapse by.
        ranking: All papers found, best first.
        shown: Those that can be paged through.
        total: How many papers a listing has; None for a search with words.
        hidden: By id, how many papers are not shown because they share this one's value.
        papers: Those read so far, by id; a stage that reads some leaves them here, so that none is read twice.
        hits: The page.
        held: By id, which terms of the query, those of other spellings among them, each paper of the page holds.
        facets: Counts, where asked for.
        notes: Sentences for the user, which the page shows; a stage adds its own.
        known: What is known of the query before it is ranked.
    """

    index: Index
    request: SearchRequest
    plan: Plan
    legs: Mapping[str, Sequence[Scored]] = field(default_factory=dict)
    joined_by: Join = "ses"
    values: Mapping[str, object] = field(default_factory=dict)
    ranking: Sequence[Fused] = ()
    shown: Sequence[Fused] = ()
    total: int | None = None
    hidden: Mapping[str, int] = field(default_factory=dict)
    papers: Mapping[str, Paper] = field(default_factory=dict)
    hits: tuple[Hit, ...] = ()
    held: Mapping[str, frozenset[str]] = field(default_factory=dict)
    facets: Facets | None = None
    notes: tuple[str, ...] = ()
    known: Known = field(default_factory=lambda: Known(""))

    @property
    def topic(self) -> str:
        """The words that rank: the query without what it names beside its topic."""
        return self.known.topic or self.request.searched
