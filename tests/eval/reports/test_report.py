import io
import json

import pytest
from rich.console import Console

from eval.measures.metrics import Scores
from eval.outcome import Outcome
from eval.reports.results import Results
from eval.reports.tables import counted, print_table
from eval.statistics.interval import Interval, mean_interval

SCORES = {
    "lexical": Scores({"nDCG@10": {"a": 0.0, "b": 1.0, "c": 0.5}, "MAP": {"a": 0.2, "b": 0.2, "c": 0.2}}, unjudged=4),
    "hybrid": Scores({"nDCG@10": {"a": 0.5, "b": 0.5, "c": 0.5}}, without_results=1),
}


def of_scores(heading="mode", level=0.95):
    return Results(heading, {label: one.outcome(level=level) for label, one in SCORES.items()}, level)


def printed(results, *, terminal):
    out = io.StringIO()
    print_table(results.table(), Console(file=out, force_terminal=terminal, width=60, color_system=None))
    return out.getvalue()


def test_plain_table_is_aligned_and_tells_counts():
    cells = [
        f"{cell.mean:.3f} [{cell.low:.3f}, {cell.high:.3f}]"
        for cell in map(mean_interval, ([0.0, 1.0, 0.5], [0.2] * 3, [0.5] * 3))
    ]
    assert printed(of_scores(), terminal=False).splitlines() == [
        "mode     nDCG@10               MAP",
        f"lexical  {cells[0]}  {cells[1]}",
        f"hybrid   {cells[2]}  -",
        "[low, high]: 95% confidence interval over queries",
        "lexical: 3 queries, 4 queries unjudged",
        "hybrid: 3 queries, 1 query without results",
    ]


def test_terminal_gets_a_drawn_table_with_labels_as_they_are():
    text = printed(Results("task", {"[red]x": Outcome({"F1": 0.5})}), terminal=True)
    assert "┃" in text
    assert "[red]x" in text
    assert "0.500" in text
    assert "bootstrap" not in text


def test_counts_read_as_people_say_them():
    told = [counted(1, "queries_without_text"), counted(2, "queries"), counted(1, "papers"), counted(5183, "papers")]
    assert told == ["1 query without text", "2 queries", "1 paper", "5,183 papers"]
    assert [counted(1, "classes"), counted(1, "seeds")] == ["1 class", "1 seed"]


def test_plain_lines_are_never_wrapped_or_read_as_markup():
    results = Results("task", {"[red]x": Outcome({"F1": 0.5, "y" * 80: 1.0})})
    assert len(printed(results, terminal=False).splitlines()) == 2
    assert "[red]x" in printed(results, terminal=False)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_dict_is_json_in_full_precision(level):
    got = json.loads(json.dumps(of_scores("run", level).as_dict()))
    interval = mean_interval([0.0, 1.0, 0.5], level=level)
    assert got["level"] == level
    assert [row["run"] for row in got["rows"]] == ["lexical", "hybrid"]
    assert Interval(**got["rows"][0]["measures"]["nDCG@10"]) == interval
    assert got["rows"][1]["counts"] == {
        "queries": 3,
        "queries_without_results": 1,
        "queries_without_relevant": 0,
        "queries_unjudged": 0,
        "hits_of_same_id_dropped": 0,
        "judged_before_dropped": 0,
    }
    assert Results("t", {"x": Outcome({"F1": 0.25})}).as_dict()["rows"][0]["measures"] == {"F1": {"mean": 0.25}}
