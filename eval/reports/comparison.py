"""The report of a comparison: means, differences with their tests, the queries that changed, and what was missing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from eval.reports.document import Document, Plot
from eval.reports.groups import groups_of
from eval.reports.per_query import query_tables, scatter_plot, shortened
from eval.reports.plots import bars
from eval.reports.report import Report, Row, Table
from eval.statistics.interval import Interval, mean_interval

if TYPE_CHECKING:
    from eval.reports.provenance import Provenance
    from eval.statistics.compare import Comparison
    from eval.statistics.pairs import Pair
    from eval.trec.coverage import Coverage

TOP = 10
"""Queries shown of each pair by default."""

_IDS_NAMED = 5


def comparison_document(comparison: Comparison, provenance: Provenance, *, top: int = TOP) -> Document:
    """Make the report of a comparison.

    Args:
        comparison: What was found.
        provenance: How.
        top: How many queries to show of each pair; all are in the values.

    Returns:
        The report.
    """
    told = f"Means with {comparison.level:.0%} confidence intervals over queries."
    plots = [Plot("Values", told, partial(bars, groups)) for groups in groups_of(_summary(comparison))]
    return Document(
        f"Comparison of {', '.join(comparison.values)}",
        provenance,
        comparison_tables(comparison, top=top),
        (*plots, *map(scatter_of, comparison.pairs)),
        comparison.as_dict(),
        query_tables(comparison.values, comparison.texts),
    )


def comparison_tables(comparison: Comparison, *, top: int = TOP) -> tuple[Table, ...]:
    """Return a comparison as people read it: means, differences, changes of each pair, and what was missing.

    Args:
        comparison: What was found.
        top: How many queries to show of each pair.

    Returns:
        The tables.
    """
    summary = _summary(comparison).table("Means")
    changes = [_changes(pair, comparison, top) for pair in comparison.pairs]
    missing = [_missing(comparison)] if comparison.coverage else []
    return (summary, differences_table(comparison.pairs, comparison.level), *changes, *missing)


def differences_table(pairs: Sequence[Pair], level: float) -> Table:
    """Return the differences of pairs with both tests, a line each.

    Args:
        pairs: From one call of `compare_values`.
        level: Confidence level of the intervals.

    Returns:
        The table.
    """
    rows = tuple(
        (
            pair.measure,
            f"{pair.run} - {pair.baseline}",
            _signed(pair.difference),
            "-" if pair.effect is None else f"{pair.effect:+.2f}",
            f"{_p(pair.p_randomization)} ({_p(pair.p_randomization_holm)})",
            f"{_p(pair.p_bootstrap)} ({_p(pair.p_bootstrap_holm)})",
            f"{pair.better}/{pair.worse}/{len(pair.changes) - pair.better - pair.worse}",
        )
        for pair in pairs
    )
    header = ("measure", "pair", "difference", "effect", "p randomization (Holm)", "p bootstrap (Holm)", "+/-/=")
    notes = (
        f"difference: of the means, with its {level:.0%} confidence interval over queries",
        "effect: the difference in standard deviations of the queries' differences",
        f"(Holm): corrected for all {len(pairs)} comparisons here; +/-/=: queries better, worse and the same",
    )
    return Table("Differences", header, rows, text_columns=2, notes=notes)


def scatter_of(pair: Pair) -> Plot:
    """Return the plot of a pair's queries."""
    a, b = [change.baseline for change in pair.changes], [change.run for change in pair.changes]
    return scatter_plot(pair.measure, (pair.baseline, pair.run), a, b)


def _summary(comparison: Comparison) -> Report:
    rows = tuple(
        Row(
            label,
            {
                measure: mean_interval(tuple(by_query.values()), level=comparison.level)
                for measure, by_query in values.items()
            },
        )
        for label, values in comparison.values.items()
    )
    return Report("run", rows, comparison.level)


def _changes(pair: Pair, comparison: Comparison, top: int) -> Table:
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
    return Table(caption, header, rows, text_columns=1 + with_text, notes=(note,))


def _missing(comparison: Comparison) -> Table:
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
        notes += _named(label, one)
    if any(one.missing_queries for one in comparison.coverage.values()):
        notes.append("a judged query that a run lacks counts 0 in it")
    return Table("What was missing", (*header, *(["not in the corpus"] if known else [])), rows, notes=tuple(notes))


def _named(label: str, one: Coverage) -> list[str]:
    sides = {"lacks judged queries": one.missing_queries, "has queries without judgments": one.unjudged_queries}
    return [f"{label} {what}: {', '.join(ids[:_IDS_NAMED])}{_more(len(ids))}" for what, ids in sides.items() if ids]


def _more(count: int) -> str:
    return f" and {count - _IDS_NAMED:,} more" if count > _IDS_NAMED else ""


def _signed(interval: Interval) -> str:
    return f"{interval.mean:+.4f} [{interval.low:+.4f}, {interval.high:+.4f}]"


def _p(value: float) -> str:
    return "<0.0001" if value < 0.00005 else f"{value:.4f}"
