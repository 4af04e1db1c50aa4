"""What the papers' own words bring beside the vectors for tags and forecasts (docs/results.md, Words of the papers).

Of each collection, 1,500 labelled papers are measured, and words are fitted on up to 20,000 of its papers, without
labels. Labels are predicted by logistic regression, numbers by ridge regression (`eval.formats`).

Run: python -m benchmarks.words
"""

from __future__ import annotations

import json
import lzma
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.common import data_dir
from encoders.models.formats import Format
from encoders.registry import find_model
from eval.formats import compare_formats
from eval.probes.nested import class_targets, folds, macro_f1_of, number_targets
from eval.statistics.interval import bootstrap_statistic
from search_plugin.words.space import WordSpace
from ses.models.loaded_model import make_encoder
from ses.settings import load_settings

MEASURED, FITTED, MOST_CLASSES, FEWEST = 1_500, 20_000, 40, 20
DIVISIONS = 3
"""Divisions into folds, of whose F1 the mean is taken: a single one misleads."""

COSTS = (10.0, 30.0, 100.0)
"""Values of C to choose from, by papers that are held out of those to learn from."""


@dataclass(frozen=True, slots=True)
class Collection:
    """Papers with a label, by which they are drawn, and numbers; `classes` says whether the label is predicted."""

    name: str
    label: str
    numbers: tuple[str, ...] = ()
    classes: bool = True


COLLECTIONS = (
    Collection("ohsumed", "label"),
    Collection("acl", "booktitle", ("year",)),
    Collection("pubmed", "journal"),
    Collection("conf", "venue", ("year", "citations")),
    Collection("synergy", "dataset", ("year", "cited_by"), classes=False),
)


def main() -> None:
    settings = load_settings()
    encoder = make_encoder(settings, find_model(settings.model_name))
    print("| papers | of them | PRX | with words |")
    print("| --- | --- | ---: | --- |")
    for one in COLLECTIONS:
        measured, others = _drawn(one)
        words = WordSpace.fitted(map(_said, others), "english", [Format.CLF, Format.RGN])
        base = encoder.encode([encoder.card.text(row["title"], row["abstract"]) for row in measured])
        worded = words.beside(base, list(map(_said, measured)))
        if one.classes:
            _tell(one.name, one.label, *_classes(base, worded["clf"], [row[one.label] for row in measured]))
        for number in one.numbers:
            values = [float(row[number] or 0) for row in measured]
            targets = number_targets(values if number == "year" else [math.log1p(value) for value in values])
            found = compare_formats({"prx": base, "rgn": worded["rgn"]}, targets)
            _tell(one.name, number, found.outcomes["prx"].cells["kendalltau"], found.gains["rgn"]["kendalltau"])


def _drawn(one: Collection) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the papers to measure, and those that words are fitted on."""
    with lzma.open(data_dir() / "train" / f"{one.name}.jsonl.xz", "rt", encoding="utf-8") as file:
        rows = [row for row in map(json.loads, file) if row.get("title") and row.get("abstract")]
    sizes = Counter(row[one.label] for row in rows if row[one.label])
    frequent = {label for label, size in sizes.most_common(MOST_CLASSES) if size >= FEWEST}
    draw = np.random.default_rng(0)
    known = [row for row in rows if row[one.label] in frequent and (row.get("citations", 1) or 0) > 0]
    return [known[at] for at in draw.permutation(len(known))[:MEASURED]], [
        rows[at] for at in draw.permutation(len(rows))[:FITTED]
    ]


def _said(row: Mapping[str, Any]) -> str:
    return f"{row['title']} {row['abstract']}"


def _classes(base: np.ndarray, worded: np.ndarray, labels: Sequence[str]) -> tuple[float, Any]:
    targets = class_targets(labels)
    truth = targets.values.argmax(axis=1)
    kinds = np.eye(targets.values.shape[1])
    said = []
    for rows in (base / np.linalg.norm(base, axis=1, keepdims=True), worded):
        found = np.empty((len(truth), DIVISIONS), int)
        for division in range(DIVISIONS):
            for fit, predict in folds(targets, 5, division):
                learn, held = np.split(np.random.default_rng(0).permutation(fit), [3 * len(fit) // 4])
                values = [
                    macro_f1_of(
                        kinds[truth[held]], kinds[_regression(cost, rows[learn], truth[learn]).predict(rows[held])]
                    )
                    for cost in COSTS
                ]
                best = COSTS[int(np.argmax(values))]
                found[predict, division] = _regression(best, rows[fit], truth[fit]).predict(rows[predict])
        said.append(found)

    def f1(true: np.ndarray, found: np.ndarray) -> float:
        return float(np.mean([macro_f1_of(kinds[true], kinds[own]) for own in found.T]))

    gain = bootstrap_statistic(lambda true, old, new: f1(true, new) - f1(true, old), truth, *said)
    return f1(truth, said[0]), gain


def _regression(cost: float, rows: np.ndarray, truth: np.ndarray) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=cost, max_iter=80, tol=1e-3).fit(rows, truth)


def _tell(name: str, what: str, base: Any, gain: Any) -> None:
    found = f"{gain.mean:+.3f} \\[{gain.low:+.3f}, {gain.high:+.3f}\\]"
    print(f"| {name} | {what} | {getattr(base, 'mean', base):.3f} | {found} |", flush=True)


if __name__ == "__main__":
    main()
