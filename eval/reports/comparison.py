"""The report of a comparison: means, differences with their tests, the queries that changed, and what was missing."""

from __future__ import annotations

from functools import partial

from corpora.errors import short_list
from eval.outcome import outcome_of
from eval.reports.plots import bars
from eval.reports.provenance import Provenance
from eval.reports.report import Plot, Report
from eval.reports.results import Results, differences_table, groups_of, query_tables, scatter_of, shortened
from eval.reports.tables import TextTable
from eval.statistics.compare import Comparison
from eval.statistics.pairs import Pair

TOP = 10
"""Queries shown of each pair by default."""


def comparison_report(comparison: Comparison, provenance: Provenance, *, top: int = TOP) -> Report:
    """Make the report of a comparison; it shows the `top` changes of each pair, and has all in its values."""
    told = f"Means with {comparison.level:.0%} confidence intervals over queries."
    plots = [Plot("Values", told, partial(bars, groups)) for groups in groups_of(_summary(comparison))]
    return Report(
        f"Comparison of {', '.join(comparison.values)}",
        provenance,
        comparison_tables(comparison, top=top),
        (*plots, *map(scatter_of, comparison.pairs)),
        comparison.as_dict(),
        query_tables(comparison.values, comparison.texts),
    )


def comparison_tables(comparison: Comparison, *, top: int = TOP) -> tuple[TextTable, ...]:
    """Return a comparison as people read it.

    It has means, differences, the `top` changes of each pair, and what was missing.
    """
    summary = _summary(comparison).table("Means")
    changes = [_changes(pair, comparison, top) for pair in comparison.pairs]
    missing = [_missing(comparison)] if comparison.coverage else []
    return (summary, differences_table(comparison.pairs, comparison.level), *changes, *missing)


def _summary(comparison: Comparison) -> Results:
    outcomes = {label: outcome_of(values, {}, level=comparison.level) for label, values in comparison.values.items()}
    return Results("run", outcomes, comparison.level)


def _changes(pair: Pair, comparison: Comparison, top: int) -> TextTable:
    changed = pair.changed
    with_text = bool(comparison.texts)
    rows = tuple(
        (
            change.query,
            *([shortened(comparison.texts.get(change.query, "-"))] if with_text else []),
            f"{change.baseline:.3f}",
            f"{change.run:.3f}",
            f"{change.difference:+.3f}",
        )
        for change in changed[:top]
    )
    header = ("query", *(["text"] if with_text else []), pair.baseline, pair.run, "difference")
    same = len(pair.changes) - len(changed)
    note = f"the {len(rows):,} largest of {len(changed):,} changes; {same:,} queries have the same value in both"
    caption = f"Queries that changed: {pair.measure}, {pair.baseline} to {pair.run}"
    return TextTable(caption, header, rows, text_columns=1 + with_text, notes=(note,))


def _missing(comparison: Comparison) -> TextTable:
    known = any(one.unknown_documents is not None for one in comparison.coverage.values())
    rows = tuple(
        (
            label,
            f"{len(one.missing_queries):,}",
            f"{len(one.unjudged_queries):,}",
            f"{one.unjudged_documents:,} of {one.documents:,}",
            f"{one.relevant_not_found:,} of {one.relevant:,}",
            f"{one.same_id_dropped:,}",
            *([f"{one.unknown_documents or 0:,}"] if known else []),
        )
        for label, one in comparison.coverage.items()
    )
    header = (
        "run",
        "queries missing",
        "queries unjudged",
        "documents unjudged",
        "relevant not found",
        "same id dropped",
    )
    notes = [f"{name.replace('_', ' ')}: {count:,}" for name, count in comparison.counts.items()]
    for label, one in comparison.coverage.items():
        sides = {"lacks judged queries": one.missing_queries, "has queries without judgments": one.unjudged_queries}
        notes += [f"{label} {what}: {short_list(ids)}" for what, ids in sides.items() if ids]
    if any(one.missing_queries for one in comparison.coverage.values()):
        notes.append("a judged query that a run lacks counts 0 in it")
    return TextTable("What was missing", (*header, *(["not in the corpus"] if known else [])), rows, notes=tuple(notes))
