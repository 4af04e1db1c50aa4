"""Results by query (or other unit of a mean): scatter plots of two systems, and tables of all values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations

from eval.reports.plots import scatter
from eval.reports.report import Plot
from eval.reports.tables import TextTable
from eval.statistics.interval import FEW, Interval, Values
from eval.statistics.pairs import Pair

KIND = "Query by query"

MOST_ROWS = 500
"""Most rows of a table of all queries; a report in JSON has all rows."""

MOST_LABELS = 4
"""Up to this many systems, each pair is plotted; with more, each system against the first."""

_LONGEST_TEXT = 60


def scatter_plot(measure: str, names: tuple[str, str], a: Sequence[float], b: Sequence[float]) -> Plot:
    """Return the plot of two systems' values of the same queries."""
    told = (
        f"{measure} of each query, a larger point for several alike: above the line {names[1]} is better, "
        f"below it {names[0]}."
    )
    return Plot(KIND, told, partial(scatter, a, b, names, measure))


def differences_table(pairs: Sequence[Pair], level: float) -> TextTable:
    """Return the differences of pairs with both tests, one row per pair.

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
    notes = [
        f"difference: of the means, with its {level:.0%} confidence interval over queries",
        "effect: the difference in standard deviations of the queries' differences",
        f"(Holm): corrected for all {len(pairs)} comparisons here; +/-/=: queries better, worse and the same",
    ]
    if fewest := [len(pair.changed) for pair in pairs if len(pair.changed) < FEW]:
        least = max(pair.p_randomization_least for pair in pairs)
        notes.append(
            f"few queries ({min(fewest)} differ): p randomization can't be below {_p(least)} there, and is too small "
            "where a few differences are much larger than the others"
        )
    return TextTable("Differences", header, rows, text_columns=2, notes=tuple(notes))


def scatter_of(pair: Pair) -> Plot:
    """Return the plot of a pair's queries."""
    a, b = [change.baseline for change in pair.changes], [change.run for change in pair.changes]
    return scatter_plot(pair.measure, (pair.baseline, pair.run), a, b)


def scatter_plots(values: Mapping[str, Values]) -> list[Plot]:
    """Return the plots of all systems that were measured on the same queries, by one measure of these.

    Args:
        values: By system and measure, the value of each query.

    Returns:
        The plots; none where no two systems share queries.
    """
    plots, seen = [], set()
    for measure, queries, labels in _shared(values):
        # One measure is enough: the plots of others look alike.
        if queries in seen or len(labels) < 2 or len(queries) < 2:
            continue
        seen.add(queries)
        pairs = combinations(labels, 2) if len(labels) <= MOST_LABELS else ((labels[0], other) for other in labels[1:])
        for first, second in pairs:
            a, b = values[first][measure], values[second][measure]
            plots.append(scatter_plot(measure, (first, second), list(a.values()), [b[query] for query in a]))
    return plots


def query_tables(values: Mapping[str, Values], texts: Mapping[str, str] | None = None) -> tuple[TextTable, ...]:
    """Return tables of each query's values: those with the largest differences first, or the worst first.

    Args:
        values: By system and measure, the value of each query.
        texts: Of the queries, as far as known.

    Returns:
        A table for each measure, and for each set of queries where systems were measured on different ones.
    """
    return tuple(_table(measure, labels, values, texts or {}) for measure, _, labels in _shared(values))


def shortened(text: str) -> str:
    """Return a query's text, shortened to fit a table."""
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"


def _shared(values: Mapping[str, Values]) -> Iterator[tuple[str, frozenset[str], list[str]]]:
    """Yield each measure, with each set of queries it was taken on and the systems that have just these."""
    for measure in dict.fromkeys(measure for one in values.values() for measure in one):
        labels: dict[frozenset[str], list[str]] = {}
        for label, one in values.items():
            if measure in one:
                labels.setdefault(frozenset(one[measure]), []).append(label)
        for queries, those in labels.items():
            yield measure, queries, those


def _table(measure: str, labels: Sequence[str], values: Mapping[str, Values], texts: Mapping[str, str]) -> TextTable:
    columns = [values[label][measure] for label in labels]
    several = len(labels) > 1
    found = {query: [column[query] for column in columns] for query in columns[0]}
    spread = {query: max(row) - min(row) for query, row in found.items()}
    order = sorted(found, key=lambda query: (-spread[query], query) if several else (found[query][0], query))
    rows = tuple(
        (
            query,
            *([shortened(texts.get(query, "-"))] if texts else []),
            *(f"{value:.3f}" for value in found[query]),
            *([f"{spread[query]:.3f}"] if several else []),
        )
        for query in order[:MOST_ROWS]
    )
    header = ("query", *(["text"] if texts else []), *labels, *(["largest difference"] if several else []))
    notes = [f"sorted by {'the largest difference' if several else 'the value, the lowest first'}"]
    if len(order) > MOST_ROWS:
        notes.append(f"the first {MOST_ROWS:,} of {len(order):,}; a report in JSON has all")
    caption = f"{measure} of each query" + ("" if several else f": {labels[0]}")
    return TextTable(caption, header, rows, text_columns=1 + bool(texts), notes=tuple(notes))


def _signed(interval: Interval) -> str:
    return f"{interval.mean:+.4f} [{interval.low:+.4f}, {interval.high:+.4f}]"


def _p(value: float) -> str:
    return "<0.0001" if value < 0.00005 else f"{value:.4f}"
