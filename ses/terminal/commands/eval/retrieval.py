"""`ses eval retrieval`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import rich_click as click

from corpora.errors import InputError
from search_plugin.contract.plan import TITLE_BOOST
from search_plugin.fusion.fusions import DEFAULT_FUSION, FUSIONS, RANKED
from search_plugin.request import MAX_WINDOW, Mode
from ses.terminal.commands.eval.collection import Collection, collection_options, in_memory, indexed, open_collection
from ses.terminal.options import engine_options, model_options
from ses.terminal.results import say_json, tell

if TYPE_CHECKING:
    from encoders.text_encoder import TextEncoder
    from eval.reports.provenance import Provenance
    from eval.retrieval.protocol import Protocol, Retrieval
    from eval.statistics.interval import Values
    from search_plugin.contract.engine import Index
    from search_plugin.fusion.search_settings import SearchSettings
    from ses.settings import Settings

EXACT = "exact"
"""The mode that needs no engine."""

TIMES = "seconds of a page of ten hits, the median over some queries, one after another"


@click.command()
@collection_options
@click.option(
    "--mode",
    "modes",
    multiple=True,
    type=click.Choice([*get_args(Mode), EXACT]),
    help="Repeatable; exact ranks all vectors in memory, without an engine [default: lexical, vector, hybrid].",
)
@click.option(
    "--fusion",
    "fusions",
    multiple=True,
    metavar="NAME",
    help=f"Of the hybrid mode, repeatable to compare: {', '.join(FUSIONS)}, or {RANKED}@K with the rank constant K "
    f"[default: {DEFAULT_FUSION}].",
)
@click.option("--tuned", type=click.Path(path_type=Path), help="Settings of search as `ses eval tune` fitted them.")
@click.option(
    "--depth",
    type=click.IntRange(1, MAX_WINDOW),
    metavar="N",
    help="Hits a query and of each leg [default: 100, or as deep as a measure looks].",
)
@click.option(
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME",
    help="Such as nDCG@10, MAP, P@5; repeatable [default: nDCG@10, MAP, Recall@100, MRR@10].",
)
@click.option(
    "--run", "runs", type=click.Path(path_type=Path, file_okay=False), help="Folder for the TREC run files, one a mode."
)
@click.option(
    "--drop-same-id", is_flag=True, help="Leave out hits whose id is the query's, where queries are papers themselves."
)
@click.option(
    "--report", "file", type=click.Path(path_type=Path), help="File to write: .md, .html with plots, .tex or .json."
)
@model_options
@engine_options
def retrieval(runs: Path | None, file: Path | None, as_json: bool, **options: Any) -> None:  # noqa: FBT001 - click passes flags so
    """Index a collection (or bring its index up to date), run its judged queries and score them.

    Measures are computed by trec_eval's code, with 95 % confidence intervals over queries.
    """
    from rich.console import Console

    from eval.reports.registry import check_report, write_report
    from eval.reports.results import Results, results_report
    from eval.reports.tables import counted, print_table
    from eval.statistics.pairs import compare_values
    from eval.trec.runs import write_run
    from search_plugin.fusion.search_settings import read_search_settings
    from ses.settings import load_settings
    from ses.terminal.arguments import settings_of

    settings = load_settings(**settings_of(options))
    # Check the options first, because the evaluation may take hours.
    collection = open_collection(options, settings)
    tuned = read_search_settings(settings.tuned) if options["tuned"] and settings.tuned else None
    protocol = _protocol(options, collection, tuned)
    if file:
        check_report(file)
    if runs:
        _make(runs, collection)
    outcome, left_out, index, encoder = _measured(collection, protocol, options["modes"], settings, tuned)
    first = next(iter(outcome.values()))
    left_out |= {
        "queries_without_text": first.without_text,
        "queries_shortened": first.shortened,
        "topics_without_judgments": collection.unjudged,
    }
    results = Results("mode", {mode: result.scores.outcome() for mode, result in outcome.items()})
    if file:
        told = {
            **collection.told,
            "fusion": ", ".join(protocol.fusions),
            "times": TIMES,
            **{what: str(count) for what, count in left_out.items()},
        }
        provenance = _provenance(settings, index, encoder, list(collection.files), told)
        values: dict[str, Values] = {mode: result.scores.per_query for mode, result in outcome.items()}
        pairs = compare_values(values) if len(values) > 1 and first.scores.queries > 1 else ()
        seconds = _seconds(collection, index, protocol, settings) if index else {}
        title = f"Retrieval on {collection.name}"
        write_report(results_report(title, results, provenance, pairs=pairs, seconds=seconds), file)
    if as_json:
        facts = {**collection.told, "index": index.name if index else None, "model": encoder.card.name}
        say_json({**facts, "left_out": left_out, **results.as_dict()})
    else:
        print_table(results.table(), Console())
        for what, count in left_out.items():
            if count:
                tell(counted(count, what))
    # Last, because an id that a TREC file can't hold must not discard the results.
    if runs:
        for mode, result in outcome.items():
            write_run(result.run, runs / f"{mode}.trec")


def _protocol(options: Mapping[str, Any], collection: Collection, tuned: SearchSettings | None) -> Protocol:
    from eval.measures.metrics import parse_measure
    from eval.retrieval.protocol import DEPTH, MEASURES, Protocol
    from search_plugin.fusion.fusions import fusion_of

    if options["tuned"] and options["fusions"]:
        raise InputError("--tuned names the fusion already; leave --fusion out.")
    measures = [parse_measure(measure) for measure in options["measures"] or MEASURES]
    deepest = max(measure.cutoff or 0 for measure in measures)
    depth = options["depth"] or max(DEPTH, min(deepest, MAX_WINDOW))
    if depth < deepest:
        raise InputError(
            f"A measure at {deepest:,} needs more than the {depth:,} hits of a query; give a --depth of as many "
            f"(up to {MAX_WINDOW:,}), or a smaller cut-off."
        )
    protocol = Protocol(
        modes=tuple(mode for mode in dict.fromkeys(options["modes"]) if mode != EXACT) or get_args(Mode),
        fusions=(tuned.name,) if tuned else tuple(dict.fromkeys(options["fusions"])) or (DEFAULT_FUSION,),
        weights=tuned.weights if tuned else {},
        measures=tuple(map(str, measures)),
        drop_same_id=options["drop_same_id"],
        seen=collection.seen,
        depth=depth,
        title_boost=tuned.title_boost if tuned else TITLE_BOOST,
    )
    for fusion in protocol.fusions:
        fusion_of(fusion)
    return protocol


def _measured(
    collection: Collection, protocol: Protocol, modes: Sequence[str], settings: Settings, tuned: SearchSettings | None
) -> tuple[dict[str, Retrieval], dict[str, int], Index | None, TextEncoder]:
    """Return each mode's outcome, the counts, the index if one was needed, and the encoder."""
    from encoders.registry import DEFAULT_MODEL, find_model
    from eval.embedder import by_encoder
    from eval.retrieval.protocol import absent_from, evaluate_exact, evaluate_queries
    from ses.loaded_model import make_encoder

    outcome: dict[str, Retrieval] = {}
    counts: dict[str, int] = {}
    index, encoder = None, None
    if set(modes) != {EXACT}:
        index, encoder, counts = indexed(collection, settings)
        counts["judged_documents_absent"] = absent_from(index, collection.judged)
        with index.scored_by(tuned.bm25) if tuned else nullcontext():
            outcome = evaluate_queries(collection.judged, index, encoder, protocol)
    encoder = encoder or make_encoder(settings, find_model(settings.model or DEFAULT_MODEL))
    if EXACT in modes:
        papers, counts_in_memory = in_memory(collection)
        absent = len(collection.judged.qrels.documents - {paper.id for paper in papers})
        counts = {**counts_in_memory, "judged_documents_absent": absent, **counts}
        similarity = encoder.card.similarity
        outcome[EXACT] = evaluate_exact(collection.judged, papers, by_encoder(encoder), similarity, protocol)
    return outcome, counts, index, encoder


