"""Retrieval through a real engine, or exactly in memory: every query in every mode, measured and timed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence, Set
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import islice
from statistics import median
from typing import Any, get_args

from corpora.errors import InputError, require
from encoders.models.formats import Format, Similarity
from eval.embedder import Embedder, Text
from eval.measures.metrics import MEASURES, Scores, evaluate, parse_measure
from eval.retrieval.beir import JudgedQueries
from eval.trec.runs import Run, ScoredIds, in_order
from products.indexed import in_blocks
from search_plugin.contract.engine import Index, scored_by
from search_plugin.contract.legs import Scored
from search_plugin.contract.trace import Clock
from search_plugin.contract.tree import Not, OneOf
from search_plugin.fusion.fusions import DEFAULT_FUSION, fusion_of
from search_plugin.fusion.search_settings import SearchSettings
from search_plugin.ranking.planning import EncoderSource
from search_plugin.ranking.state import SearchState
from search_plugin.request import DEFAULTS, MAX_QUERY, MAX_WINDOW, Mode, SearchRequest, make_request
from search_plugin.search import ScorerLoader, prepare_search, rank_papers, search

DEPTH = 100
"""Hits per query, unless a measure needs more."""

LOOKED_UP = 1_000
"""Ids asked for at a time."""

TIMED = 50
"""Queries that are timed."""

WARMING = 3
"""Warm-up searches that are not timed, because the first ones open files."""

Seen = Mapping[str, Set[str]]
"""By query, documents that are removed from the collection (`eval.trec.judgments`)."""


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
        measures: Names of measures, as `eval.measures.metrics.parse_measure` takes them.
        drop_same_id: Whether to leave out results that are the query itself.
        seen: Documents to remove from the collection, by query.
        depth: Hits per query and per leg.
        tuned: Fitted settings to search with, the constants of BM25 among them.
        options: Other options of the searches, as `search_plugin.request.make_request` takes them.
    """

    modes: Sequence[Mode] = get_args(Mode)
    fusions: Sequence[str] = (DEFAULT_FUSION,)
    measures: Sequence[str] = MEASURES
    drop_same_id: bool = False
    seen: Seen = field(default_factory=dict)
    depth: int = DEPTH
    tuned: SearchSettings | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def systems(self) -> dict[str, tuple[Mode, str]]:
        """Mode and fusion of each row by its label: `vector`, `hybrid`, or with several fusions `hybrid-rrf`."""
        several, usual = len(self.fusions) > 1, self.tuned.name if self.tuned else DEFAULT_FUSION
        return {
            f"{mode}-{fusion}" if mode == "hybrid" and several else mode: (mode, fusion)
            for mode in self.modes
            for fusion in (self.fusions if mode == "hybrid" else (usual,))
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
    options: Mapping[str, Any] | None = None,
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
        measures=tuple(map(str, parsed)),
        drop_same_id=drop_same_id,
        seen=seen or {},
        depth=hits,
        tuned=tuned,
        options=options or {},
    )


def evaluate_queries(
    judged: JudgedQueries,
    index: Index,
    encoder: EncoderSource | None,
    protocol: Protocol,
    scorers: ScorerLoader | None = None,
) -> dict[str, Retrieval]:
    """Run judged queries against an index, and measure the runs; arguments and errors as of `run_queries`."""
    runs = run_queries(judged.texts, index, encoder, protocol, scorers)
    return {label: scored(run, judged, protocol) for label, run in runs.items()}


def run_queries(
    texts: Mapping[str, str],
    index: Index,
    encoder: EncoderSource | None,
    protocol: Protocol,
    scorers: ScorerLoader | None = None,
) -> dict[str, Run]:
    """Search queries in every mode and by every fusion, as users search; all share the legs, which are searched once.

    The queries are texts by id; the encoder is the model that made the index, None where only words are searched;
    `scorers` loads the model that ranks again, if the protocol names one.
    Returns a run `ses-LABEL` by label: the mode, or for several fusions mode and fusion (`hybrid-rrf`). Raises
    `InputError` if a fusion is unknown, or the model is not the index's.
    """
    for name in protocol.fusions:
        fusion_of(name)
    rankings: dict[str, dict[str, ScoredIds]] = {label: {} for label in protocol.systems}
    with scored_by(index, protocol.tuned.bm25) if protocol.tuned else nullcontext():
        for query, text in texts.items():
            pinned = index.pinned()
            requests = {mode: request_of(query, text, mode, pinned, protocol) for mode in protocol.modes}
            states = {
                mode: prepare_search(pinned, request, encoder, Clock(), scorers) for mode, request in requests.items()
            }
            legs: dict[str, Sequence[Scored]] = {}
            # The legs of a hybrid search are those of the other modes too.
            for state in sorted(states.values(), key=lambda one: len(one.plan.legs), reverse=True):
                if not legs.keys() >= set(state.plan.legs):
                    legs |= pinned.search(state.plan)
            for label, (mode, fusion) in protocol.systems.items():
                state = states[mode]
                own = {leg: legs[leg] for leg in state.plan.legs}
                state = replace(state, request=replace(state.request, fusion=fusion), legs=own)
                rankings[label][query] = first_of(rank_papers(state, Clock()), protocol.depth)
    return {label: Run(f"ses-{label}", found) for label, found in rankings.items()}


