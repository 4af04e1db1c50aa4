"""Reports of results: tables and plots of measures, and comparisons with their tests and the queries that changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

from corpora.errors import short_list
from corpora.installed import deferred
from eval.outcome import Outcome, outcome_of
from eval.reports.report import SERIES, Plot, Provenance, Report, TextTable, counted, shown
from eval.statistics.interval import FEW, UNIT, Cell, Interval, Values, interval_coverage

if TYPE_CHECKING:
    from eval.statistics.compare import Comparison
    from eval.statistics.pairs import Pair

KIND = "Query by query"

MOST_ROWS = 500
"""Most rows of a table of all queries; a report in JSON has all rows."""

MOST_LABELS = 4
"""Up to this many systems, each pair is plotted; with more, each system against the first."""

_LONGEST_TEXT = 60


def _drawing(kind: str, *values: object) -> Callable[[], str]:
    """Return what draws a plot of values by a function of `eval.reports.plots`, which few forms of reports need."""
    return partial(deferred("eval.reports.plots", kind), *values)


def scatter_plot(measure: str, names: tuple[str, str], a: Sequence[float], b: Sequence[float]) -> Plot:
    """Return the plot of two systems' values of the same queries."""
    caption = (
        f"{measure} of each query, a larger point for several alike: above the line {names[1]} is better, "
        f"below it {names[0]}."
    )
    return Plot(KIND, caption, _drawing("scatter", a, b, names, measure))


def differences_table(pairs: Sequence[Pair], level: float) -> TextTable:
    """Return the differences of pairs from one call of `compare_values` with both tests, one row per pair."""
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
    if few := [pair for pair in pairs if 0 < len(pair.changed) < FEW]:
        fewest = min(len(pair.changed) for pair in few)
        least = max(pair.p_randomization_least for pair in few)
        notes.append(
            f"few queries ({fewest} differ): p randomization can't be below {_p(least)} there, and is too small "
            "where a few differences are much larger than the others"
        )
    return TextTable("Differences", header, rows, text_columns=2, notes=tuple(notes))


def scatter_of(pair: Pair) -> Plot:
    """Return the plot of a pair's queries."""
    a, b = [change.baseline for change in pair.changes], [change.run for change in pair.changes]
    return scatter_plot(pair.measure, (pair.baseline, pair.run), a, b)


