"""Forecasters: a linear model of citation percentiles, with intervals that hold as often as they claim.

The interval of a paper holds the outcomes of the calibration papers with a similar forecast, except for the same share
of the highest and the lowest (conformal prediction by categories: Vovk, Gammerman & Shafer, "Algorithmic learning in a
random world", 2005, section 4.5). For papers like those of calibration it holds with at least the stated probability.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from products.trained import TrainedVectors

if TYPE_CHECKING:
    import numpy as np

    from encoders.heads import Head


@dataclass(frozen=True, slots=True)
class ForecastMeasures:
    """How well a forecaster does on papers that it was not fitted to.

    Attributes:
        papers: How many.
        how: Which papers these are, in words.
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
    """Forecasts the percentile of citations from vectors.

    Attributes:
        name: Also of the field that holds its forecasts; `NAME_low` and `NAME_high` hold the interval.
        source: The vectors that it reads.
        head: Gives the percentile, from 0 to 100.
        edges: float64 (categories - 1,), forecasts between which the categories are divided, ascending.
        low: float64 (categories,), lower end of the interval.
        high: Upper end.
        level: Probability of the interval.
        made_from: Where citations came from, in words.
        measures: On papers that it was not fitted to.
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

    @property
    def fields(self) -> tuple[str, str, str]:
        """Names of the fields of forecast and interval."""
        return self.name, f"{self.name}_low", f"{self.name}_high"

    def forecast(self, vectors: np.ndarray) -> np.ndarray:
        """Return forecast and both ends of the interval, float64 (papers, 3), from 0 to 100."""
        import numpy as np

        expected = np.clip(self.head.predict(vectors)[:, 0].astype(np.float64), 0, 100)
        category = np.searchsorted(self.edges, expected, "right")
        low, high = self.low[category], self.high[category]
        # The mean of skewed outcomes may be outside of the middle ones.
        return np.column_stack([expected, np.minimum(low, expected), np.maximum(high, expected)])


def intervals(forecasts: np.ndarray, outcomes: np.ndarray, level: float, categories: int) -> tuple[np.ndarray, ...]:
    """Return edges, lower and upper ends of the categories of a forecaster.

    Args:
        forecasts: Of calibration papers, float64 (papers,).
        outcomes: Theirs.
        level: Share of future outcomes to hold.
        categories: At most so many, of equal numbers of papers.

    Returns:
        float64 (categories - 1,), and twice (categories,). With n papers in a category, the ends are its outcomes of
        the ranks floor((n + 1)(1 - level) / 2) from below and from above, or 0 and 100 where that rank is 0.
    """
    import numpy as np

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
