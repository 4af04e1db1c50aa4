"""Taggers and forecasters with the papers' words beside their vectors, and without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.tags.papers import drawn, rows_of, vectors
from benchmarks.tags.quality import macro_f1
from encoders.registry import DEFAULT_MODEL
from eval.frozen import read_frozen, title_key
from eval.statistics.interval import bootstrap_statistic
from products.forecasts.training import ForecastOptions, train_forecaster
from products.tags.hierarchy import Hierarchy
from products.tags.labels import YES, labelled_papers
from products.tags.training import TaggerOptions, train_tagger

JOURNALS = 20


@dataclass(frozen=True, slots=True)
class Labelled:
    """Papers with a field of labels; a label needs `fewest` of them."""

    name: str
    rows: list[dict[str, Any]]
    field: str
    fewest: int


def label_sets() -> Iterator[Labelled]:
    """Yield labelled papers, one collection after the other."""
    pubmed = [row for row in rows_of("pubmed") if row.get("mesh") and row["abstract"] and row["journal"]]
    frequent = {name for name, _ in Counter(row["journal"] for row in pubmed).most_common(JOURNALS)}
    journals = [row for row in pubmed if row["journal"] in frequent]
    yield Labelled("PubMed, journals", drawn(journals, 2_500), "journal", 20)
    yield Labelled("PubMed, MeSH headings", drawn(pubmed, 2_000), "mesh", 80)
    yield Labelled("OHSUMED, classes", drawn(list(rows_of("ohsumed")), 1_500), "label", 30)


def words(*names: str) -> None:
    """Print the gain of each collection, or of those whose names begin so; a fifth or a quarter of it is tested."""
    print("| papers, of them | number | measure | vectors | with words | gain | ECE | with words |")
    print("| --- | ---: | --- | ---: | ---: | --- | ---: | ---: |")
    for one in label_sets():
        if one.name.startswith(names or ("",)):
            _labels(one)
    if "Conferences".startswith(names or ("",)):
        _numbers()


def _labels(one: Labelled) -> None:
    judged = {
        row["id"]: dict.fromkeys([value] if isinstance(value := row[one.field], str) else value, True)
        for row in one.rows
    }
    papers = labelled_papers(judged, judged, Hierarchy(), one.fewest)
    source, matrix, texts = _read({row["id"]: row for row in one.rows}, papers.ids)
    test = np.random.default_rng(0).permutation(len(matrix))[: len(matrix) // 5]
    said, measures = [], []
    for only in (True, False):
        options = TaggerOptions(fewest=one.fewest, vectors_only=only)
        tagger = train_tagger("t", source, matrix, papers, Hierarchy(), options, texts=texts)
        said.append(tagger.given(tagger.probabilities(matrix[test], [texts[row] for row in test])))
        measures.append(tagger.measures)
    truth = papers.truth[test][:, [papers.labels.index(label) for label in tagger.labels]] == YES
    errors = [found.ece if found else 0.0 for found in measures]
    _tell(one.name, f"{len(matrix):,}; {len(tagger.labels)} labels", "macro F1", macro_f1, truth, said, errors)


def _numbers() -> None:
    frozen = read_frozen().titles
    rows = [
        row
        for row in rows_of("conf")
        if (row["citations"] or 0) > 0 and row["abstract"] and row["year"] and title_key(row["title"]) in frozen
    ]
    held = {row["id"]: row for row in drawn(rows, 2_000)}
    source, matrix, texts = _read(held, tuple(held))
    years = [int(row["year"]) for row in held.values()]
    for name, numbers in (("year", years), ("citations", [row["citations"] for row in held.values()])):
        order = np.argsort(np.argsort(numbers, kind="stable"), kind="stable")
        percentiles = 100 * (order + 0.5) / len(order)
        options = [ForecastOptions(vectors_only=only) for only in (True, False)]
        made = [train_forecaster("f", source, matrix, percentiles, years, one, texts=texts) for one in options]
        test = np.random.default_rng(0).permutation(len(matrix))[: len(matrix) // 4]
        said = [one.forecast(matrix[test], [texts[row] for row in test])[:, 0] for one in made]
        _tell(f"Conferences, {name}", f"{len(matrix):,}", "Kendall's tau", _tau, np.array(numbers)[test], said, [])


def _read(rows: dict[str, dict[str, Any]], ids: tuple[str, ...]) -> tuple[Any, np.ndarray, list[str]]:
    source, matrix = vectors(DEFAULT_MODEL, "prx", list(rows.values()))
    place = {id_: number for number, id_ in enumerate(rows)}
    return source, matrix[[place[id_] for id_ in ids]], [f"{rows[id_]['title']} {rows[id_]['abstract']}" for id_ in ids]


def _tau(true: np.ndarray, said: np.ndarray) -> float:
    from scipy.stats import kendalltau

    return float(kendalltau(true, said).statistic)


def _tell(
    name: str,
    number: str,
    measure: str,
    statistic: Callable[[np.ndarray, np.ndarray], float],
    truth: np.ndarray,
    said: list[np.ndarray],
    errors: list[float],
) -> None:
    gain = bootstrap_statistic(
        lambda true, before, after: statistic(true, after) - statistic(true, before), truth, *said
    )
    scores = " | ".join(f"{statistic(truth, one):.3f}" for one in said)
    shown = f"{gain.mean:+.3f} \\[{gain.low:+.3f}, {gain.high:+.3f}\\]"
    told = " | ".join(f"{one:.3f}" for one in errors) or "|"
    print(f"| {name} | {number} | {measure} | {scores} | {shown} | {told} |", flush=True)
