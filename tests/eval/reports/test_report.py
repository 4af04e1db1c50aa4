"""Reports before they have a form, and how their numbers were made."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import re
import sys
from datetime import UTC, datetime
from importlib.metadata import version

import pytest
from rich.console import Console

from encoders.registry import find_model
from eval.measures.metrics import Scores
from eval.outcome import Outcome
from eval.reports.report import Provenance, counted, gather_provenance, print_table
from eval.reports.results import Results
from eval.statistics.interval import Interval, mean_interval
from tests.tiny import make_model

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


def test_tells_what_it_takes_to_do_it_again(tmp_path, monkeypatch):
    (tmp_path / "qrels").write_bytes(b"q 0 d 1\n")
    card = find_model(str(make_model(tmp_path / "model"))).card
    words = ["/bin/ses", "eval", "retrieval", "--engine", "https://ada:secret@host:9200", "a b"]
    monkeypatch.setattr(sys, "argv", words)
    before = datetime.now(UTC).replace(microsecond=0)
    found = gather_provenance(data=[tmp_path / "qrels"], cards=[card])
    assert found.command == "ses eval retrieval --engine 'https://***@host:9200' 'a b'"
    assert before <= datetime.fromisoformat(found.date) <= datetime.now(UTC)
    assert found.data == {str(tmp_path / "qrels"): hashlib.sha256(b"q 0 d 1\n").hexdigest()}
    assert found.models == {card.name: card.fingerprint}
    assert found.packages["numpy"] == version("numpy")
    rows = dict(gather_provenance(settings={"vectors": "of mine"}).table().rows)
    assert rows["vectors"] == "of mine"
    assert not {"model", "runtime", "engine"} & rows.keys()


def test_all_that_is_gathered_by_name(monkeypatch):
    names = """ses-scholar numpy scipy scikit-learn ir-measures pytrec-eval-terrier rank-bm25 matplotlib onnxruntime
    openvino torch tokenizers tantivy faiss-cpu opensearch-py elasticsearch8 elasticsearch9 mteb"""
    monkeypatch.setattr("eval.reports.report.installed_version", lambda name: "" if name == "torch" else f"{name}-1")
    found = gather_provenance(engine="E", runtime="R", settings={"a": "b"}, command=["ses", "a b", "c\nd"])
    assert found == Provenance(
        command="ses 'a b' 'c d'",
        date=found.date,
        data={},
        models={},
        engine="E",
        runtime="R",
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        packages={name: f"{name}-1" for name in names.split() if name != "torch"},
        settings={"a": "b"},
    )
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", found.date)
    empty = gather_provenance()
    assert (empty.engine, empty.runtime, empty.settings, empty.models) == ("", "", {}, {})


def test_a_password_with_an_at_sign_does_not_show():
    for url in ("http://u:p@ss@host:1", "https://u:p@one:1,two:2", "http://u:a/b@host"):
        told = gather_provenance(command=["ses", "--engine", url]).command
        assert "***@" in told
        assert not any(part in told for part in ("p@", "ss@", "a/b"))
