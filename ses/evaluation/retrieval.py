"""Judged queries searched in an index, or ranked exactly in memory, and measured."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError, require
from eval.embedder import by_encoder
from eval.files.text import require_column
from eval.reports.report import gather_provenance
from eval.reports.results import Results
from eval.retrieval.beir import JudgedQueries, join
from eval.retrieval.protocol import (
    Protocol,
    Retrieval,
    absent_from,
    evaluate_exact,
    evaluate_queries,
    make_protocol,
    seconds_a_query,
)
from search_plugin.request import RankingOptions, search_options
from ses.evaluation.collection import Collection, IndexedCollection, beir_collection, in_memory
from ses.evaluation.inputs import to_qrels, to_topics
from ses.evaluation.result import Evaluation, python_provenance
from ses.models.library_models import LibraryModels
from ses.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from encoders.models.model import Model
    from encoders.text_encoder import TextEncoder
    from eval.reports.report import Provenance
    from search_plugin.contract.engine import Index
    from search_plugin.fusion.search_settings import SearchSettings
    from search_plugin.ranking.planning import QueryModels
    from search_plugin.understanding.expansion import Synonyms
    from ses.settings import Settings

EXACT = "exact"
"""The mode that ranks all vectors in memory, without an engine."""

TIMES = "seconds of a page of ten hits, the median over some queries, one after another"


def evaluate_index(
    index: Index, models: QueryModels, judged: JudgedQueries, protocol: Protocol, files: Sequence[Path] = ()
) -> Evaluation:
    """Search judged queries in an index, whose model is loaded if vectors are searched, and measure the runs.

    The protocol has the modes, fusions and measures to compare by; the evaluation has a system for each mode and
    fusion. `files` are those that the queries came from, for a report.
    """
    encoders = _encoders(index, models, protocol)
    outcome = evaluate_queries(judged, index, encoders.__getitem__, protocol, models.scorer)
    facts = {"index": index.name, "model": index.schema.model}
    evaluation = _evaluation(outcome, judged, {"judged_documents_absent": absent_from(index, judged)}, facts)
    cards = [encoder.card for encoder in encoders.values()]
    gather = functools.partial(python_provenance, data=files, cards=cards, settings={"index": index.name})
    return replace(evaluation, provenance=gather)


def protocol_of(
    index: Index, tuned: SearchSettings | None, synonyms: Synonyms, options: RankingOptions | None = None, **named: Any
) -> Protocol:
    """Return how judged queries are searched in an index: with the tuned settings and synonyms of its searches.

    The options decide which papers come first. Other arguments and errors are those of `make_protocol`; fusions that
    are named take the place of the tuned one.
    """
    protocol = make_protocol(options={"synonyms": synonyms, **(options or {})}, **named)
    if tuned is None:
        return protocol
    # A search can't change the constants of BM25.
    tuned = replace(tuned, bm25=index.schema.bm25)
    return replace(protocol, tuned=tuned, fusions=protocol.fusions if named.get("fusions") else (tuned.name,))


def judged_of(data: str | Path, split: str, topics: Any, qrels: Any) -> tuple[JudgedQueries, Sequence[Path]]:
    """Return the queries of a data set in BEIR's form and its files, or topics with judgments of a Python program."""
    require(
        bool(data) == (topics is None and qrels is None) and (topics is None) == (qrels is None),
        "An evaluation needs judged queries",
        "give either <data>, or <topics> with <qrels>",
    )
    if data:
        collection = beir_collection(str(data), split, load_settings())
        return collection.judged, collection.files
    return join(to_topics(topics), to_qrels(qrels)), ()