def _seconds(collection: Collection, index: Index, protocol: Protocol, settings: Settings) -> dict[str, float]:
    from encoders.registry import DEFAULT_MODEL, find_model
    from eval.retrieval.timing import seconds_a_query
    from ses.loaded_model import make_encoder

    # The queries' vectors are already in the cache.
    uncached = replace(settings, embedding_cache=False)
    encoder = make_encoder(uncached, find_model(settings.model or DEFAULT_MODEL))
    return seconds_a_query(collection.judged.texts, index, encoder, protocol)


def _provenance(
    settings: Settings, index: Index | None, encoder: TextEncoder, files: list[Path], told: dict[str, str]
) -> Provenance:
    from encoders.encoder import Encoder
    from eval.reports.provenance import gather_provenance
    from search_plugin.engines.registry import connect

    engine = connect(settings.engine_url, settings.connection).diagnose(index.name) if index else None
    return gather_provenance(
        data=files,
        cards=[encoder.card],
        engine=f"{engine.product} {engine.version}" if engine else "",
        runtime=encoder.runtime if isinstance(encoder, Encoder) else settings.runtime or "",
        settings=told,
    )


def _make(folder: Path, collection: Collection) -> None:
    from eval.files.text import require_column

    for name in (*collection.judged.texts, *collection.judged.qrels.documents):
        require_column(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The folder {folder} can't be made ({error.strerror}); give another with --run.") from error
