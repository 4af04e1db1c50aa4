"""The report of a tagger: what it is, how well it does for each label, and whether its probabilities hold."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from eval.reports.plots import calibration
from eval.reports.report import SERIES, Plot, Provenance, Report, TextTable
from products.tags.measures import TaggerMeasures
from products.tags.tagger import Tagger

_HEAD = ("label", "trained on", "tested on", "threshold", "precision", "recall", "F1", "ECE")


def summary_lines(tagger: Tagger) -> Iterator[str]:
    """Yield what a tagger is and how well it does, line by line."""
    yield f"Tagger {tagger.name}: {len(tagger.labels):,} labels from {tagger.made_from}, on {tagger.source}"
    found = tagger.measures
    if found is None:
        yield "It was not measured: it was made from names, and its scores are no probabilities."
        return
    yield f"Measured on {found.how}"
    yield (
        f"Macro F1 {found.macro_f1:.3f}, micro F1 {found.micro_f1:.3f}; calibration error {found.ece:.3f} over all, "
        f"{found.label_ece:.3f} as the mean of labels; {found.untagged:.0%} of the papers get no tag"
    )
    if never := [one.label for one in found.labels if one.threshold is None]:
        yield f"Never given, since the precision can't be reached: {', '.join(never)}"


def label_rows(found: TaggerMeasures) -> list[tuple[str, ...]]:
    """Return the table of labels, its head first."""
    rows = [
        (
            one.label,
            f"{one.trained:,}",
            f"{one.positives:,}",
            "never" if one.threshold is None else f"{one.threshold:.3f}",
            *(f"{number:.3f}" for number in (one.precision, one.recall, one.f1, one.ece)),
        )
        for one in found.labels
    ]
    return [_HEAD, *rows]


def tagger_report(tagger: Tagger, provenance: Provenance) -> Report:
    """Return the report of a tagger; its plots show how often predictions of each probability are true."""
    found = tagger.measures
    head, *rows = label_rows(found) if found else [("label",), *((label,) for label in tagger.labels)]
    plots = []
    if found:
        each = [(one.label, one.bins) for one in found.labels]
        starts = range(0, len(each), SERIES)
        parts = [{"all labels": found.bins}, *(dict(each[start : start + SERIES]) for start in starts)]
        caption = "On the dashed line probabilities are right. The larger a point, the more predictions it stands for."
        plots = [Plot("Reliability", caption, partial(calibration, part)) for part in parts]
    table = TextTable("Labels", head, tuple(rows), notes=tuple(summary_lines(tagger)))
    return Report(f"Tagger {tagger.name}", provenance, (table,), tuple(plots))
