"""How often intervals contain the true mean, and how wide they are, on random queries with a known true mean.

The last table is how often the tests of two runs find a difference at 0.05 where both means are the same.

Run: make bench-coverage
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eval.statistics.interval import UNIT, Scale, drawn_means

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Sample = NDArray[np.float64]
    Limits = tuple[Sample, Sample]
    Draw = Callable[[np.random.Generator, tuple[int, int]], Sample]
    Method = Callable[[Sample, Scale | None], Limits]

LEVEL = 0.95
SIZES = (5, 10, 25)
SAMPLES, RESAMPLES = 2_000, 10_000


@dataclass(frozen=True, slots=True)
class World:
    """Values of queries, whose mean is known.

    Attributes:
        draw: Draws values, (samples, queries).
        mean: Their true mean.
        scale: Scale of the values; None if unknown.
    """

    draw: Draw
    mean: float
    scale: Scale | None = UNIT


@dataclass(frozen=True, slots=True)
class Found:
    """The results of a method on samples of one world: the share that contained the mean, and the mean width."""

    coverage: float
    width: float


def binary(p: float) -> World:
    """Return queries that succeed with probability p, as Success@k and the accuracy of a class."""
    return World(lambda generator, shape: (generator.random(shape) < p).astype(float), p)


def graded(zero: float, one: float, a: float, b: float) -> World:
    """Return queries with the values 0 or 1 with these probabilities, and otherwise beta(a, b), similar to nDCG."""

    def draw(generator: np.random.Generator, shape: tuple[int, int]) -> Sample:
        chance = generator.random(shape)
        return np.where(chance < zero, 0.0, np.where(chance < zero + one, 1.0, generator.beta(a, b, shape)))

    return World(draw, one + (1 - zero - one) * a / (a + b))


def changed(better: float, worse: float, size: float) -> World:
    """Return differences of two runs: some queries better by this much, some worse, the others the same."""

    def draw(generator: np.random.Generator, shape: tuple[int, int]) -> Sample:
        chance = generator.random(shape)
        return np.where(chance < better, size, np.where(chance < better + worse, -size, 0.0))

    return World(draw, size * (better - worse), (-1.0, 1.0))


WORLDS: Mapping[str, World] = {
    **{f"0 or 1, {p:.0%} of them 1": binary(p) for p in (0.05, 0.1, 0.3, 0.5, 0.7, 0.75, 0.9, 0.95)},
    "beta(2, 1)": graded(0, 0, 2, 1),
    "beta(0.5, 0.5)": graded(0, 0, 0.5, 0.5),
    "beta(1, 8)": graded(0, 0, 1, 8),
    "beta(20, 20)": graded(0, 0, 20, 20),
    "30% 0, 20% 1, else beta(2, 2)": graded(0.3, 0.2, 2, 2),
    "10% 0, 40% 1, else beta(2, 1)": graded(0.1, 0.4, 2, 1),
    "60% 0, 5% 1, else beta(1, 3)": graded(0.6, 0.05, 1, 3),
    "85% 0, else beta(1, 1)": graded(0.85, 0, 1, 1),
    "5% 0, 80% 1, else beta(3, 1)": graded(0.05, 0.8, 3, 1),
    "10% 0, else beta(20, 4)": graded(0.1, 0, 20, 4),
}
"""Measures between 0 and 1."""

DIFFERENCES: Mapping[str, World] = {
    "20% +1, 5% -1, else 0": changed(0.2, 0.05, 1.0),
    "5% +1, else 0": changed(0.05, 0.0, 1.0),
    "30% +0.1, 20% -0.1, else 0": changed(0.3, 0.2, 0.1),
    "normal(0.01, 0.02)": World(lambda generator, shape: generator.normal(0.01, 0.02, shape), 0.01, (-1.0, 1.0)),
}
"""Differences between two runs by query."""

UNBOUNDED: Mapping[str, World] = {
    "normal": World(lambda generator, shape: generator.normal(size=shape), 0.0, None),
    "uniform": World(lambda generator, shape: generator.uniform(3, 5, shape), 4.0, None),
    "exponential": World(lambda generator, shape: generator.exponential(size=shape), 1.0, None),
    "lognormal, sigma 1.5": World(
        lambda generator, shape: generator.lognormal(sigma=1.5, size=shape), float(np.exp(1.5**2 / 2)), None
    ),
}
"""Values without a scale, such as losses."""


def ours(samples: Sample, scale: Scale | None) -> Limits:
    """Return the limits of `mean_interval`."""
    lows, highs = drawn_means(samples, scale, RESAMPLES, seed=0)
    return np.quantile(lows, (1 - LEVEL) / 2, axis=0), np.quantile(highs, (1 + LEVEL) / 2, axis=0)


def of_differences(samples: Sample, _: Scale | None) -> Limits:
    """Return the limits that `ses eval compare` gives a mean difference."""
    from eval.statistics.pairs import reach_of

    found = [ours(row[None, :], (-reach_of(row), reach_of(row))) for row in samples]
    lows, highs = zip(*found, strict=True)
    return np.concatenate(lows), np.concatenate(highs)


def percentile(samples: Sample, _: Scale | None) -> Limits:
    """Return the limits of the percentile bootstrap."""
    count = samples.shape[1]
    chosen = np.random.default_rng(0).integers(count, size=(RESAMPLES, count))
    weights = np.stack([np.bincount(row, minlength=count) for row in chosen]) / count
    low, high = np.quantile(weights @ samples.T, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return low, high


def student(samples: Sample, _: Scale | None) -> Limits:
    """Return the limits of Student's interval."""
    from scipy import stats

    count, mean = samples.shape[1], samples.mean(axis=1)
    reach = stats.t.ppf((1 + LEVEL) / 2, count - 1) * samples.std(axis=1, ddof=1) / count**0.5
    return mean - reach, mean + reach


