"""Retrieval through a real engine, or exactly in memory: every query in every mode, scored by trec_eval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import islice
from typing import get_args

from encoders.models.formats import Format, Similarity
from encoders.text_encoder import TextEncoder
from eval.embedder import Embedder, Text
from eval.measures.metrics import Scores, evaluate
from eval.retrieval.beir import JudgedQueries
from eval.retrieval.exact import exact_rankings
from eval.trec.runs import Run
from products.indexed import in_blocks
from search_plugin.contract.engine import Index
from search_plugin.contract.legs import Fused, Scored
from search_plugin.contract.plan import LEXICAL, TITLE_BOOST
from search_plugin.fusion.fusions import DEFAULT_FUSION, Legs, fusion_of
from search_plugin.ranking.planning import SEARCHED, make_plan
from search_plugin.request import MAX_QUERY, MAX_WINDOW, Mode, SearchRequest

MEASURES = ("nDCG@10", "MAP", "Recall@100", "MRR@10")
DEPTH = 100
"""Hits per query, unless a measure needs more."""

LOOKED_UP = 1_000
"""Ids asked for at a time."""

Seen = Mapping[str, Set[str]]
"""By query, documents that are removed from the collection (`eval.trec.residual`)."""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The outcome of one mode.

    Attributes:
        run: The results.
        scores: Their measures.
        without_text: Judged queries that have no text, which count 0.
        shortened: Queries that were cut because they are too long.
    """

    run: Run
    scores: Scores
    without_text: int
    shortened: int


@dataclass(frozen=True, slots=True)
class Protocol:
    """How queries are run and measured.

    Attributes:
        modes: Search modes to compare.
        fusions: Fusions of the hybrid mode, named as `search_plugin.fusion.fusions.fusion_of` takes them; each gets a
            row.
        weights: Of the legs, in all fusions.
        measures: As `eval.measures.metrics.parse_measure` takes them.
        drop_same_id: As `eval.measures.metrics.evaluate` takes it.
        seen: Documents to remove from the collection, by query.
        depth: Hits per query and per leg.
        title_boost: As `SearchRequest` takes it.
    """

    modes: Sequence[Mode] = get_args(Mode)
    fusions: Sequence[str] = (DEFAULT_FUSION,)
    weights: Mapping[str, float] = field(default_factory=dict)
    measures: Sequence[str] = MEASURES
    drop_same_id: bool = False
    seen: Seen = field(default_factory=dict)
    depth: int = DEPTH
    title_boost: float = TITLE_BOOST

    @property
    def systems(self) -> dict[str, tuple[Mode, str]]:
        """Mode and fusion of each row by its label: `vector`, `hybrid`, or with several fusions `hybrid-rrf`."""
        several = len(self.fusions) > 1
        return {
            f"{mode}-{fusion}" if mode == "hybrid" and several else mode: (mode, fusion)
            for mode in self.modes
            for fusion in (self.fusions if mode == "hybrid" else (DEFAULT_FUSION,))
        }


def evaluate_queries(
    judged: JudgedQueries, index: Index, encoder: TextEncoder, protocol: Protocol
) -> dict[str, Retrieval]:
    """Run judged queries against an index; each leg is searched once and shared by all modes and fusions.

    Args:
        judged: Texts and judgments.
        index: Holds the corpus.
        encoder: Of the model that made the index.
        protocol: What to compare and how.

    Returns:
        By mode, and for several fusions by mode and fusion (`hybrid-rrf`), the run and its scores.

    Raises:
        InputError: If a fusion or measure is unknown, or the model is not the index's.
    """
    for name in protocol.fusions:
        fusion_of(name)
    wanted = protocol.modes[0] if len(set(protocol.modes)) == 1 else "hybrid"
    legs = collect_legs(
        judged.texts,
        index,
        encoder,
        wanted,
        depth=protocol.depth,
        seen=protocol.seen,
        title_boost=protocol.title_boost,
    )
    outcome: dict[str, Retrieval] = {}
    for label, (mode, fusion) in protocol.systems.items():
        fuse, leg = fusion_of(fusion), LEXICAL if mode == "lexical" else SEARCHED
        rankings = {
            query: fuse(found, protocol.weights) if mode == "hybrid" else found.get(leg, ())
            for query, found in legs.items()
        }
        outcome[label] = scored(label, rankings, judged, protocol)
    return outcome


