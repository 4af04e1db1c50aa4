"""The kinds of entries a manifest may list: a new one is one function and one line here.

Each takes the entry's name and the path of its data from the data folder, then its options by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from encoders.models.formats import Format
from eval.embedder import Text
from eval.files.labelled import Labelled, read_labelled
from eval.measures.similarity import minus_distance
from eval.outcome import Outcome
from eval.reranking import ranked_outcome, rerank
from eval.screening import Review, by_likeness, read_reviews, screen
from eval.suites.base import Bench, Entry
from eval.suites.retrieval import measured
from eval.suites.samples import held_out, read_citations, read_numbered
from eval.suites.words import OkapiBm25
from eval.trec.runs import Run

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
    from eval.authors.protocol import evaluate_authors
    from eval.authors.signatures import read_named_papers

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
    """Return the entries of labelled papers: a probe, and clusters of the papers that it tests on.

    Args:
        name: For the table.
        path: JSON lines.
        label: The member that holds a paper's label or labels; the first is its class.
        fewest: Classes of fewer papers in the file are left out.
        most: Papers that are drawn where there are more.

    Returns:
        Both.
    """
    from eval.miread import cluster, probe

    def read(folder: Path) -> Labelled:
        data = read_labelled(folder / path, label=label, fewest=fewest)
        if len(data.papers) > most:
            drawn = sorted(Random(0).sample(range(len(data.papers)), most))  # noqa: S311 - not for secrets
            data = data.only(drawn, "papers_not_drawn")
        return data

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
    """Return the entry of papers with a number.

    Args:
        name: For the table.
        path: JSON lines.
        number: The member that holds it.
        log: Whether to take log(1 + number).
        most: Papers that are drawn where there are more.

    Returns:
        The entry.
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
