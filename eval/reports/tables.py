"""Tables for people, in a terminal or in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpora.outgoing import aligned, in_a_line
from eval.statistics.interval import Cell, Interval

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, slots=True)
class TextTable:
    """Cells as they are shown; they hold neither line ends nor terminal codes.

    Attributes:
        caption: What the table shows.
        header: Names of the columns.
        rows: Each has one cell per column.
        text_columns: How many columns, from the left, hold text; the others hold numbers.
        notes: Lines to read beside it.
    """

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: int = 1
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "caption", in_a_line(self.caption))
        object.__setattr__(self, "header", tuple(map(in_a_line, self.header)))
        object.__setattr__(self, "rows", tuple(tuple(map(in_a_line, row)) for row in self.rows))
        object.__setattr__(self, "notes", tuple(map(in_a_line, self.notes)))


def print_table(table: TextTable, console: Console) -> None:
    """Print a table without its caption, and its notes under it.

    On a terminal rich draws the table; elsewhere it is aligned text with one line per row.
    """
    if console.is_terminal:
        from rich.table import Column, Table
        from rich.text import Text

        drawn = Table(*(Column(Text(name)) for name in table.header))
        for cells in table.rows:
            drawn.add_row(*map(Text, cells))
        console.print(drawn)
    else:
        for line in aligned([table.header, *table.rows]):
            print_line(line, console)
    for note in table.notes:
        print_line(note, console)


def shown(cell: Cell | None) -> str:
    """Return a cell to three places, with its interval where it has one, or `-`."""
    if isinstance(cell, Interval):
        return f"{cell.mean:.3f} [{cell.low:.3f}, {cell.high:.3f}]"
    return "-" if cell is None else f"{cell:.3f}"


def counted(count: int, name: str) -> str:
    """Return a count in words: 300 queries, 1 query without text."""
    noun, _, rest = name.replace("_", " ").partition(" ")
    if count == 1:
        endings = (("ies", "y"), ("sses", "ss"), ("s", ""))
        noun = next((noun.removesuffix(many) + one for many, one in endings if noun.endswith(many)), noun)
    return f"{count:,} {noun} {rest}".rstrip()


def print_line(line: str, console: Console) -> None:
    """Print a line as it is: no markup, no colours, no wrapping."""
    console.print(line, markup=False, highlight=False, soft_wrap=True)