def clopper_pearson(samples: Sample, _: Scale | None) -> Limits:
    """Return the exact limits of a share; there are none for values between 0 and 1."""
    from scipy import stats

    if not np.isin(samples, (0.0, 1.0)).all():
        nothing = np.full(len(samples), np.nan)
        return nothing, nothing
    count, ones = samples.shape[1], samples.sum(axis=1)
    low = stats.beta.ppf((1 - LEVEL) / 2, ones, count - ones + 1)
    high = stats.beta.ppf((1 + LEVEL) / 2, ones + 1, count - ones)
    return np.where(ones == 0, 0.0, low), np.where(ones == count, 1.0, high)


def measure(method: Method, world: World, queries: int, samples: int = SAMPLES, seed: int = 0) -> Found:
    """Draw samples of a world and count how often a method's interval contains the mean."""
    drawn = world.draw(np.random.default_rng([seed, queries]), (samples, queries))
    low, high = method(drawn, world.scale)
    slack = 1e-9
    return Found(float(np.mean((low - slack <= world.mean) & (world.mean <= high + slack))), float(np.mean(high - low)))


TABLES: Mapping[str, tuple[Mapping[str, World], Mapping[str, Method]]] = {
    "measures between 0 and 1": (
        WORLDS,
        {"ses": ours, "percentile bootstrap": percentile, "Student": student, "Clopper-Pearson": clopper_pearson},
    ),
    "differences of two runs": (
        DIFFERENCES,
        {"ses": of_differences, "percentile bootstrap": percentile, "Student": student},
    ),
    "no known scale": (UNBOUNDED, {"ses": ours, "percentile bootstrap": percentile, "Student": student}),
}


SAME_MEANS: Mapping[str, Draw] = {
    "normal": lambda generator, shape: generator.normal(size=shape),
    "lognormal, less its mean": lambda generator, shape: generator.lognormal(size=shape) - np.exp(0.5),
}
"""Differences of two runs with the same mean."""


def rejected(test: Callable[..., float], draw: Draw, queries: int, samples: int = 1_000) -> float:
    """Return the share of samples with a p-value of at most 0.05."""
    drawn = draw(np.random.default_rng([0, queries]), (samples, queries))
    return float(np.mean([test(row) <= 0.05 for row in drawn]))


def main() -> None:
    """Print the coverage and mean width of every method in every world, as tables of Markdown."""
    from eval.statistics.pairs import least_randomization_p, paired_bootstrap_p, randomization_p

    for caption, (worlds, methods) in TABLES.items():
        print(f"\n| {caption} | queries | {' | '.join(methods)} |")
        print(f"| --- | ---: | {' | '.join('---:' for _ in methods)} |")
        for name, world in worlds.items():
            for queries in SIZES:
                found = [measure(method, world, queries) for method in methods.values()]
                cells = ["-" if np.isnan(one.width) else f"{one.coverage:.3f} ({one.width:.2f})" for one in found]
                print(f"| {name} | {queries} | {' | '.join(cells)} |")
    print("\n| differences with the mean 0 | queries | least p | randomization | bootstrap |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, draw in SAME_MEANS.items():
        for queries in SIZES:
            shares = " | ".join(
                f"{rejected(test, draw, queries):.3f}" for test in (randomization_p, paired_bootstrap_p)
            )
            print(f"| {name} | {queries} | {least_randomization_p(np.ones(queries)):.4f} | {shares} |")


if __name__ == "__main__":
    main()
