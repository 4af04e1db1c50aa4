"""Writes forecasts into an index: its vectors are read, nothing is encoded, and only what has changed is written."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from products.forecasts.forecaster import Forecaster
from products.trained import check_vectors, write_values
from search_plugin.contract.fields import Field

if TYPE_CHECKING:
    import numpy as np

    from corpora.custom import FieldValue
    from corpora.progress import Progress
    from search_plugin.contract.engine import Index
    from search_plugin.contract.tree import Filter


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
    """Write the forecasts of the papers that match into fields of the origin `forecast`, to one decimal.

    Raises `InputError` if the forecaster is of another model, or the index has a field of its name and another origin.
    """
    begun = time.perf_counter()
    check_vectors(f"The forecaster {forecaster.name}", forecaster.source, index)
    names = forecaster.fields

    def rows_of(vectors: np.ndarray) -> list[dict[str, FieldValue | None]]:
        return [dict(zip(names, row, strict=True)) for row in forecaster.forecast(vectors).round(1).tolist()]

    fields = [Field(name, "number", facet=False, origin="forecast") for name in names]
    papers, written = write_values(index, forecaster.source, where, fields, rows_of, progress)
    return ForecastReport(forecaster.name, index.name, papers, written, time.perf_counter() - begun)
