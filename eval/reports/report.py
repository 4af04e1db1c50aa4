"""What a report is before it has a form: tables, plots to draw, where it all came from, and the bare values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from eval.reports.provenance import Provenance
from eval.reports.tables import TextTable, printable


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture that is drawn only where a form can show it.

    Attributes:
        kind: What plots like it have in common; those of one kind stand under it as their heading.
        caption: What it shows and how to read it.
        draw: Returns it as an `<svg>` element.
    """

    kind: str
    caption: str
    draw: Callable[[], str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "caption", printable(self.caption))


@dataclass(frozen=True, slots=True)
class Report:
    """A report.

    Attributes:
        title: Its heading.
        provenance: What it takes to get the same numbers again.
        tables: As people read them.
        plots: For forms that have pictures.
        values: The same in full precision, as JSON knows it.
        details: Long tables to look things up in, for forms that can fold them away.
    """

    title: str
    provenance: Provenance
    tables: tuple[TextTable, ...]
    plots: tuple[Plot, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    details: tuple[TextTable, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", printable(self.title))
