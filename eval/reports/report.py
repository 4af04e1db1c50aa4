"""A report before it has a form: tables, plots to draw, provenance and raw values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from corpora.outgoing import in_a_line
from eval.reports.provenance import Provenance
from eval.reports.tables import TextTable


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
