"""The kinds of entries a manifest may list: a new one is one function and one line here.

Each takes the entry's name and the path of its data from the data folder, then its options by name.
"""

from __future__ import annotations

import math
import random
import re
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corpora.errors import require
from corpora.installed import optional
from encoders.models.formats import Format
from eval.embedder import Text
from eval.files.labelled import Labelled, read_labelled
from eval.files.text import json_objects
from eval.measures.similarity import minus_distance
from eval.outcome import Outcome, outcome_of
from eval.reranking import ranked_outcome, rerank
from eval.retrieval.beir import BeirFolder
from eval.retrieval.protocol import Protocol, evaluate_queries
from eval.screening import Review, by_likeness, read_reviews, screen
from eval.suites.base import Bench, Entry
from eval.trec.judgments import Qrels
from eval.trec.runs import Run
from search_plugin.contract.engine import Index
from search_plugin.request import Mode

_WORD = re.compile(r"\w+")


class OkapiBm25:
    """Texts that queries are compared with (Okapi BM25, k1 1.5 and b 0.75, words stemmed as in English)."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Take the texts, or raise `UnavailableError` without rank-bm25."""
        import Stemmer

        okapi = optional("rank_bm25", "BM25 in memory needs rank-bm25", "eval").BM25Okapi
        self._stem = Stemmer.Stemmer("english").stemWords
        index = okapi([self._words(text) or [""] for text in texts])
        self._texts = len(texts)
        # By word, the texts that have it and how often, because rank-bm25 itself looks each word up in every text.
        found: dict[str, tuple[array[int], array[float]]] = {}
        for row, counts in enumerate(index.doc_freqs):
            for word, count in counts.items():
                rows, often = found.setdefault(word, (array("i"), array("d")))
                rows.append(row)
                often.append(count)
        share = index.k1 * (1 - index.b + index.b * np.array(index.doc_len) / index.avgdl)
        self._postings: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for word, (rows, often) in found.items():
            places, counts = np.frombuffer(rows, np.int32), np.frombuffer(often)
            self._postings[word] = places, index.idf[word] * (counts * (index.k1 + 1) / (counts + share[places]))

    def scores(self, query: str) -> np.ndarray:
        """Return the score of every text, float64 (texts,); each word of the query counts once."""
        found = np.zeros(self._texts)
        for word in dict.fromkeys(self._words(query)):
            if word in self._postings:
                rows, parts = self._postings[word]
                found[rows] += parts
        return found

    def _words(self, text: str) -> list[str]:
        stemmed: list[str] = self._stem(_WORD.findall(text.lower()))
        return stemmed


_CITED, _OTHERS = 5, 25
"""Candidates of a query, as SciDocs has them."""


@dataclass(frozen=True, slots=True)
class Numbered:
    """Papers and a number of each, divided by position."""

    train: tuple[Text, ...]
    test: tuple[Text, ...]
    targets: np.ndarray
    """The numbers of the training papers, then those of the test papers."""


def read_numbered(path: Path, name: str, *, count: int, log: bool, seed: int = 0) -> Numbered:
    """Draw `count` papers that have a number, a third of them to test on; papers that share an id are then left out.

    `name` is the number's key, which may hold it as digits; below 0 it is unknown. With `log`, log(1 + number) is
    taken, as SciRepEval does for counts of citations. Raises `InputError` if the file can't be read, or holds no such
    number.
    """
    rows, seen = list[tuple[dict[str, Any], float]](), Counter[str]()
    for _, row in json_objects(path):
        seen[str(row.get("id"))] += 1
        if (number := _number(row.get(name))) is not None:
            rows.append((row, number))
    # Vectors are stored by id. In some files many papers share an id, such as "cvpr2016:None".
    repeated = {name for name, times in seen.items() if times > 1}
    require(rows, f"No paper of {path} has a number under {name!r}; fetch the data again.")
    drawn = random.Random(seed).sample(rows, min(count, len(rows)))  # noqa: S311 - not for secrets
    cut = len(drawn) - len(drawn) // 3
    train, test = (
        [row for row in part if str(row[0].get("id")) not in repeated] for part in (drawn[:cut], drawn[cut:])
    )
    values = np.array([math.log1p(number) if log else number for _, number in (*train, *test)])
    return Numbered(tuple(_text(row) for row, _ in train), tuple(_text(row) for row, _ in test), values)


def _number(value: object) -> float | None:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return float(value)
    known = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    return float(value) if known else None  # type: ignore[arg-type]


