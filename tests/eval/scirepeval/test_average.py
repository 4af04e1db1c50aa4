"""The averages of the paper."""

from __future__ import annotations

import pytest

from eval.outcome import Outcome
from eval.scirepeval.average import GROUPS, PUBLISHED, average, leaderboard, task_table
from eval.scirepeval.protocols import TaskResult
from eval.statistics.interval import Interval
from tests.eval.scirepeval.worlds import a_task


@pytest.mark.parametrize("row", PUBLISHED, ids=" of ".join)
def test_published_averages_are_of_7_11_and_10_numbers(row):
    in_train, out_of_train, scidocs, average = PUBLISHED[row]
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


def test_numbers_are_seven_eleven_and_ten():
    apart = [name for name in GROUPS["SciDocs"] if name not in ("SciDocs MAG", "SciDocs MeSH")]
    assert [len(names) for names in GROUPS.values()] == [7, 11, 10 - len(apart)]
