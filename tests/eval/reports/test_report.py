import io
import json

import pytest
from rich.console import Console

from eval.measures.metrics import Scores
from eval.reports.report import Report, Row, print_report, report_of
from eval.statistics.bootstrap import Interval, bootstrap_interval

SCORES = {
    "lexical": Scores({"nDCG@10": {"a": 0.0, "b": 1.0, "c": 0.5}, "MAP": {"a": 0.2, "b": 0.2, "c": 0.2}}, unjudged=4),
    "hybrid": Scores({"nDCG@10": {"a": 0.5, "b": 0.5, "c": 0.5}}, without_results=1),
}


def printed(report, *, terminal):
    out = io.StringIO()
    print_report(report, Console(file=out, force_terminal=terminal, width=60, color_system=None))
    return out.getvalue()


def test_plain_table_is_aligned_and_tells_counts():
    low, high = (getattr(bootstrap_interval([0.0, 1.0, 0.5]), end) for end in ("low", "high"))
    assert printed(report_of(SCORES), terminal=False).splitlines() == [
        "mode     nDCG@10               MAP",
        f"lexical  0.500 [{low:.3f}, {high:.3f}]  0.200 [0.200, 0.200]",
        "hybrid   0.500 [0.500, 0.500]  -",
        "[low, high]: 95% bootstrap interval over queries",
        "lexical: 3 queries, 4 unjudged",
        "hybrid: 3 queries, 1 without results",
    ]


def test_terminal_gets_a_drawn_table_with_labels_as_they_are():
    text = printed(Report("task", (Row("[red]x", {"F1": 0.5}),)), terminal=True)
    assert "┃" in text
    assert "[red]x" in text
    assert "0.500" in text
    assert "bootstrap" not in text


def test_plain_lines_are_never_wrapped_or_read_as_markup():
    report = Report("task", (Row("[red]x", {"F1": 0.5, "y" * 80: 1.0}),))
    assert len(printed(report, terminal=False).splitlines()) == 2
    assert "[red]x" in printed(report, terminal=False)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_dict_is_json_in_full_precision(level):
    got = json.loads(json.dumps(report_of(SCORES, heading="run", level=level).as_dict()))
    interval = bootstrap_interval([0.0, 1.0, 0.5], level=level)
    assert got["level"] == level
    assert [row["run"] for row in got["rows"]] == ["lexical", "hybrid"]
    assert Interval(**got["rows"][0]["measures"]["nDCG@10"]) == interval
    assert got["rows"][1]["counts"] == {
        "queries": 3,
        "without_results": 1,
        "without_relevant": 0,
        "unjudged": 0,
        "same_id_dropped": 0,
    }
    assert Report("t", (Row("x", {"F1": 0.25}),)).as_dict()["rows"][0]["measures"] == {"F1": {"mean": 0.25}}
