"""A report before it has a form: tables, plots to draw, raw values, and how the numbers were made."""

from __future__ import annotations

import platform
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.checksums import data_hash
from corpora.installed import DISTRIBUTION, installed_version
from corpora.outgoing import aligned, in_a_line
from encoders.models.card import ModelCard
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


PACKAGES = (
    *(DISTRIBUTION, "numpy", "scipy", "scikit-learn", "ir-measures", "pytrec-eval-terrier", "rank-bm25", "matplotlib"),
    *("onnxruntime", "openvino", "torch", "tokenizers", "tantivy", "faiss-cpu", "opensearch-py", "elasticsearch8"),
    *("elasticsearch9", "mteb"),
)
"""Packages that may change a number; the installed ones are listed."""

_USERINFO = re.compile(r"(?<=://).*@", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a report was made.

    Attributes:
        command: The command as typed, without the user and password of its URLs.
        date: Date and time in UTC, to the second.
        data: SHA-256 of each file or folder that was read, by its path.
        models: Fingerprint of each model by name; empty where vectors or runs came from files that don't tell.
        engine: Name and version of the search engine; empty if none was used.
        runtime: The model's runtime, such as `onnx-int8`.
        python: Version of Python.
        platform: Operating system and processor.
        packages: Version of each package by name.
        settings: Other settings, such as the seed.
    """

    command: str
    date: str
    data: Mapping[str, str]
    models: Mapping[str, str]
    engine: str
    runtime: str
    python: str
    platform: str
    packages: Mapping[str, str]
    settings: Mapping[str, str]

    @property
    def made(self) -> str:
        """The date and time as people write them, to the minute."""
        date = datetime.fromisoformat(self.date)
        return f"{date.day} {date:%B %Y, %H:%M} UTC"

    def table(self) -> TextTable:
        """Return it as a table; items that don't apply say so, unless the settings name the vectors of an index."""
        of_index = "vectors" in self.settings
        rows = [
            ("command", self.command),
            ("date", self.made),
            *((f"model {name}", f"fingerprint {fingerprint}") for name, fingerprint in self.models.items()),
            *([] if self.models or of_index else [("model", "none: the input doesn't tell")]),
            *([] if of_index else [("runtime", self.runtime or "none: nothing was encoded")]),
            *([] if of_index else [("engine", self.engine or "none: nothing was searched")]),
            *((f"data {path}", f"SHA-256 {digest}") for path, digest in self.data.items()),
            *self.settings.items(),
            ("Python", f"{self.python}, {self.platform}"),
            ("packages", ", ".join(f"{name} {number}" for name, number in self.packages.items())),
        ]
        return TextTable("How this was made", ("what", "value"), tuple(rows), text_columns=2)


def gather_provenance(
    *,
    data: Iterable[Path] = (),
    cards: Iterable[ModelCard] = (),
    engine: str = "",
    runtime: str = "",
    settings: Mapping[str, str] | None = None,
    command: Sequence[str] | None = None,
) -> Provenance:
    """Collect how the current numbers were made; `InputError` if data can't be read.

    `data` are the files and folders that were read, `cards` those of the models that made vectors, `engine` the name
    and version of the search engine as `Engine.diagnose` returns them, and `command` the words of the command, by
    default those this process was started with.
    """
    words = ["ses", *sys.argv[1:]] if command is None else command
    return Provenance(
        # An engine's URL may contain a password, and reports are shared.
        command=in_a_line(shlex.join(_USERINFO.sub("***@", word) for word in words)),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        data={in_a_line(str(path)): data_hash(path) for path in data},
        models={card.name: card.fingerprint for card in cards},
        engine=engine,
        runtime=runtime,
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        packages={name: number for name in PACKAGES if (number := installed_version(name))},
        settings=dict(settings or {}),
    )


SERIES = 8
"""Most series that a reader can distinguish by colour in one plot; `eval.reports.plots` has as many colours."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot that is drawn, as an `<svg>` element, only if the report's form can show it.

    Plots of one kind are shown under it as a heading. The caption says what a plot shows and how to read it.
    """

    kind: str
    caption: str
    draw: Callable[[], str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "caption", in_a_line(self.caption))


@dataclass(frozen=True, slots=True)
class Report:
    """A report.

    Attributes:
        title: Heading of the report.
        provenance: Facts needed to get the same numbers again.
        tables: Tables for people.
        plots: Plots for forms that can show plots.
        values: The same numbers in full precision, as JSON values.
        details: Long tables for reference, for forms that can fold them.
    """

    title: str
    provenance: Provenance
    tables: tuple[TextTable, ...]
    plots: tuple[Plot, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    details: tuple[TextTable, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", in_a_line(self.title))