def read_citations(
    path: Path, *, reviews: Collection[str], queries: int = 500, seed: int = 0
) -> tuple[dict[str, Text], Qrels]:
    """Draw papers that cite five others of the file, each with 25 that it does not cite (SciDocs, section 3.2).

    The file is JSON lines with `references_in_set`; queries and candidates are papers of some reviews (`dataset`)
    alone. Returns papers by id, and for each query, cited papers among papers that it does not cite. Raises
    `InputError` if the file can't be read.
    """
    draw = random.Random(seed)  # noqa: S311 - not for secrets
    rows = {row["id"]: row for _, row in json_objects(path) if row.get("title") and row.get("dataset") in reviews}
    cited = {
        name: [other for other in row.get("references_in_set") or () if other in rows] for name, row in rows.items()
    }
    able = sorted(name for name, others in cited.items() if len(others) >= _CITED)
    gains: dict[str, dict[str, int]] = {}
    for name in sorted(draw.sample(able, min(queries, len(able)))):
        # From the same review, because the subject alone would separate papers of another.
        near = sorted(
            other for other, row in rows.items() if row.get("dataset") == rows[name].get("dataset") and other != name
        )
        others = [other for other in near if other not in cited[name] and name not in cited[other]]
        if len(others) >= _OTHERS:
            gains[name] = dict.fromkeys(draw.sample(sorted(cited[name]), _CITED), 1)
            gains[name] |= dict.fromkeys(draw.sample(others, _OTHERS), 0)
    used = {*gains, *(other for judged in gains.values() for other in judged)}
    return {name: _text(rows[name]) for name in sorted(used)}, Qrels(gains)


def held_out(path: Path, reviews: Collection[str]) -> set[str]:
    """Return the ids of all papers of some reviews."""
    return {str(row["id"]) for _, row in json_objects(path) if row.get("dataset") in reviews}


def _text(row: dict[str, Any]) -> Text:
    return Text(str(row["id"]), row.get("title") or "", row.get("abstract") or "")


def measured(bench: Bench, folder: str, mode: Mode) -> Outcome:
    """Index a BEIR folder of the data folder (or update its index), and measure its test queries in a search mode."""
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


DRAWN = 6_000
"""Most papers to use: a probe's interval is then about 0.01 wide, and encoding takes about two minutes."""


def retrieval(name: str, path: str) -> Sequence[Entry]:
    """Return the entries of a BEIR folder: by vectors and hybrid. BM25's result is in the row of the first."""
    return (
        Entry(
            f"{name}, retrieval",
            "nDCG@10",
            (path,),
            lambda bench: measured(bench, path, "vector"),
            lambda bench: measured(bench, path, "lexical"),
        ),
        Entry(f"{name}, hybrid retrieval", "nDCG@10", (path,), lambda bench: measured(bench, path, "hybrid")),
    )


def citations(name: str, path: str, reviews: list[str], queries: int = 500) -> Sequence[Entry]:
    """Return the entry of papers with `references_in_set`: those cited are ranked among others of the same review."""

    def by_vectors(bench: Bench) -> Outcome:
        papers, qrels = read_citations(bench.data / path, reviews=reviews, queries=queries)
        vectors = bench.embed(list(papers.values()), Format.PRX)
        ranked = rerank("citations", qrels, vectors, vectors, minus_distance)
        return ranked_outcome(ranked.run, qrels, ("MAP", "nDCG"), {"papers": len(papers)})

    def by_words(bench: Bench) -> Outcome:
        papers, qrels = read_citations(bench.data / path, reviews=reviews, queries=queries)
        rows = {paper: row for row, paper in enumerate(papers)}
        words = OkapiBm25([_words_of(text) for text in papers.values()])
        rankings = {}
        for query, judged in qrels.gains.items():
            scores = words.scores(_words_of(papers[query]))
            rankings[query] = [(paper, float(scores[rows[paper]])) for paper in judged]
        return ranked_outcome(Run("bm25", rankings), qrels, ("MAP", "nDCG"), {"papers": len(papers)})

    return (Entry(name, "MAP", (path,), by_vectors, by_words, tested=lambda folder: held_out(folder / path, reviews)),)


def screening(name: str, path: str) -> Sequence[Entry]:
    """Return the entry of systematic reviews in CSV, from one seed."""

    def by_vectors(bench: Bench) -> Outcome:
        data = read_reviews(bench.data / path)
        texts = {text.id: text for review in data.reviews for text in review.papers}
        return screen(data, by_likeness(bench.embed(list(texts.values()), Format.PRX), "mean"))

    def by_words(bench: Bench) -> Outcome:
        made: dict[str, OkapiBm25] = {}

        def rank(review: Review, seeds: Sequence[int], rest: Sequence[int]) -> Any:
            if review.name not in made:
                made[review.name] = OkapiBm25([_words_of(text) for text in review.papers])
            query = " ".join(_words_of(review.papers[row]) for row in seeds)
            return made[review.name].scores(query)[list(rest)]

        return screen(read_reviews(bench.data / path), rank)

    return (Entry(name, "WSS@95", (path,), by_vectors, by_words),)


