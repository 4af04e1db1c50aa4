"""The averages of SciRepEval's tables, and what its authors published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from types import MappingProxyType
from typing import Literal

from corpora.errors import require
from eval.outcome import Outcome
from eval.reports.results import Results
from eval.scirepeval.protocols import TaskResult
from eval.scirepeval.task_file import key_of
from eval.statistics.interval import value_of

Group = Literal["In-Train", "Out-of-Train", "SciDocs"]

GROUPS: Mapping[Group, tuple[str, ...]] = {
    "In-Train": (
        *("MeSH", "Fields of study", "Citation Count", "Publication Year", "Same Author Detection"),
        *("Highly Influential Citations", "Search"),
    ),
    "Out-of-Train": (
        *("Biomimicry", "DRSM", "Peer Review Score", "Max hIndex", "Tweet Mentions", "S2AND"),
        *("Paper-Reviewer Matching", "Feeds-1", "Feeds-M", "Feeds Title", "TREC-CoVID"),
    ),
    "SciDocs": ("SciDocs MAG", "SciDocs MeSH", "SciDocs CoView", "SciDocs CoRead", "SciDocs Cite", "SciDocs CoCite"),
}
"""Table 1 of the paper. RELISH and NFCorpus, which the task file has, are newer and in none of its averages."""

COLUMNS = {"classification": "CLF", "regression": "RGN", "proximity": "PRX", "adhoc_search": "SRCH"}

OURS = "this run"


AVERAGES = ("In-Train", "Out-of-Train", "SciDocs", "Average")

_BENCHMARKING = "BENCHMARKING.md of allenai/scirepeval"
_TABLE_3 = "SciRepEval, table 3"

PUBLISHED: Mapping[tuple[str, str], tuple[float, ...]] = {
    ("SciBERT", _BENCHMARKING): (51.5, 52.5, 69.0, 58.2),
    ("SPECTER", _BENCHMARKING): (54.7, 57.4, 89.1, 68.0),
    ("SciNCL", _BENCHMARKING): (55.6, 57.8, 90.8, 69.0),
    ("SciNCL + MTL CLS", _BENCHMARKING): (60.1, 56.6, 89.6, 69.3),
    ("SciNCL + MTL CTRL", _BENCHMARKING): (62.1, 57.7, 89.9, 70.3),
    ("SciNCL PALs", _BENCHMARKING): (62.3, 58.4, 90.0, 70.7),
    ("SciNCL Adapters", _BENCHMARKING): (61.9, 59.0, 90.3, 70.9),
    ("SciNCL Adapters Fusion", _BENCHMARKING): (62.0, 58.6, 89.9, 70.6),
    ("SciNCL Adapters + MTL CTRL", _BENCHMARKING): (62.5, 58.9, 90.7, 71.2),
    ("SciBERT + MTL CLS", _TABLE_3): (59.0, 57.2, 88.9, 69.0),
    ("SciBERT + MTL CTRL", _TABLE_3): (61.9, 57.9, 89.5, 70.2),
    ("SciBERT + Adapters", _TABLE_3): (62.1, 57.9, 90.1, 70.4),
    ("SciBERT + Adapters + MTL CTRL", _TABLE_3): (62.6, 58.5, 90.4, 70.9),
    ("SPECTER + MTL CLS", _TABLE_3): (59.6, 56.6, 89.0, 68.9),
    ("SPECTER + MTL CTRL", _TABLE_3): (61.4, 57.9, 89.4, 70.0),
    ("SPECTER + Adapters", _TABLE_3): (61.1, 58.6, 89.6, 70.3),
    ("SPECTER + Adapters + MTL CTRL", _TABLE_3): (61.8, 58.9, 89.9, 70.7),
}
"""Published `AVERAGES`, from 0 to 100, by model and source. BENCHMARKING.md is newer than Table 2 of the paper."""

SAMPLE_REPORT: Mapping[tuple[str, str], float] = {
    ("biomimicry", "f1"): 71.18,
    ("biomimicry", "f1 64-shot"): 38.514,
    ("biomimicry", "f1 16-shot"): 22.3444,
    ("drsm", "f1_macro"): 76.36,
    ("drsm", "f1_macro 64-shot"): 61.842,
    ("drsm", "f1_macro 24-shot"): 53.2142,
    ("feeds1", "map"): 81.03,
    ("feedstitle", "map"): 78.85,
}
"""The sample report of BENCHMARKING.md, for a model without name, by task and measure."""


@dataclass(frozen=True, slots=True)
class Averages:
    """Means of tasks, from 0 to 1.

    Attributes:
        groups: Mean of each of the paper's groups, and `Average`, that of all their numbers.
        formats: Mean of the tasks of each format, including tasks that the paper lacks.
        missing: The paper's tasks that aren't part of them.
    """

    groups: Mapping[str, float]
    formats: Mapping[str, float]
    missing: tuple[str, ...]


def average(results: Sequence[TaskResult], elsewhere: Mapping[str, float] = MappingProxyType({})) -> Averages:
    """Average tasks as the paper does.

    `elsewhere` has figures from 0 to 1 of tasks that another program measured, such as S2AND, by the paper's names.

    A task gives one number, the mean of its few-shot and full measures or of its four precisions; but each of SciDocs'
    rankings gives two, MAP and nDCG. `Average` is the mean of all 28 numbers, 7, 11 and 10 in the groups: with these
    weights, the published groups give the published averages.
    """
    by_key = {key_of(result.task.name): result for result in results}
    given = {key_of(name): [figure] for name, figure in elsewhere.items()}
    found = {
        group: [
            number
            for key in map(key_of, names)
            if key in by_key or key in given
            for number in given.get(key) or _numbers(by_key[key], apart=group == "SciDocs")
        ]
        for group, names in GROUPS.items()
    }
    everything = [number for numbers in found.values() for number in numbers]
    groups = {name: fmean(numbers) for name, numbers in (*found.items(), ("Average", everything)) if numbers}
    formats: dict[str, list[float]] = {}
    for result in results:
        formats.setdefault(COLUMNS[result.task.type], []).extend(_numbers(result, apart=False))
    known = by_key.keys() | given.keys()
    absent = tuple(name for names in GROUPS.values() for name in names if key_of(name) not in known)
    return Averages(groups, {name: fmean(numbers) for name, numbers in formats.items()}, absent)


def checked_figures(figures: Mapping[str, float], run: Iterable[str]) -> dict[str, float]:
    """Return figures of tasks that another program measured, to average with those of the tasks that are run here.

    Raises `InputError` if a figure is not from 0 to 1, its task is run here, or is in none of the groups In-Train and
    Out-of-Train, whose tasks have one number.
    """
    known = {key_of(name): name for group in ("In-Train", "Out-of-Train") for name in GROUPS[group]}
    here = set(map(key_of, run))
    for name, figure in figures.items():
        require(key_of(name) in known, f"{name!r} has no single figure in SciRepEval's averages; correct its name.")
        require(key_of(name) not in here, f"The task {name} is run here: leave its figure out.")
        require(0 <= figure <= 1, f"The figure of {name} is {figure:g}; give one from 0 to 1.")
    return {known[key_of(name)]: figure for name, figure in figures.items()}


def leaderboard(averages: Averages, label: str = OURS) -> Results:
    """Return the published averages and, below them under a label, ours, all from 0 to 1."""
    published = {
        f"{model} ({source})": {name: value / 100 for name, value in zip(AVERAGES, values, strict=True)}
        for (model, source), values in PUBLISHED.items()
    }
    rows = {**published, label: {**averages.groups, **averages.formats}}
    return Results("model", {name: Outcome(cells) for name, cells in rows.items()})


def task_table(results: Sequence[TaskResult]) -> Results:
    """Return a row for each measure of each task, with the number of the published sample report where it has one."""
    rows = {}
    for result in results:
        counts = result.outcome.counts
        for metric, cell in result.outcome.cells.items():
            published = SAMPLE_REPORT.get((key_of(result.task.name), metric))
            cells = {"measured": cell} if published is None else {"measured": cell, "sample report": published / 100}
            notes = {"measured": note} if (note := result.outcome.notes.get(metric)) else {}
            units = {metric: values} if (values := result.outcome.per_unit.get(metric)) else {}
            rows[f"{result.task.name}, {metric}"] = Outcome(cells, units, counts, notes)
            counts = {}
    return Results("task", rows, unit="queries, test papers or few-shot runs")


def _numbers(result: TaskResult, *, apart: bool) -> list[float]:
    values = list(map(value_of, result.outcome.cells.values()))
    return values if apart else [fmean(values)]
