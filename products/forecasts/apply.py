"""Writes forecasts into an index: its vectors are read, nothing is encoded, and only what has changed is written."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from products.forecasts.forecaster import Forecaster
from products.trained import check_vectors, vector_blocks
from search_plugin.fields import Field

if TYPE_CHECKING:
    from indexer.report import Progress
    from search_plugin.engines.base import Index
    from search_plugin.filters.tree import Filter


@dataclass(frozen=True, slots=True)
class ForecastReport:
    """What was forecast.

    Attributes:
        forecaster: Its name, and that of the field.
        index: Name of the index.
        papers: How many were read.
        written: How many changed.
        seconds: It took.
    """

    forecaster: str
    index: str
    papers: int
    written: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)


def apply_forecaster(index: Index, forecaster: Forecaster, where: Filter | None, progress: Progress) -> ForecastReport:
    """Write the forecasts of the papers of an index into fields of the origin `forecast`, to one decimal.

    Args:
        index: Open for writing.
        forecaster: Of the index's model.
        where: Papers to forecast; None for all.
        progress: Receives progress reports.

    Returns:
        What was done.

    Raises:
        InputError: If the forecaster is of another model, or the index has a field of its name and another origin.
    """
    begun = time.perf_counter()
    check_vectors(f"The forecaster {forecaster.name}", forecaster.source, index)
    names = forecaster.fields
    index.add_fields([Field(name, "number", facet=False, origin="forecast") for name in names])
    ids = list(index.ids(where))
    progress.stage("forecasting", len(ids))
    papers = written = 0
    for found, vectors in vector_blocks(index, forecaster.source, ids):
        rows = forecaster.forecast(vectors).round(1).tolist()
        values = {id_: dict(zip(names, row, strict=True)) for id_, row in zip(found, rows, strict=True)}
        held = index.values(found, names)
        changes = {id_: row for id_, row in values.items() if held.get(id_) != row}
        if changes:
            index.update(changes)
        papers, written = papers + len(found), written + len(changes)
        progress.advance(len(found))
    if written:
        index.finish()
    return ForecastReport(forecaster.name, index.name, papers, written, time.perf_counter() - begun)
