"""Retrieval through a real engine, or exactly in memory: every query in every mode, measured and timed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import islice
from statistics import median
from typing import Any, get_args

from corpora.errors import InputError, require
from encoders.models.formats import Format, Similarity
from encoders.text_encoder import TextEncoder
from eval.embedder import Embedder, Text
from eval.measures.metrics import MEASURES, Scores, evaluate, parse_measure
from eval.retrieval.beir import JudgedQueries
from eval.retrieval.exact import exact_rankings
from eval.trec.runs import Run
from products.indexed import in_blocks
from search_plugin.contract.engine import Index
from search_plugin.contract.legs import Fused, Scored
from search_plugin.contract.plan import LEXICAL, TITLE_BOOST
from search_plugin.contract.schema import Bm25
from search_plugin.fusion.fusions import DEFAULT_FUSION, Legs, fusion_of, with_defaults
from search_plugin.fusion.search_settings import SearchSettings
from search_plugin.ranking.neighbours import smoothed
from search_plugin.ranking.planning import EncoderSource, make_plan
from search_plugin.request import DEFAULTS, MAX_QUERY, MAX_WINDOW, Mode, SearchRequest
from search_plugin.search import search

DEPTH = 100
"""Hits per query, unless a measure needs more."""

LOOKED_UP = 1_000
"""Ids asked for at a time."""

TIMED = 50
"""Queries that are timed."""

WARMING = 3
"""Warm-up searches that are not timed, because the first ones open files."""

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
        weights: Weights of the legs, in all fusions.
        measures: Names of measures, as `eval.measures.metrics.parse_measure` takes them.
        drop_same_id: Whether to leave out results that are the query itself.
        seen: Documents to remove from the collection, by query.
        depth: Hits per query and per leg.
        title_boost: Weight of titles, as `SearchRequest` takes it.
        bm25: Constants of BM25 to search with; those of the index if None.
        neighbours: How much the hybrid mode ranks by neighbours, as `SearchRequest` takes it.
    """

    modes: Sequence[Mode] = get_args(Mode)
    fusions: Sequence[str] = (DEFAULT_FUSION,)
    weights: Mapping[str, float] = field(default_factory=dict)
    measures: Sequence[str] = MEASURES
    drop_same_id: bool = False
    seen: Seen = field(default_factory=dict)
    depth: int = DEPTH
    title_boost: float = TITLE_BOOST
    bm25: Bm25 | None = None
    neighbours: float = DEFAULTS["neighbours"]

    @property
    def systems(self) -> dict[str, tuple[Mode, str]]:
        """Mode and fusion of each row by its label: `vector`, `hybrid`, or with several fusions `hybrid-rrf`."""
        several = len(self.fusions) > 1
        return {
            f"{mode}-{fusion}" if mode == "hybrid" and several else mode: (mode, fusion)
            for mode in self.modes
            for fusion in (self.fusions if mode == "hybrid" else (DEFAULT_FUSION,))
        }


def make_protocol(
    *,
    modes: Sequence[Mode] = (),
    fusions: Sequence[str] = (),
    measures: Sequence[str] = (),
    depth: int | None = None,
    drop_same_id: bool = False,
    seen: Seen | None = None,
    tuned: SearchSettings | None = None,
) -> Protocol:
    """Return how queries are run and measured, with the defaults of what is not named.

    Raises `InputError` if a fusion or a measure is unknown, or a measure needs more hits than the depth. Without a
    depth, 100 hits are taken, or as many as a measure looks at. Fitted settings take the place of fusions.
    """
    if tuned and fusions:
        raise InputError("Tuned settings name the fusion already", "leave <fusion> out")
    parsed = [parse_measure(measure) for measure in measures or MEASURES]
    deepest = max(measure.cutoff for measure in parsed)
    hits = max(DEPTH, min(deepest, MAX_WINDOW)) if depth is None else depth
    require(
        1 <= hits <= MAX_WINDOW, f"{hits:,} hits of a query can't be taken", f"give <depth> from 1 to {MAX_WINDOW:,}"
    )
    require(
        hits >= deepest,
        f"A measure at {deepest:,} needs more than the {hits:,} hits of a query",
        f"give a <depth> of as many (up to {MAX_WINDOW:,}), or a smaller cut-off",
    )
    names = (tuned.name,) if tuned else tuple(dict.fromkeys(fusions)) or (DEFAULT_FUSION,)
    for name in names:
        fusion_of(name)
    return Protocol(
        modes=tuple(dict.fromkeys(modes)) or get_args(Mode),
        fusions=names,
        weights=tuned.weights if tuned else {},
        measures=tuple(map(str, parsed)),
        drop_same_id=drop_same_id,
        seen=seen or {},
        depth=hits,
        title_boost=tuned.title_boost if tuned else TITLE_BOOST,
        bm25=tuned.bm25 if tuned else None,
    )


def evaluate_queries(
    judged: JudgedQueries, index: Index, encoder: EncoderSource | None, protocol: Protocol
) -> dict[str, Retrieval]:
    """Run judged queries against an index, and measure the runs; arguments and errors as of `run_queries`."""
    runs = run_queries(judged.texts, index, encoder, protocol)
    return {label: scored(run, judged, protocol) for label, run in runs.items()}


