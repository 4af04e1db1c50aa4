"""The average of the figures of results, and its change against a baseline (SciMult, table 9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from corpora.documents import read_json
from corpora.errors import InputError, require

Figures = Mapping[tuple[str, str], float]
"""By the label of a row and its measure."""

_NO_LABEL = ("measures", "counts", "notes")
"""Members of a row beside its label, whose name differs by protocol."""


def read_figures(paths: Sequence[Path], measures: Sequence[str] = ()) -> Figures:
    """Read the figures of results that protocols printed as JSON; those of some `measures`, or all.

    Raises `InputError` if a file holds no results, a measure is in none, or a figure is in two files.
    """
    found: dict[tuple[str, str], float] = {}
    for path in paths:
        for figure, value in _figures(path):
            row, measure = figure
            require(figure not in found, f"{path} has {measure} of {row!r}, as a file before it: name one of the two.")
            found[figure] = value
    known = dict.fromkeys(measure for _, measure in found)
    require(known, f"{', '.join(map(str, paths))} hold no figures: measure something first.")
    if absent := [name for name in measures if name not in known]:
        raise InputError(f"The results have no measure {absent[0]!r}; they have: {', '.join(known)}.")
    return {figure: value for figure, value in found.items() if not measures or figure[1] in measures}


def average(figures: Figures) -> float:
    """Return the mean of figures, as in the columns "Average" of SciMult's tables."""
    return fmean(figures.values())


def change(figures: Figures, baseline: Figures) -> float:
    """Return by which share of the baseline's average the average differs.

    Raises `InputError` if the two have different figures, or the baseline's average is 0.
    """
    if differing := sorted(figures.keys() ^ baseline.keys()):
        row, measure = differing[0]
        has = "results have" if differing[0] in figures else "baseline has"
        raise InputError(f"Only the {has} {measure} of {row!r}: measure both on the same sets, or name measures.")
    of_baseline = average(baseline)
    require(of_baseline, "The average of the baseline is 0, so there is no change against it: name other measures.")
    return average(figures) / of_baseline - 1


def _figures(path: Path) -> Iterator[tuple[tuple[str, str], float]]:
    require(path.is_file(), f"There is no file {path}: check its name.")
    try:
        rows: Any = read_json(path)["rows"]
        for row in rows:
            label = next(str(value) for name, value in row.items() if name not in _NO_LABEL)
            for measure, cell in row["measures"].items():
                yield (label, measure), float(cell["mean"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError, StopIteration) as error:
        raise InputError(f"{path} can't be read as results: name a file that a protocol printed as JSON.") from error
