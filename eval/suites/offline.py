"""The suite of real data that needs no network: all that the shared folder of data allows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from encoders.formats import Format
from eval.outcome import Outcome
from eval.suites.base import Bench, Entry
from eval.suites.labels import DRAWN, labelled_entries
from eval.suites.retrieval import retrieval_entries

if TYPE_CHECKING:
    import numpy as np

    from eval.authors.signatures import Signatures
    from eval.embedder import Text
    from eval.screening import Review
    from eval.suites.samples import Numbered

_REVIEWS = "eval/systematic-reviews.tar.xz"
_GOLD = "eval/goldstandard-reviewers.tar.xz"
_SYNERGY = "train/synergy.jsonl.xz"
_CONF = "train/conf.jsonl.xz"


def _screening(bench: Bench) -> Outcome:
    from eval.screening import by_likeness, read_reviews, screen

    data = read_reviews(bench.data / _REVIEWS)
    texts = {text.id: text for review in data.reviews for text in review.papers}
    return screen(data, by_likeness(bench.embed(list(texts.values()), Format.PRX), "mean"))


def _screening_by_words(bench: Bench) -> Outcome:
    from eval.screening import read_reviews, screen
    from eval.suites.words import Words

    made: dict[str, Words] = {}

    def rank(review: Review, seeds: Sequence[int], rest: Sequence[int]) -> np.ndarray:
        if review.name not in made:
            made[review.name] = Words([_words_of(text) for text in review.papers])
        query = " ".join(_words_of(review.papers[row]) for row in seeds)
        found: np.ndarray = made[review.name].scores(query)[list(rest)]
        return found

    return screen(read_reviews(bench.data / _REVIEWS), rank)


def _gold_standard(bench: Bench) -> Outcome:
    from eval.reviewers.gold_standard import evaluate_gold_standard, read_gold_standard

    return evaluate_gold_standard(read_gold_standard(bench.data / _GOLD), bench.embed)


def _signatures(folder: Path) -> Signatures:
    from eval.authors.signatures import read_named_papers

    return read_named_papers(folder / _CONF)


def _authors(bench: Bench) -> Outcome:
    from eval.authors.protocol import evaluate_authors

    return evaluate_authors(_signatures(bench.data), bench.embed)


def _regression(name: str, number: str, *, log: bool) -> Entry:
    def read(folder: Path) -> Numbered:
        from eval.suites.samples import read_numbered

        return read_numbered(folder / _CONF, number, count=DRAWN, log=log)

    def run(bench: Bench) -> Outcome:
        from eval.probes.linear import regress
        from eval.scirepeval.measures import regression_measure

        data = read(bench.data)
        vectors = bench.embed([*data.train, *data.test], Format.RGN)
        cut = len(data.train)
        matrix = vectors.of([text.id for text in (*data.train, *data.test)])
        found = regress(matrix[:cut], data.targets[:cut], matrix[cut:])
        cells = {
            metric: regression_measure(metric, data.targets[cut:], found.labels)
            for metric in ("kendalltau", "pearsonr")
        }
        return Outcome(cells, {}, {"train": cut, "test": len(data.test)})

    return Entry(name, "kendalltau", (_CONF,), run, tested=lambda folder: {text.id for text in read(folder).test})


def _held_out(folder: Path) -> set[str]:
    from eval.files.text import json_objects
    from eval.suites.samples import HELD_OUT

    return {str(row["id"]) for _, row in json_objects(folder / _SYNERGY) if row.get("dataset") in HELD_OUT}


def _citations(bench: Bench) -> Outcome:
    import numpy as np

    from eval.reranking import ranked_outcome, rerank
    from eval.suites.samples import read_citations

    data = read_citations(bench.data / _SYNERGY)
    vectors = bench.embed(list(data.papers.values()), Format.PRX)
    ranked = rerank("citations", data.qrels, vectors, vectors, lambda a, b: -np.linalg.norm(a - b, axis=1))
    return ranked_outcome(ranked.run, data.qrels, ("MAP", "nDCG"), {"papers": len(data.papers)})


def _citations_by_words(bench: Bench) -> Outcome:
    from eval.reranking import ranked_outcome
    from eval.suites.samples import read_citations
    from eval.suites.words import Words
    from eval.trec.runs import Run

    data = read_citations(bench.data / _SYNERGY)
    rows = {name: row for row, name in enumerate(data.papers)}
    words = Words([_words_of(text) for text in data.papers.values()])
    rankings = {}
    for query, judged in data.qrels.gains.items():
        scores = words.scores(_words_of(data.papers[query]))
        rankings[query] = [(name, float(scores[rows[name]])) for name in judged]
    return ranked_outcome(Run("bm25", rankings), data.qrels, ("MAP", "nDCG"), {"papers": len(rows)})


def _words_of(text: Text) -> str:
    return f"{text.title} {text.abstract or ''}"


ENTRIES: tuple[Entry, ...] = (
    *retrieval_entries("SciFact", "eval/scifact"),
    *retrieval_entries("Cranfield", "eval/cranfield"),
    *retrieval_entries("NFCorpus, preprocessed and partial", "eval/nfcorpus-preprocessed"),
    Entry(
        "Citations among 30 candidates (SYNERGY, held-out reviews)",
        "MAP",
        (_SYNERGY,),
        _citations,
        _citations_by_words,
        tested=_held_out,
    ),
    Entry("Screening of systematic reviews, one seed", "WSS@95", (_REVIEWS,), _screening, _screening_by_words),
    Entry("Reviewers' expertise (gold standard)", "loss", (_GOLD,), _gold_standard),
    Entry(
        "Authors of one name (conference papers)",
        "B3 F1",
        (_CONF,),
        _authors,
        tested=lambda folder: set(_signatures(folder).papers),
    ),
    *labelled_entries("OHSUMED, 23 classes", "train/ohsumed.jsonl.xz"),
    *labelled_entries("PubMed, journals of 60 papers or more", "train/pubmed.jsonl.xz", label="journal", fewest=60),
    *labelled_entries(
        "arXiv, categories of 500 papers or more", "train/arxiv.jsonl.xz", label="categories", fewest=500
    ),
    _regression("Citations of conference papers", "citations", log=True),
    _regression("Year of conference papers", "year", log=False),
)