def run_queries(
    texts: Mapping[str, str], index: Index, encoder: EncoderSource | None, protocol: Protocol
) -> dict[str, Run]:
    """Search queries in every mode and by every fusion; each leg is searched once and shared by all.

    The queries are texts by id; the encoder is the model that made the index, None where only words are searched.
    Returns a run `ses-LABEL` by label: the mode, or for several fusions mode and fusion (`hybrid-rrf`). Raises
    `InputError` if a fusion is unknown, or the model is not the index's.
    """
    for name in protocol.fusions:
        fusion_of(name)
    wanted = protocol.modes[0] if len(set(protocol.modes)) == 1 else "hybrid"
    options: dict[str, Any] = {"seen": protocol.seen, "title_boost": protocol.title_boost}
    with index.scored_by(protocol.bm25) if protocol.bm25 else nullcontext():
        legs = collect_legs(texts, index, encoder, wanted, depth=protocol.depth, **options)
    runs: dict[str, Run] = {}
    for label, (mode, fusion) in protocol.systems.items():
        rankings = {query: _joined(found, index, mode, fusion, protocol) for query, found in legs.items()}
        runs[label] = _run(label, rankings, protocol)
    return runs


def _joined(found: Legs, index: Index, mode: Mode, fusion: str, protocol: Protocol) -> Sequence[Scored | Fused]:
    """Return the papers of a query in a mode, from those of all its legs."""
    vectors = [leg for leg in found if leg != LEXICAL]
    if mode == "hybrid":
        fused = fusion_of(fusion)(found, with_defaults(vectors, protocol.weights))
        return smoothed(fused, index, protocol.neighbours, fusion)
    asked = [LEXICAL] if mode == "lexical" else vectors
    if len(asked) > 1:
        return fusion_of(fusion)({leg: found[leg] for leg in asked}, {})
    return found.get(asked[0], ()) if asked else ()


def collect_legs(
    texts: Mapping[str, str],
    index: Index,
    encoder: EncoderSource | None,
    mode: Mode = "hybrid",
    *,
    depth: int = DEPTH,
    seen: Seen | None = None,
    title_boost: float = TITLE_BOOST,
) -> dict[str, Legs]:
    """Search the legs of every query once, so that any number of fusions can be tried on them; return them by query.

    Queries are texts by id; those longer than the longest allowed query are cut. `depth` is the number of hits per leg,
    `seen` are documents to remove, as if they weren't in the collection, and `title_boost` is as `SearchRequest` takes
    it.
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
    """Rank all papers for every query by their vectors, without an engine; return the run `ses-exact` and its scores.

    `embed` makes the vectors of papers (PRX) and queries (QRY), which are compared by `similarity`. Only the
    measures of the protocol are used, and the documents that it removes.
    """
    documents = embed(papers, Format.PRX)
    queries = embed([Text(query, text[:MAX_QUERY]) for query, text in judged.texts.items()], Format.QRY)
    deepest = protocol.depth + max((len(gone) for gone in protocol.seen.values()), default=0)
    found = dict(exact_rankings(documents, queries, similarity, deepest))
    rankings = {
        query: _first(found.get(query, ()), protocol.seen.get(query, frozenset()), protocol.depth)
        for query in judged.texts
    }
    return scored(_run("exact", rankings, protocol), judged, protocol)


def scored(run: Run, judged: JudgedQueries, protocol: Protocol) -> Retrieval:
    """Measure a run of judged queries; errors as of `evaluate`."""
    scores = evaluate(run, judged.qrels, protocol.measures, drop_same_id=protocol.drop_same_id)
    shortened = sum(len(text) > MAX_QUERY for text in judged.texts.values())
    return Retrieval(run, scores, len(judged.without_text), shortened)


def seconds_a_query(
    texts: Mapping[str, str], index: Index, encoder: TextEncoder, protocol: Protocol
) -> dict[str, float]:
    """Return the median seconds of a page of ten for some of the queries, by the labels of `Protocol.systems`.

    The encoder is of the model that made the index, without a cache, because a cached vector takes no time.
    """
    base = SearchRequest(
        "words",
        window=max(protocol.depth, 10),
        title_boost=protocol.title_boost,
        neighbours=protocol.neighbours,
    )
    asked = [text[:MAX_QUERY] for text in islice(texts.values(), TIMED)]
    taken: dict[str, float] = {}
    for label, (mode, fusion) in protocol.systems.items():
        joined: dict[str, Any] = {"fusion": fusion, "weights": protocol.weights} if mode == "hybrid" else {}
        request = replace(base, mode=mode, **joined)
        for text in asked[:WARMING]:
            search(index, replace(request, query=text), encoder)
        taken[label] = median(_timed(index, replace(request, query=text), encoder) for text in asked)
    return taken


def absent_from(index: Index, judged: JudgedQueries) -> int:
    """Return the number of judged documents that an index lacks; no search can find them."""
    documents = judged.qrels.documents
    return len(documents) - sum(len(index.hashes(some)) for some in in_blocks(documents, LOOKED_UP))


def _first(hits: Iterable[Scored], gone: Set[str], depth: int) -> list[Scored]:
    return list(islice((hit for hit in hits if hit.id not in gone), depth))


def _run(label: str, rankings: Mapping[str, Sequence[Scored | Fused]], protocol: Protocol) -> Run:
    """Return rankings, cut at the protocol's depth, as a run."""
    shown = {query: [(hit.id, hit.score) for hit in hits[: protocol.depth]] for query, hits in rankings.items()}
    return Run(f"ses-{label}", shown)


def _timed(index: Index, request: SearchRequest, encoder: TextEncoder) -> float:
    begun = time.perf_counter()
    search(index, request, encoder)
    return time.perf_counter() - begun
