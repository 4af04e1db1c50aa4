"""Forecasters: linear models of citation percentiles over vectors and words, with intervals that hold as often as said.

The interval of a paper holds the outcomes of the training papers with a similar forecast, by models that were not
fitted to them, except for the same share of the highest and the lowest (conformal prediction by categories: Vovk,
Gammerman & Shafer, "Algorithmic learning in a random world", 2005, section 4.5; by cross-validation: Vovk,
"Cross-conformal predictors", 2015). For papers like those of training it holds about as often as stated.

A forecaster is kept in a folder: a head as models have it and the weights of words, in safetensors, and JSON. It is
applied to the papers of an index: nothing is encoded, and only what has changed is written.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from corpora.errors import InputError
from corpora.lazy import np
from encoders.heads import read_heads
from encoders.models.folder import read_json, write_json
from products.trained import TrainedVectors, check_vectors, storing, write_values
from products.words import WordWeights, added, read_words
from search_plugin.contract.schema import Field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from corpora.custom import FieldValue
    from corpora.progress import Progress
    from encoders.heads import Head
    from search_plugin.contract.engine import Index
    from search_plugin.contract.tree import Filter


@dataclass(frozen=True, slots=True)
class ForecastMeasures:
    """How well a forecaster does on papers that it was not fitted to.

    Attributes:
        papers: How many.
        how: Description of the papers.
        coverage: Share of them whose percentile is within its interval.
        width: Mean width of the intervals, in percentiles.
        error: Mean distance between forecast and percentile.
        blind_error: The same of a forecaster that says 50 of every paper.
        correlation: Spearman's, of forecasts and percentiles.
        by_year: Coverage and papers by year of publication, which shows where intervals are too narrow.
    """

    papers: int
    how: str
    coverage: float
    width: float
    error: float
    blind_error: float
    correlation: float
    by_year: tuple[tuple[int, float, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Forecaster:
    """Forecasts the percentile of citations from vectors, and from words if it has learned from them.

    Attributes:
        name: Name of the forecaster and of the field of its forecasts; `NAME_low` and `NAME_high` hold the interval.
        source: The vectors that it reads.
        head: Gives the percentile, from 0 to 100.
        edges: float64 (categories - 1,), forecasts between which the categories are divided, ascending.
        low: float64 (categories,), lower end of the interval.
        high: float64 (categories,), upper end of the interval.
        level: Probability of the interval.
        made_from: Where citations came from, in words.
        measures: Measures on papers that it was not fitted to.
        words: What words add to the percentile; None if it reads vectors alone.
    """

    name: str
    source: TrainedVectors
    head: Head
    edges: np.ndarray
    low: np.ndarray
    high: np.ndarray
    level: float
    made_from: str = ""
    measures: ForecastMeasures | None = None
    words: WordWeights | None = None

    @property
    def fields(self) -> tuple[str, str, str]:
        """Names of the fields of forecast and interval."""
        return self.name, f"{self.name}_low", f"{self.name}_high"

    def forecast(self, vectors: np.ndarray, texts: Sequence[str] = ()) -> np.ndarray:
        """Return forecast and both ends of the interval, float64 (papers, 3), from 0 to 100.

        `texts` are title and abstract of each paper. Raises `InputError` if the forecaster reads words, and not each
        vector has a text.
        """
        found = self.head.predict(vectors, added(self.words, vectors, texts))
        expected = np.clip(found[:, 0].astype(np.float64), 0, 100)
        category = np.searchsorted(self.edges, expected, "right")
        low, high = self.low[category], self.high[category]
        # The mean of skewed outcomes may be outside of the middle ones.
        return np.column_stack([expected, np.minimum(low, expected), np.maximum(high, expected)])


def intervals(forecasts: np.ndarray, outcomes: np.ndarray, level: float, categories: int) -> tuple[np.ndarray, ...]:
    """Return edges, lower and upper ends of the categories of a forecaster.

    Args:
        forecasts: Forecasts of papers by models that were not fitted to them, float64 (papers,).
        outcomes: Their percentiles, float64 (papers,).
        level: Share of future outcomes to hold.
        categories: The most categories, of equal numbers of papers.

    Returns:
        float64 (categories - 1,), and twice (categories,). With n papers in a category, the ends are its outcomes of
        the ranks floor((n + 1)(1 - level) / 2) from below and from above, or 0 and 100 where that rank is 0.
    """
    shares = np.linspace(0, 1, categories + 1)[1:-1]
    edges = np.unique(np.quantile(forecasts, shares)) if categories > 1 else np.zeros(0)
    place = np.searchsorted(edges, forecasts, "right")
    low, high = [], []
    for category in range(len(edges) + 1):
        ordered = np.sort(outcomes[place == category])
        # 1 - 0.9 is a little less than 0.1.
        rank = int(np.floor((len(ordered) + 1) * (1 - level) / 2 + 1e-9))
        low.append(float(ordered[rank - 1]) if 0 < rank <= len(ordered) else 0.0)
        high.append(float(ordered[-rank]) if 0 < rank <= len(ordered) else 100.0)
    return edges, np.array(low), np.array(high)


DESCRIPTION = "forecaster.json"


def write_forecaster(folder: Path, forecaster: Forecaster) -> None:
    """Write a forecaster into a folder of its own, whole or not at all; `UnavailableError` if it can't be written."""
    described: dict[str, Any] = {
        "model": forecaster.source.model,
        "fingerprint": forecaster.source.fingerprint,
        **{part: getattr(forecaster, part).tolist() for part in ("edges", "low", "high")},
        "level": forecaster.level,
        "made_from": forecaster.made_from,
        "measures": asdict(forecaster.measures) if forecaster.measures else None,
    }
    with storing(folder, forecaster.head, forecaster.words) as part:
        write_json(part / DESCRIPTION, described)