def collect_legs(
    texts: Mapping[str, str],
    index: Index,
    encoder: TextEncoder | None,
    mode: Mode = "hybrid",
    *,
    depth: int = DEPTH,
    seen: Seen | None = None,
    title_boost: float = TITLE_BOOST,
) -> dict[str, Legs]:
    """Search the legs of every query once, so that any number of fusions can be tried on them.

    Args:
        texts: By query id; texts longer than the longest allowed query are cut.
        index: To search.
        encoder: Of the model that made the index; not needed for the lexical mode.
        mode: Mode whose legs are searched.
        depth: Hits per leg.
        seen: Documents to remove, as if they weren't in the collection.
        title_boost: As `SearchRequest` takes it.

    Returns:
        By query, the hits of each leg.
    """
    legs: dict[str, Legs] = {}
    for query, text in texts.items():
        gone = (seen or {}).get(query, frozenset())
        window = min(depth + len(gone), MAX_WINDOW)
        request = SearchRequest(text[:MAX_QUERY], mode, size=1, window=window, title_boost=title_boost)
        found = index.search(make_plan(index, request, encoder))
        legs[query] = {leg: _first(hits, gone, depth) for leg, hits in found.items()}
    return legs


def evaluate_exact(
    judged: JudgedQueries,
    papers: Sequence[Text],
    embed: Embedder,
    similarity: Similarity,
    protocol: Protocol,
) -> Retrieval:
    """Rank all papers for every query by their vectors, without an engine.

    Args:
        judged: Texts and judgments.
        papers: The corpus.
        embed: Makes the vectors of papers (PRX) and queries (QRY).
        similarity: How they are compared.
        protocol: Its measures and the documents it removes; the tag of the run is `ses-exact`.

    Returns:
        The run and its scores.
    """
    documents = embed(papers, Format.PRX)
    queries = embed([Text(query, text[:MAX_QUERY]) for query, text in judged.texts.items()], Format.QRY)
    deepest = protocol.depth + max((len(gone) for gone in protocol.seen.values()), default=0)
    found = dict(exact_rankings(documents, queries, similarity, deepest))
    rankings = {
        query: _first(found.get(query, ()), protocol.seen.get(query, frozenset()), protocol.depth)
        for query in judged.texts
    }
    return scored("exact", rankings, judged, protocol)


def scored(
    label: str, rankings: Mapping[str, Sequence[Scored | Fused]], judged: JudgedQueries, protocol: Protocol
) -> Retrieval:
    """Make a run `ses-LABEL` of rankings, cut at the protocol's depth, and measure it; errors as of `evaluate`."""
    shown = {query: [(hit.id, hit.score) for hit in hits[: protocol.depth]] for query, hits in rankings.items()}
    run = Run(f"ses-{label}", shown)
    scores = evaluate(run, judged.qrels, protocol.measures, drop_same_id=protocol.drop_same_id)
    shortened = sum(len(text) > MAX_QUERY for text in judged.texts.values())
    return Retrieval(run, scores, len(judged.without_text), shortened)


def absent_from(index: Index, judged: JudgedQueries) -> int:
    """Return the number of judged documents that an index lacks; no search can find them."""
    documents = judged.qrels.documents
    return len(documents) - sum(len(index.hashes(some)) for some in in_blocks(documents, LOOKED_UP))


def _first(hits: Iterable[Scored], gone: Set[str], depth: int) -> list[Scored]:
    return list(islice((hit for hit in hits if hit.id not in gone), depth))
