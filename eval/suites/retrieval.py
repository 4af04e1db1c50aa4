"""Full-corpus retrieval in suites: a BEIR folder through the embedded engine."""

from __future__ import annotations

from eval.outcome import Outcome, outcome_of
from eval.retrieval.beir import BeirFolder
from eval.retrieval.protocol import Protocol, evaluate_queries
from eval.suites.base import Bench
from search_plugin.contract.engine import Index
from search_plugin.request import Mode


def measured(bench: Bench, folder: str, mode: Mode) -> Outcome:
    """Index a BEIR folder (or update its index), and measure its test queries in a search mode.

    Args:
        bench: The model and the folders.
        folder: Of the data folder.
        mode: How to search.

    Returns:
        The measures, with intervals over queries.
    """
    data = BeirFolder(bench.data / folder)
    index = _indexed(bench, data)
    found = evaluate_queries(data.judged("test"), index, bench.encoder, Protocol((mode,)))[mode]
    counts = {
        "queries": found.scores.queries,
        "papers": index.count(),
        "queries_without_text": found.without_text,
        "queries_without_results": found.scores.without_results,
    }
    return outcome_of(found.scores.per_query, counts)


def _indexed(bench: Bench, data: BeirFolder) -> Index:
    from corpora.reading import source_of
    from corpora.registry import get_corpus
    from indexer.job import IndexJob
    from indexer.pipeline import index_corpus
    from search_plugin.engines.registry import connect

    engine, card = connect(f"embedded:{bench.work}"), bench.encoder.card
    name = f"suite-{data.path.name.lower()}-{card.fingerprint[:8]}"
    job = IndexJob(
        records=lambda: get_corpus("beir").read(data.path, {}),
        source=source_of("beir", data.path.resolve(), None),
        index=name,
        card=card,
        encoder=lambda: bench.encoder,
        state_dir=bench.work,
    )
    index_corpus(job, engine)
    return engine.open(name)
