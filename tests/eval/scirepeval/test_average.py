"""The averages of the paper."""

from __future__ import annotations

import pytest

from eval.outcome import Outcome
from eval.scirepeval.average import AVERAGES, GROUPS, PUBLISHED, average, leaderboard, task_table
from eval.scirepeval.protocols import TaskResult
from eval.statistics.interval import Interval
from tests.eval.scirepeval.worlds import a_task


@pytest.mark.parametrize("row", PUBLISHED, ids=" of ".join)
def test_published_averages_are_of_7_11_and_10_numbers(row):
    in_train, out_of_train, scidocs, average = PUBLISHED[row]
    assert {group: len(tasks) for group, tasks in GROUPS.items()} == dict(zip(AVERAGES, (7, 11, 6), strict=False))
    assert (7 * in_train + 11 * out_of_train + 10 * scidocs) / 28 == pytest.approx(average, abs=0.1)


def result(tmp_path, name, cells, kind="classification", metrics=("f1",)):
    return TaskResult(a_task(tmp_path, kind, metrics, name=name), Outcome(cells, counts={"test": 3}))


def test_groups_formats_and_all(tmp_path):
    results = [
        result(tmp_path, "Biomimicry", {"f1": Interval(0, 0.6, 1), "f1 64-shot": 0.4, "f1 16-shot": 0.2}),
        result(tmp_path, "feeds_1", {"map": 0.8}, "proximity", ["map"]),
        result(tmp_path, "SciDocs Cite", {"map": 0.9, "ndcg": 1.0}, "proximity", ["map", "ndcg"]),
        result(tmp_path, "RELISH", {"ndcg": 0.1}, "proximity", ["ndcg"]),
    ]
    averages = average(results)
    assert averages.groups == pytest.approx(
        {"Out-of-Train": (0.4 + 0.8) / 2, "SciDocs": 0.95, "Average": (0.4 + 0.8 + 0.9 + 1.0) / 4}
    )
    assert averages.formats == pytest.approx({"CLF": 0.4, "PRX": (0.8 + 0.95 + 0.1) / 3})
    assert len(averages.missing) == sum(map(len, GROUPS.values())) - 3
    assert "S2AND" in averages.missing
    board = leaderboard(averages, "ours").outcomes
    *published, ours = board
    assert ours == "ours"
    assert board[ours].cells["Average"] == averages.groups["Average"]
    assert len(published) == 17
    (first, of_first), (second, of_second), *_ = task_table(results).outcomes.items()
    assert (first, of_first.counts) == ("Biomimicry, f1", {"test": 3})
    assert (second, of_second.counts) == ("Biomimicry, f1 64-shot", {})
    assert [row.cells["sample report"] for row in (of_first, of_second)] == pytest.approx([0.7118, 0.38514])


TASKS = """
MeSH, Fields of study, Citation Count, Publication Year, Same Author Detection, Highly Influential Citations, Search
Biomimicry, DRSM, Peer Review Score, Max hIndex, Tweet Mentions, S2AND, Paper-Reviewer Matching, Feeds-1, Feeds-M, \
Feeds Title, TREC-CoVID
SciDocs MAG, SciDocs MeSH, SciDocs CoView, SciDocs CoRead, SciDocs Cite, SciDocs CoCite
"""
"""A line a group."""


def test_the_tasks_of_no_result_are_the_papers_whole_table_in_its_own_words():
    nothing = average([])
    assert ", ".join(nothing.missing) == TASKS.strip().replace("\n", ", ")
    assert (nothing.groups, nothing.formats) == ({}, {})
    assert list(GROUPS) == list(AVERAGES[:3]) == ["In-Train", "Out-of-Train", "SciDocs"]
    assert [", ".join(names) for names in GROUPS.values()] == TASKS.strip().split("\n")


def test_models_are_named_with_where_their_numbers_are_from():
    table = [
        f"{base} + {added} (SciRepEval, table 3)"
        for base in ("SciBERT", "SPECTER")
        for added in ("MTL CLS", "MTL CTRL", "Adapters", "Adapters + MTL CTRL")
    ]
    kinds = "", " + MTL CLS", " + MTL CTRL", " PALs", " Adapters", " Adapters Fusion", " Adapters + MTL CTRL"
    names = ["SciBERT", "SPECTER", *(f"SciNCL{kind}" for kind in kinds)]
    board = leaderboard(average([]))
    *published, ours = board.outcomes
    assert published == [*(f"{name} (BENCHMARKING.md of allenai/scirepeval)" for name in names), *table]
    assert (ours, board.heading) == ("this run", "model")
    for place, values in ((0, (0.515, 0.525, 0.69, 0.582)), (-1, (0.618, 0.589, 0.899, 0.707))):
        cells = board.outcomes[published[place]].cells
        assert list(cells) == ["In-Train", "Out-of-Train", "SciDocs", "Average"]
        assert tuple(cells.values()) == pytest.approx(values)


def test_each_number_of_the_sample_report_stands_beside_ours(tmp_path):
    sample = {
        "Biomimicry": {"f1": 71.18, "f1 64-shot": 38.514, "f1 16-shot": 22.3444},
        "DRSM": {"f1_macro": 76.36, "f1_macro 64-shot": 61.842, "f1_macro 24-shot": 53.2142},
        "Feeds-1": {"map": 81.03},
        "Feeds Title": {"map": 78.85},
        "Feeds-M": {"map": None},
    }
    made = [
        TaskResult(
            a_task(tmp_path, "classification", ["f1"], name=name),
            Outcome(dict.fromkeys(numbers, 0.25), {next(iter(numbers)): {"q": 0.5}}, {"test": 3}, {"map": "few"}),
        )
        for name, numbers in sample.items()
    ]
    table = task_table(made)
    assert {name: cells.cells for name, cells in table.outcomes.items()} == {
        f"{name}, {metric}": {"measured": 0.25} | ({"sample report": pytest.approx(value / 100)} if value else {})
        for name, numbers in sample.items()
        for metric, value in numbers.items()
    }
    rows = table.outcomes
    assert rows["Feeds-M, map"] == Outcome({"measured": 0.25}, {"map": {"q": 0.5}}, {"test": 3}, {"measured": "few"})
    assert rows["Biomimicry, f1 64-shot"] == Outcome({"measured": 0.25, "sample report": pytest.approx(0.38514)})
    assert (table.heading, table.unit) == ("task", "queries, test papers or few-shot runs")


@pytest.mark.parametrize(
    ("kind", "metric", "column"),
    [("classification", "f1", "CLF"), ("regression", "r2", "RGN"), ("adhoc_search", "map", "SRCH")],
)
def test_formats_have_the_papers_short_names(tmp_path, kind, metric, column):
    assert average([result(tmp_path, "Other", {metric: 0.5}, kind, [metric])]).formats == {column: 0.5}


def test_numbers_are_seven_eleven_and_ten():
    apart = [name for name in GROUPS["SciDocs"] if name not in ("SciDocs MAG", "SciDocs MeSH")]
    assert [len(names) for names in GROUPS.values()] == [7, 11, 10 - len(apart)]