def request_of(query: str, text: str, mode: Mode, index: Index, protocol: Protocol, **given: Any) -> SearchRequest:
    """Return the request of a judged query: that of a user who types its text, with the options of the protocol.

    A text longer than the longest allowed query is cut. `given` are further options of the search.
    """
    gone = protocol.seen.get(query, ())
    options: dict[str, Any] = {"window": protocol.depth, "size": protocol.depth, **protocol.options, **given}
    if mode != "hybrid":  # other searches have but one leg
        options.pop("weights", None)
    request = make_request(
        text[:MAX_QUERY],
        tuned=protocol.tuned,
        fields=index.schema.fields,
        language=index.schema.language,
        mode=mode,
        filter=Not(OneOf("id", tuple(sorted(gone)))) if gone else None,
        **options,
    )
    return request if request.searched else replace(request, rerank="")  # papers are listed, and not ranked


def first_of(state: SearchState, depth: int) -> ScoredIds:
    """Return the first papers of a search, with scores that keep their order."""
    return in_order([(hit.id, hit.score) for hit in state.shown[:depth]])


def evaluate_exact(
    judged: JudgedQueries, papers: Sequence[Text], embed: Embedder, similarity: Similarity, protocol: Protocol
) -> Retrieval:
    """Rank all papers for every query by their vectors, without an engine; return the run `ses-exact` and its scores.

    `embed` makes the vectors of papers (PRX) and queries (QRY), which are compared by `similarity`. Only the
    measures of the protocol are used, and the documents that it removes.
    """
    from eval.retrieval.exact import exact_rankings

    documents = embed(papers, Format.PRX)
    queries = embed([Text(query, text[:MAX_QUERY]) for query, text in judged.texts.items()], Format.QRY)
    deepest = protocol.depth + max((len(gone) for gone in protocol.seen.values()), default=0)
    found = dict(exact_rankings(documents, queries, similarity, deepest))
    rankings: dict[str, ScoredIds] = {}
    for query in judged.texts:
        gone = protocol.seen.get(query, frozenset())
        kept = ((hit.id, hit.score) for hit in found.get(query, ()) if hit.id not in gone)
        rankings[query] = in_order(list(islice(kept, protocol.depth)))
    return scored(Run("ses-exact", rankings), judged, protocol)


def scored(run: Run, judged: JudgedQueries, protocol: Protocol) -> Retrieval:
    """Measure a run of judged queries; errors as of `evaluate`."""
    scores = evaluate(run, judged.qrels, protocol.measures, drop_same_id=protocol.drop_same_id)
    shortened = sum(len(text) > MAX_QUERY for text in judged.texts.values())
    return Retrieval(run, scores, len(judged.without_text), shortened)


def seconds_a_query(
    texts: Mapping[str, str],
    index: Index,
    encoder: EncoderSource,
    protocol: Protocol,
    scorers: ScorerLoader | None = None,
) -> dict[str, float]:
    """Return the median seconds of a page of ten for some of the queries, by the labels of `Protocol.systems`.

    The encoder is of the model that made the index, without a cache, because a cached vector takes no time.
    """
    page: dict[str, Any] = {"size": min(protocol.depth, DEFAULTS["size"])}
    taken: dict[str, float] = {}
    for label, (mode, fusion) in protocol.systems.items():
        requests = [
            request_of(query, text, mode, index, protocol, fusion=fusion, **page)
            for query, text in islice(texts.items(), TIMED)
        ]
        for request in requests[:WARMING]:
            search(index, request, encoder, scorers)
        taken[label] = median(_timed(index, request, encoder, scorers) for request in requests)
    return taken


def absent_from(index: Index, judged: JudgedQueries) -> int:
    """Return the number of judged documents that an index lacks; no search can find them."""
    documents = judged.qrels.documents
    return len(documents) - sum(len(index.hashes(some)) for some in in_blocks(documents, LOOKED_UP))


def _timed(index: Index, request: SearchRequest, encoder: EncoderSource, scorers: ScorerLoader | None) -> float:
    begun = time.perf_counter()
    search(index, request, encoder, scorers)
    return time.perf_counter() - begun
