"""Papers with a number each, such as citations or the year, for regression."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator

from corpora.errors import InputError
from training.data.builders.base import Builder, Made, Options, Paper, Source, id_of
from training.data.chance import drawn

_SCALES = ("none", "standard", "range")


def build(source: Source, options: Options) -> Iterator[Made]:
    """Make a record of every paper with a known number.

    Args:
        source: The papers.
        options: `field` holds the number, which may be written as digits; `unknown` is the value that says there is
            none. `log` takes log(1 + number), as SciRepEval does for citations. `scale` is `none`, `standard` (mean 0
            and deviation 1 over the papers) or `range` (from 0 to 1). `most` papers are drawn, 0 for all.

    Yields:
        Papers with a number in `label`.

    Raises:
        InputError: If an option is wrong, or no paper has a number.
    """
    if options["scale"] not in _SCALES:
        raise InputError(f"The builder numbers has no scale {options['scale']!r}; choose {', '.join(_SCALES)}.")

    def value_of(paper: Paper) -> float | None:
        number = number_of(paper.get(options["field"]))
        if number is None or number == options["unknown"] or (options["log"] and number <= -1):
            return None
        return math.log1p(number) if options["log"] else number

    scaled = _scaling(options["scale"], (value_of(paper) for paper in source.papers()), options["field"])
    last = _last_chance(source, options, value_of)
    for paper in source.papers():
        value = value_of(paper)
        if value is None:
            source.left_out[f"no number under {options['field']}"] += 1
        elif drawn(source.seed, id_of(paper)) > last:
            source.left_out["not drawn"] += 1
        elif text := source.text_of(paper):
            yield Made(id_of(paper), {**text, "label": scaled(value)})
        else:
            source.left_out["no text"] += 1


def _last_chance(source: Source, options: Options, value_of: Callable[[Paper], float | None]) -> float:
    """Return the largest number drawn for a paper that is kept."""
    if not options["most"]:
        return math.inf
    found = array("d", (drawn(source.seed, id_of(paper)) for paper in source.papers() if value_of(paper) is not None))
    return sorted(found)[: int(options["most"])][-1]


def _scaling(scale: str, values: Iterator[float | None], field: str) -> Callable[[float], float]:
    count, total, squares, low, high = 0, 0.0, 0.0, math.inf, -math.inf
    mean = 0.0
    for value in values:
        if value is not None:
            count, total = count + 1, total + value
            # Welford's update: years are large numbers that lie close together.
            before, mean = mean, total / count
            squares += (value - before) * (value - mean)
            low, high = min(low, value), max(high, value)
    if not count:
        raise InputError(f"No paper has a number under {field!r}; name another field.")
    first, width = {"none": (0.0, 1.0), "standard": (mean, math.sqrt(squares / count)), "range": (low, high - low)}[
        scale
    ]
    return lambda value: (value - first) / (width or 1.0)


def number_of(value: object) -> float | None:
    """Return a finite number, which may be written as a string; None for anything else."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


BUILDER = Builder("regression", {"field": "label", "log": False, "unknown": -1.0, "scale": "none", "most": 0}, build)
