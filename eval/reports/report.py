"""Tables of results: rows that were measured, columns of measures, each with its interval where there is one."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from eval.statistics.interval import Interval, mean_interval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from eval.measures.metrics import Scores


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as they are shown; what would break a line or steer a terminal is a blank in them.

    Attributes:
        caption: What the table shows.
        header: Names of the columns.
        rows: As many cells each.
        text_columns: How many columns, from the left, hold text; the others hold numbers.
        notes: Lines to read beside it.
    """

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: int = 1
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "caption", printable(self.caption))
        object.__setattr__(self, "header", tuple(map(printable, self.header)))
        object.__setattr__(self, "rows", tuple(tuple(map(printable, row)) for row in self.rows))
        object.__setattr__(self, "notes", tuple(map(printable, self.notes)))


@dataclass(frozen=True, slots=True)
class Row:
    """The results of one thing measured.

    Attributes:
        label: What was measured: a search mode, a model, a task.
        cells: Measure to its value, with an interval where there are values per query.
        counts: What to tell beside the values, such as how many queries; those of 0 aren't shown.
    """

    label: str
    cells: Mapping[str, Interval | float]
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """A table.

    Attributes:
        heading: What the rows' labels are, such as `mode`.
        rows: The rows, in the order they are shown.
        level: Confidence level of the intervals.
        unit: What was resampled for them.
    """

    heading: str
    rows: tuple[Row, ...]
    level: float = 0.95
    unit: str = "queries"

    @property
    def columns(self) -> tuple[str, ...]:
        """All measures, in the order in which they come up."""
        return tuple(dict.fromkeys(measure for row in self.rows for measure in row.cells))

    def as_dict(self) -> dict[str, Any]:
        """Return the table in full precision as JSON knows it; a cell has `mean`, and `low` and `high` where known."""
        rows = [
            {
                self.heading: row.label,
                "measures": {
                    measure: asdict(cell) if isinstance(cell, Interval) else {"mean": cell}
                    for measure, cell in row.cells.items()
                },
                "counts": dict(row.counts),
            }
            for row in self.rows
        ]
        return {"level": self.level, "rows": rows}

    def table(self, caption: str = "Results") -> Table:
        """Return it as it is shown, what was counted in its notes."""
        header = (self.heading, *self.columns)
        rows = tuple((row.label, *(shown(row.cells.get(measure)) for measure in self.columns)) for row in self.rows)
        notes = []
        if any(isinstance(cell, Interval) for row in self.rows for cell in row.cells.values()):
            notes.append(f"[low, high]: {self.level:.0%} confidence interval over {self.unit}")
        for row in self.rows:
            told = ", ".join(counted(count, name) for name, count in row.counts.items() if count)
            if told:
                notes.append(f"{row.label}: {told}")
        return Table(caption, header, rows, notes=tuple(notes))


def report_of(scores: Mapping[str, Scores], *, heading: str = "mode", level: float = 0.95) -> Report:
    """Make a report of runs measured on the same judgments.

    Args:
        scores: Label of each run, such as its search mode, and its scores.
        heading: What the labels are.
        level: Confidence level of the intervals, taken over queries.

    Returns:
        The report.
    """
    rows = tuple(
        Row(
            label,
            {measure: mean_interval(tuple(values.values()), level=level) for measure, values in one.per_query.items()},
            {
                "queries": one.queries,
                "queries_without_results": one.without_results,
                "queries_without_relevant": one.without_relevant,
                "queries_unjudged": one.unjudged,
                "hits_of_same_id_dropped": one.same_id_dropped,
            },
        )
        for label, one in scores.items()
    )
    return Report(heading, rows, level)


def print_report(report: Report, console: Console) -> None:
    """Print the table: drawn by rich on a terminal, aligned text of one line a row anywhere else.

    Args:
        report: The report.
        console: Where to.
    """
    print_table(report.table(), console)


def print_table(table: Table, console: Console) -> None:
    """Print a table without its caption, and its notes under it, as `print_report` does.

    Args:
        table: The table.
        console: Where to.
    """
    if console.is_terminal:
        from rich.table import Column
        from rich.table import Table as Drawn
        from rich.text import Text

        drawn = Drawn(*(Column(Text(name)) for name in table.header))
        for cells in table.rows:
            drawn.add_row(*map(Text, cells))
        console.print(drawn)
    else:
        widths = [max(map(len, column)) for column in zip(table.header, *table.rows, strict=True)]
        for cells in (table.header, *table.rows):
            print_line("  ".join(map(str.ljust, cells, widths)).rstrip(), console)
    for note in table.notes:
        print_line(note, console)


def shown(cell: Interval | float | None) -> str:
    """Return a cell to three places, with its interval where it has one, or `-`."""
    if cell is None:
        return "-"
    if isinstance(cell, Interval):
        return f"{cell.mean:.3f} [{cell.low:.3f}, {cell.high:.3f}]"
    return f"{cell:.3f}"


def counted(count: int, name: str) -> str:
    """Return a count as people say it: 300 queries, 1 query without text."""
    noun, _, rest = name.replace("_", " ").partition(" ")
    if count == 1:
        endings = (("ies", "y"), ("sses", "ss"), ("s", ""))
        noun = next((noun.removesuffix(many) + one for many, one in endings if noun.endswith(many)), noun)
    return f"{count:,} {noun} {rest}".rstrip()


def printable(text: str) -> str:
    """Return a text with a blank for every character that isn't printed: line ends, terminal codes, bidi marks."""
    return "".join(character if character.isprintable() else " " for character in text)


def print_line(line: str, console: Console) -> None:
    """Print a line as it is: no markup, no colours, no wrapping."""
    console.print(line, markup=False, highlight=False, soft_wrap=True)