def scatter_plots(values: Mapping[str, Values]) -> list[Plot]:
    """Return the plots of all systems that were measured on the same queries, by one measure of these.

    `values` holds the value of each query by system and measure.
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

    `values` holds the value of each query by system and measure, and `texts` the queries as far as known. There is a
    table for each measure, and for each set of queries where systems were measured on different ones.
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


FEWEST = 10
"""Fewest values for which the coverage of intervals is shown."""

Groups = dict[str, dict[str, Cell]]
"""By group and series, the value."""

_HOW = (
    "how far the intervals can be relied on. The queries are split in half many times; the interval of one half, "
    "widened by the square root of 2 because the other half's mean scatters too, should hold the other's mean as often "
    "as its level says. Below the dashed line intervals are too narrow, above it too wide."
)


@dataclass(frozen=True, slots=True)
class Results:
    """A table of outcomes.

    Attributes:
        heading: Noun for the rows' labels, such as `mode`.
        outcomes: Outcomes by label, in the order in which they are shown.
        level: Confidence level of the intervals.
        unit: Noun for what was resampled for them.
    """

    heading: str
    outcomes: Mapping[str, Outcome]
    level: float = 0.95
    unit: str = "queries"

    @property
    def columns(self) -> tuple[str, ...]:
        """All measures, in order of first occurrence."""
        return tuple(dict.fromkeys(measure for outcome in self.outcomes.values() for measure in outcome.cells))

    def as_dict(self) -> dict[str, Any]:
        """Return the table in full precision as JSON values; a cell has `mean`, and `low` and `high` where known."""
        rows = [
            {
                self.heading: label,
                "measures": {
                    measure: asdict(cell) if isinstance(cell, Interval) else {"mean": cell}
                    for measure, cell in outcome.cells.items()
                },
                "counts": dict(outcome.counts),
                **({"notes": dict(outcome.notes)} if outcome.notes else {}),
            }
            for label, outcome in self.outcomes.items()
        ]
        return {"level": self.level, "rows": rows}

    def table(self, caption: str = "Results") -> TextTable:
        """Return it as it is shown, with the counts as notes."""
        rows = tuple(
            (label, *(shown(outcome.cells.get(measure)) for measure in self.columns))
            for label, outcome in self.outcomes.items()
        )
        notes = []
        if any(isinstance(cell, Interval) for outcome in self.outcomes.values() for cell in outcome.cells.values()):
            notes.append(f"[low, high]: {self.level:.0%} confidence interval over {self.unit}")
        for label, outcome in self.outcomes.items():
            if counts := ", ".join(counted(count, name) for name, count in outcome.counts.items() if count):
                notes.append(f"{label}: {counts}")
            notes += [f"{label}: {measure}: {note}" for measure, note in outcome.notes.items()]
        return TextTable(caption, (self.heading, *self.columns), rows, notes=tuple(notes))


def results_report(
    title: str,
    results: Results,
    provenance: Provenance,
    *,
    pairs: Sequence[Pair] = (),
    seconds: Mapping[str, float] | None = None,
    by_system: bool = False,
) -> Report:
    """Make the report of a table of results.

    `pairs` are what `compare_values` found between labels that were measured on the same queries, and `seconds` how
    long each label took. `by_system` says that the columns are systems, such as models, and not measures.
    """
    known = {label: outcome.per_unit for label, outcome in results.outcomes.items() if outcome.per_unit}
    if by_system:
        rows = {system: {row: of[system] for row, of in known.items() if system in of} for system in results.columns}
        known = {system: of_row for system, of_row in rows.items() if of_row}
    differences = [differences_table(pairs, results.level)] if pairs else []
    grouped = [_by_label(results, results.columns)] if by_system else groups_of(results)
    # One measure's points say it: those of others look alike.
    drawn = [scatter_of(pair) for pair in pairs if pair.measure == pairs[0].measure]
    plots = (
        *(_bars(groups, results) for groups in grouped if groups),
        *_speed(results, seconds or {}),
        *(drawn or scatter_plots(known)),
        *_reliability(known),
    )
    values = {
        **results.as_dict(),
        "pairs": [pair.as_dict() for pair in pairs],
        "per_unit": {label: dict(one) for label, one in known.items()},
        "seconds": dict(seconds or {}),
    }
    return Report(title, provenance, (results.table(title), *differences), plots, values, query_tables(known))


def groups_of(results: Results) -> list[Groups]:
    """Divide a table of measures into groups for plots, because very large values would hide small ones beside them.

    Where all rows have all measures, they are compared by measure; else, as with tasks that each have measures of their
    own, the groups are rows.
    """
    cells = {label: outcome.cells for label, outcome in results.outcomes.items()}
    large = [
        measure for measure in results.columns if max(_reach(of[measure]) for of in cells.values() if measure in of) > 1
    ]
    usual = [measure for measure in results.columns if measure not in large]
    plots: list[Groups] = []
    for measures in ([usual] if usual else []) + [[measure] for measure in large]:
        rows = {label: of for label, of in cells.items() if of.keys() & set(measures)}
        if len(rows) <= SERIES and all(of.keys() >= set(measures) for of in rows.values()):
            plots.append({measure: {label: of[measure] for label, of in rows.items()} for measure in measures})
        else:
            plots += [_by_label(results, measures[at : at + SERIES]) for at in range(0, len(measures), SERIES)]
    return plots


def _by_label(results: Results, columns: Sequence[str]) -> Groups:
    cells = {
        label: {name: outcome.cells[name] for name in columns if name in outcome.cells}
        for label, outcome in results.outcomes.items()
    }
    return {label: one for label, one in cells.items() if one}


def _reach(cell: Cell) -> float:
    return max(map(abs, (cell.low, cell.mean, cell.high))) if isinstance(cell, Interval) else abs(cell)


def _bars(groups: Groups, results: Results) -> Plot:
    known = [isinstance(cell, Interval) for one in groups.values() for cell in one.values()]
    where = "" if all(known) else ", where they are known,"
    lines = f"; lines{where} are {results.level:.0%} confidence intervals" if any(known) else ""
    return Plot("Values", f"The values of the table{lines}.", _drawing("bars", groups))


def _reliability(values: Mapping[str, Values]) -> list[Plot]:
    plots: list[Plot] = []
    for measure in dict.fromkeys(measure for one in values.values() for measure in one):
        enough = {
            label: tuple(one[measure].values())
            for label, one in values.items()
            if measure in one and len(one[measure]) >= FEWEST
        }
        labels = list(enough)
        for start in range(0, len(labels), SERIES):
            lines = {label: enough[label] for label in labels[start : start + SERIES]}
            caption = "as above." if plots else _HOW
            plots.append(
                Plot("Reliability of the intervals", f"{measure}: {caption}", partial(_draw_reliability, lines))
            )
    return plots


def _draw_reliability(values: Mapping[str, tuple[float, ...]]) -> str:
    found = {
        label: interval_coverage(one, scale=UNIT if min(one) >= 0 and max(one) <= 1 else None)
        for label, one in values.items()
    }
    return _drawing("reliability", found)()


def _speed(results: Results, seconds: Mapping[str, float]) -> list[Plot]:
    """Plot the first measure that two or more timed rows have: one point alone shows no trade-off with time."""
    timed = {label: outcome.cells for label, outcome in results.outcomes.items() if seconds.get(label, 0) > 0}
    for measure in results.columns:
        cells = {label: of[measure] for label, of in timed.items() if measure in of}
        if len(cells) > 1:
            caption = f"{measure} against time: up and to the left is better."
            return [Plot("Speed against quality", caption, _drawing("speed_and_quality", seconds, cells, measure))]
    return []


TOP = 10
"""Queries shown of each pair by default."""


def comparison_report(comparison: Comparison, provenance: Provenance, *, top: int = TOP) -> Report:
    """Make the report of a comparison; it shows the `top` changes of each pair, and has all in its values."""
    caption = f"Means with {comparison.level:.0%} confidence intervals over queries."
    plots = [Plot("Values", caption, _drawing("bars", groups)) for groups in groups_of(_summary(comparison))]
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
