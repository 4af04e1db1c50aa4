"""The state that the stages of a search pass on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from corpora.paper import Paper
from search_plugin.contract.engine import Index
from search_plugin.contract.legs import Facets, Fused, Join, Scored
from search_plugin.contract.plan import Plan
from search_plugin.contract.schema import SPARSE
from search_plugin.fusion.fusions import Legs, fusion_of, with_defaults
from search_plugin.pages.hit import Hit, Version
from search_plugin.request import SearchRequest
from search_plugin.understanding.meaning import Meaning

if TYPE_CHECKING:
    from encoders.rerankers.scorer import PairScorer


@dataclass(frozen=True, slots=True)
class SearchState:
    """A search between two stages; each stage returns a new one, or the same where it has nothing to do.

    Attributes:
        index: The index that is searched.
        request: The request of the user.
        plan: The query for the engine.
        legs: Hits of each leg; empty before they run, and if the engine joined them.
        joined_by: Who joined the legs.
        values: Value of the field to collapse by, by id.
        ranking: All papers found, best first.
        shown: The papers that can be paged through.
        before: Papers that the user read before those shown.
        total: How many papers a listing has; None for a search with words.
        matches: How many papers match by words, by name or by the condition that the query is; None if not known.
        by_words: The same before the engine counts; None if it has to.
        near: Ids of papers that are only near in meaning.
        named: Ids of papers that the query names, and that hold no word of it.
        hidden: Number of papers, by id, that are not shown because they share this one's value, or are the same work.
        versions: The other versions, by the id of the work's paper that is shown.
        papers: The papers read so far, by id; a stage adds those that it reads, so that none is read twice.
        hits: The page.
        held: Terms of the query (in all its spellings) that each paper of the page holds, by id.
        facets: Counts, if the request asks for some.
        notes: Sentences for the user, which the page shows; a stage adds its own.
        meaning: What the query means, as far as it is known before papers are ranked.
        scorer: The model that ranks the best papers again, if the request names one.
    """

    index: Index
    request: SearchRequest
    plan: Plan
    legs: Mapping[str, Sequence[Scored]] = field(default_factory=dict)
    joined_by: Join = "ses"
    values: Mapping[str, object] = field(default_factory=dict)
    ranking: Sequence[Fused] = ()
    shown: Sequence[Fused] = ()
    before: int = 0
    total: int | None = None
    matches: int | None = None
    by_words: int | None = None
    near: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    hidden: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, tuple[Version, ...]] = field(default_factory=dict)
    papers: Mapping[str, Paper] = field(default_factory=dict)
    hits: tuple[Hit, ...] = ()
    held: Mapping[str, frozenset[str]] = field(default_factory=dict)
    facets: Facets | None = None
    notes: tuple[str, ...] = ()
    meaning: Meaning = field(default_factory=lambda: Meaning(""))
    scorer: PairScorer | None = None

    @property
    def weights(self) -> Mapping[str, float]:
        """The weights of the legs: those of the request. Vector legs that it does not name share a weight of 1."""
        given = {leg: weight for leg, weight in self.request.weights.items() if weight or leg != SPARSE}
        return with_defaults(self.plan.vectors, given)

    def joined(self, legs: Legs) -> list[Fused]:
        """Return the papers of some legs, joined by the fusion of the request and the weights of this search."""
        return fusion_of(self.request.fusion)(legs, self.weights)

    @property
    def topic(self) -> str:
        """The words that rank: the query without what it names beside its topic."""
        return self.meaning.topic or self.request.searched
