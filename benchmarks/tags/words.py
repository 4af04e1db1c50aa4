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
from products.tags.labels import labelled_papers
from products.tags.measures import calibration_error, reliability
from products.tags.training import TaggerOptions, train_tagger

JOURNALS, TRAINED = 20, 2_000


@dataclass(frozen=True, slots=True)
class Labelled:
    """Papers to train on and to test on, with a field of labels; a label needs `fewest` of those to train on."""

    name: str
    train: list[dict[str, Any]]
    test: list[dict[str, Any]]
    field: str
    fewest: int


def label_sets() -> Iterator[Labelled]:
    """Yield labelled papers, one collection after the other."""
    pubmed = [row for row in rows_of("pubmed") if row.get("mesh") and row["abstract"] and row["journal"]]
    frequent = {name for name, _ in Counter(row["journal"] for row in pubmed).most_common(JOURNALS)}
    journals = drawn([row for row in pubmed if row["journal"] in frequent])
    yield Labelled("PubMed, journals", journals[:TRAINED], journals[TRAINED:], "journal", 20)
    headings = drawn(pubmed, 2 * TRAINED)
    yield Labelled("PubMed, MeSH headings", headings[TRAINED:], headings[:TRAINED], "mesh", 80)
    classes = list(rows_of("ohsumed"))
    parts = (drawn([row for row in classes if row["split"] == one], TRAINED) for one in ("training", "test"))
    yield Labelled("OHSUMED, classes, its own split", *parts, "label", 30)


def words(*names: str) -> None:
    """Print the gain of each collection, or of those whose names begin so."""
    print("| papers | trained and tested on | measure | vectors | with words | gain | ECE | with words |")
    print("| --- | ---: | --- | ---: | ---: | --- | ---: | ---: |")
    for one in label_sets():
        if one.name.startswith(names or ("",)):
            _labels(one)
    if "Conferences".startswith(names or ("",)):
        _numbers()


def _labels(one: Labelled) -> None:
    def labels_of(row: dict[str, Any]) -> list[str]:
        return [value] if isinstance(value := row[one.field], str) else value

    judged = {row["id"]: dict.fromkeys(labels_of(row), True) for row in one.train}
    papers = labelled_papers(judged, judged, Hierarchy(), one.fewest)
    source, matrix, texts = _read({row["id"]: row for row in one.train}, papers.ids)
    test = {row["id"]: row for row in one.test}
    _, tested, said_of = _read(test, tuple(test))
    said, errors = [], []
    for only in (True, False):
        options = TaggerOptions(fewest=one.fewest, vectors_only=only, held_out=0)
        tagger = train_tagger("t", source, matrix, papers, Hierarchy(), options, texts=texts)
        truth = np.array([[label in labels_of(row) for label in tagger.labels] for row in one.test])
        found = tagger.probabilities(tested, said_of)
        said.append(tagger.given(found))
        errors.append(calibration_error(reliability(found.ravel(), truth.ravel())))
    number = f"{len(matrix):,} and {len(tested):,}; {len(tagger.labels)} labels"
    _tell(one.name, number, "macro F1", macro_f1, truth, said, errors)


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
        number = f"{len(matrix) - len(test):,} and {len(test):,}"
        _tell(f"Conferences, {name}", number, "Kendall's tau", _tau, np.array(numbers)[test], said, [])


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