def gold_standard(name: str, path: str) -> Sequence[Entry]:
    """Return the entry of the gold standard of reviewer assignment."""
    from eval.reviewers.gold_standard import evaluate_gold_standard, read_gold_standard

    def run(bench: Bench) -> Outcome:
        return evaluate_gold_standard(read_gold_standard(bench.data / path), bench.embed)

    return (Entry(name, "loss", (path,), run),)


def authors(name: str, path: str) -> Sequence[Entry]:
    """Return the entry of papers with authors' full names."""
    from eval.authors import evaluate_authors, read_named_papers

    return (
        Entry(
            name,
            "B3 F1",
            (path,),
            lambda bench: evaluate_authors(read_named_papers(bench.data / path), bench.embed),
            tested=lambda folder: set(read_named_papers(folder / path).papers),
        ),
    )


def labels(name: str, path: str, label: str = "label", fewest: int = 8, most: int = DRAWN) -> Sequence[Entry]:
    """Return the two entries of a file of labelled papers: a probe, and clusters of the papers that it tests on.

    The member `label` holds a paper's label or labels; the first is its class. Classes of fewer than `fewest` papers in
    the file are left out; `most` papers are drawn where there are more.
    """
    from eval.miread import cluster, probe

    def read(folder: Path) -> Labelled:
        return read_labelled(folder / path, label=label, fewest=fewest).at_most(most)

    def tested(folder: Path) -> Labelled:
        # Labels of the other papers may have been seen in training.
        data = read(folder)
        return data.only([row for row, test in enumerate(data.test) if test], "papers_to_learn_from")

    def embedded(bench: Bench, data: Labelled) -> Any:
        return bench.embed(list(data.papers), Format.CLF).of([text.id for text in data.papers])

    def by_probe(bench: Bench) -> Outcome:
        data = read(bench.data)
        return probe(embedded(bench, data), data.classes, data.test)

    def by_clusters(bench: Bench) -> Outcome:
        data = tested(bench.data)
        found = cluster(embedded(bench, data), data.classes, (count := len(set(data.classes)),))
        # The measure has the same name in the table for any number of classes.
        cells = {measure.removesuffix(f" k={count}"): cell for measure, cell in found.cells.items()}
        return Outcome(cells, found.per_unit, {**found.counts, "classes": count})

    def ids(folder: Path) -> set[str]:
        return {paper.id for paper in tested(folder).papers}

    return (
        Entry(f"{name}, probe", "accuracy", (path,), by_probe, tested=ids),
        Entry(f"{name}, clusters", "NMI", (path,), by_clusters, tested=ids),
    )


def regression(name: str, path: str, number: str, log: bool = False, most: int = DRAWN) -> Sequence[Entry]:  # noqa: FBT001, FBT002 - a manifest names it
    """Return the entry of papers with a number under a member, or log(1 + number).

    Where there are more than `most` papers, this many are drawn.
    """
    from eval.probes.linear import regress
    from eval.scirepeval.measures import regression_measure

    def run(bench: Bench) -> Outcome:
        data = read_numbered(bench.data / path, number, count=most, log=log)
        texts, cut = [*data.train, *data.test], len(data.train)
        matrix = bench.embed(texts, Format.RGN).of([text.id for text in texts])
        found = regress(matrix[:cut], data.targets[:cut], matrix[cut:])
        measures = ("kendalltau", "pearsonr")
        cells = {metric: regression_measure(metric, data.targets[cut:], found.labels) for metric in measures}
        return Outcome(cells, {}, {"train": cut, "test": len(data.test)})

    def ids(folder: Path) -> set[str]:
        return {text.id for text in read_numbered(folder / path, number, count=most, log=log).test}

    return (Entry(name, "kendalltau", (path,), run, tested=ids),)


def _words_of(text: Text) -> str:
    return f"{text.title} {text.abstract or ''}"


KINDS: Mapping[str, Callable[..., Sequence[Entry]]] = {
    "retrieval": retrieval,
    "citations": citations,
    "screening": screening,
    "gold-standard": gold_standard,
    "authors": authors,
    "labels": labels,
    "regression": regression,
}
