"""The suite of made-up papers: every kind of protocol in seconds, to check that all of them work."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from encoders.formats import Format
from eval.embedder import Text
from eval.measures.similarity import minus_distance
from eval.outcome import Outcome
from eval.suites.base import Bench, Entry
from eval.suites.retrieval import measured
from eval.suites.synthetic import MadeUp, made_up_papers, write_retrieval
from eval.trec.judgments import Qrels
from search_plugin.request import Mode

_TESTED = 3
"""One of this many papers is tested on."""


def _retrieval(bench: Bench, mode: Mode) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        write_retrieval(Path(folder) / "made-up", made_up_papers())
        return measured(replace(bench, data=Path(folder), work=Path(folder)), "made-up", mode)


def _classes(bench: Bench) -> Outcome:
    from eval.probes.linear import classify
    from eval.scirepeval.measures import classification_measure

    papers = made_up_papers()
    vectors = bench.embed(_texts(papers), Format.CLF).of([paper.id for paper in papers])
    topics, tested = np.array([paper.topic for paper in papers]), np.arange(len(papers)) % _TESTED == 0
    found = classify(vectors[~tested], topics[~tested], vectors[tested])
    cell = classification_measure("f1_macro", topics[tested], found.labels)
    return Outcome({"F1 macro": cell}, {}, {"papers": len(papers), "papers_tested": int(tested.sum())})


def _citations(bench: Bench) -> Outcome:
    from eval.reranking import ranked_outcome, rerank

    papers, draw = made_up_papers(), random.Random(0)  # noqa: S311 - not for secrets
    others = {paper.id: [other.id for other in papers if other.topic != paper.topic] for paper in papers}
    gains = {
        paper.id: dict.fromkeys(paper.references, 1) | dict.fromkeys(draw.sample(others[paper.id], 10), 0)
        for paper in papers
        if paper.references
    }
    vectors = bench.embed(_texts(papers), Format.PRX)
    ranked = rerank("smoke", Qrels(gains), vectors, vectors, minus_distance)
    return ranked_outcome(ranked.run, Qrels(gains), ("MAP", "nDCG"), {"papers": len(papers)})


def _screening(bench: Bench) -> Outcome:
    from eval.screening import Review, Reviews, by_likeness, screen

    papers = made_up_papers()
    topics = sorted({paper.topic for paper in papers})
    texts = tuple(_texts(papers))
    reviews = [Review(topic, texts, tuple(paper.topic == topic for paper in papers)) for topic in topics]
    return screen(Reviews(tuple(reviews)), by_likeness(bench.embed(texts, Format.PRX), "mean"))


def _texts(papers: Sequence[MadeUp]) -> list[Text]:
    return [Text(paper.id, paper.title, paper.abstract) for paper in papers]


ENTRIES: tuple[Entry, ...] = (
    Entry(
        "Made-up queries, retrieval",
        "nDCG@10",
        (),
        lambda bench: _retrieval(bench, "vector"),
        lambda bench: _retrieval(bench, "lexical"),
    ),
    Entry("Made-up queries, hybrid retrieval", "nDCG@10", (), lambda bench: _retrieval(bench, "hybrid")),
    Entry("Made-up citations among 13 candidates", "MAP", (), _citations),
    Entry("Made-up reviews, screening", "WSS@95", (), _screening),
    Entry("Made-up topics, probe", "F1 macro", (), _classes),
)