def read_forecaster(folder: Path) -> Forecaster:
    """Read the forecaster of a folder, or raise `InputError` if its files are damaged or don't fit one another."""
    from pydantic import TypeAdapter

    described = read_json(folder / DESCRIPTION, dict)
    heads = read_heads(folder)
    try:
        (head,) = heads.values()
        found = described["measures"]
        edges, low, high = (np.array(described[part], np.float64) for part in ("edges", "low", "high"))
        forecaster = Forecaster(
            name=head.name,
            source=TrainedVectors(str(described["model"]), str(described["fingerprint"]), head.format),
            head=head,
            edges=edges,
            low=low,
            high=high,
            level=float(described["level"]),
            made_from=str(described["made_from"]),
            measures=TypeAdapter(ForecastMeasures).validate_json(orjson.dumps(found)) if found else None,
            words=read_words(folder, 1),
        )
        _check(forecaster)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"The forecaster in {folder} can't be read ({str(error)[:200]}); train it again.") from error
    return forecaster


def _check(forecaster: Forecaster) -> None:
    edges, low, high = forecaster.edges, forecaster.low, forecaster.high
    if forecaster.head.labels or not len(edges) + 1 == len(low) == len(high) or sorted(edges) != list(edges):
        raise ValueError("its intervals don't fit one another")


@dataclass(frozen=True, slots=True)
class ForecastReport:
    """How many papers of an index a forecaster read, how many it changed, and how many seconds that took."""

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

    def rows_of(vectors: np.ndarray, texts: Sequence[str]) -> list[dict[str, FieldValue | None]]:
        return [dict(zip(names, row, strict=True)) for row in forecaster.forecast(vectors, texts).round(1).tolist()]

    fields = [Field(name, "number", facet=False, origin="forecast") for name in names]
    papers, written = write_values(
        index, forecaster.source, where, fields, rows_of, progress, texts=forecaster.words is not None
    )
    return ForecastReport(forecaster.name, index.name, papers, written, time.perf_counter() - begun)