def evaluate_collection(
    collection: Collection,
    protocol: Protocol,
    settings: Settings,
    indexed: IndexedCollection | None = None,
    *,
    exact: bool = False,
) -> Evaluation:
    """Run the judged queries of a collection, and measure the runs.

    The collection's index is searched by the modes of the protocol, if it is given; the settings name the model, and
    the engine for a report. The evaluation has a system for each mode and fusion; `exact`, which ranks all vectors in
    memory, is the last.
    """
    load = indexed.load if indexed else functools.cache(functools.partial(encoder_of, settings))
    outcome: dict[str, Retrieval] = {}
    counts = {"topics_without_judgments": collection.unjudged}
    if indexed:
        models = indexed.models
        encoders = _encoders(indexed.index, models, protocol)
        counts |= {**indexed.counts, "judged_documents_absent": absent_from(indexed.index, collection.judged)}
        outcome = evaluate_queries(collection.judged, indexed.index, encoders.__getitem__, protocol, models.scorer)
    if exact:
        papers, counts_in_memory = in_memory(collection)
        absent = len(collection.judged.qrels.documents - {paper.id for paper in papers})
        counts = {**counts_in_memory, "judged_documents_absent": absent, **counts}
        embed, similarity = by_encoder(load()), load().card.similarity
        outcome[EXACT] = evaluate_exact(collection.judged, papers, embed, similarity, protocol)
    index = indexed.index if indexed else None
    given = {
        one.name: _as_text(protocol.options[one.name])
        for one in search_options(RankingOptions)
        if protocol.options.get(one.name) is not None
    }
    facts = {**collection.facts, **given, "index": index.name if index else None, "model": model_of(settings).card.name}
    evaluation = _evaluation(outcome, collection.judged, counts, facts)
    about = {**collection.facts, **given, "fusion": ", ".join(protocol.fusions), "times": TIMES}
    about |= {what: str(count) for what, count in evaluation.left_out.items()}
    return replace(
        evaluation, provenance=functools.partial(_provenance, settings, index, load, collection.files, about)
    )


def seconds_of(collection: Collection, protocol: Protocol, settings: Settings, index: Index) -> dict[str, float]:
    """Return the time of a search by system, to plot quality against speed."""
    # The queries' vectors are already in the cache.
    models = LibraryModels(replace(settings, embedding_cache=False))
    encoders = _encoders(index, models, protocol)
    return seconds_a_query(collection.judged.texts, index, encoders.__getitem__, protocol, models.scorer)


def _encoders(index: Index, models: QueryModels, protocol: Protocol) -> dict[str, TextEncoder]:
    """Return the encoders of the legs that a protocol searches, loaded before the first query."""
    legs = () if set(protocol.modes) == {"lexical"} else index.schema.legs
    return {leg: models.of_leg(index, leg, protocol.options.get("query_encoder")) for leg in legs}


def _as_text(value: Any) -> str:
    """Return the value of an option as a report shows it."""
    if value is True:
        return "yes"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def model_of(settings: Settings) -> Model:
    """Return the model that the settings name, else the default one."""
    from encoders.registry import find_model

    return find_model(settings.model_name)


def encoder_of(settings: Settings) -> TextEncoder:
    """Load the model that the settings name, else the default one."""
    from ses.models.loaded_model import make_encoder

    return make_encoder(settings, model_of(settings))


def make_runs_folder(folder: Path, judged: JudgedQueries) -> None:
    """Make a folder for run files, or raise `InputError` if it can't be made or a file can't hold a judged id."""
    for name in (*judged.texts, *judged.qrels.documents):
        require_column(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The folder {folder} can't be made ({error.strerror})", "give another as <run>") from error


def _evaluation(
    outcome: Mapping[str, Retrieval], judged: JudgedQueries, counts: Mapping[str, int], facts: Mapping[str, Any]
) -> Evaluation:
    first = next(iter(outcome.values()))
    left_out = {**counts, "queries_without_text": first.without_text, "queries_shortened": first.shortened}
    return Evaluation(
        Results("mode", {mode: found.scores.outcome() for mode, found in outcome.items()}),
        {mode: found.run for mode, found in outcome.items()},
        texts=judged.texts,
        left_out=left_out,
        facts=facts,
    )


def _provenance(
    settings: Settings,
    index: Index | None,
    load: Callable[[], TextEncoder],
    files: tuple[Path, ...],
    about: Mapping[str, str],
) -> Provenance:
    from encoders.encoder import Encoder
    from search_plugin.engines.registry import connect

    encoder = load()
    engine = connect(settings.engine_url, settings.connection).diagnose(index.name) if index else None
    return gather_provenance(
        data=files,
        cards=[encoder.card],
        engine=f"{engine.product} {engine.version}" if engine else "",
        runtime=encoder.runtime if isinstance(encoder, Encoder) else settings.runtime or "",
        settings=about,
    )
