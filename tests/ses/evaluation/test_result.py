"""`ses.Evaluation`: tables, files and plots of results."""

import json
import sys

import pytest

import ses
from corpora.errors import InputError, UnavailableError

QRELS = {f"q{n}": {"a": 1} for n in range(12)}
BETTER = {query: ["a", "b"] for query in QRELS}
WORSE = {query: ["b", "a"] if query in ("q1", "q2", "q3") else ["a", "b"] for query in QRELS}


@pytest.fixture(scope="module")
def found():
    return ses.experiment({"worse": WORSE, "better": BETTER}, dict.fromkeys(QRELS, "virus"), QRELS, ["RR@10", "P@1"])


def test_it_prints_means_with_intervals_and_tests(found):
    lines = str(found).splitlines()
    assert lines[0].split() == ["system", "RR@10", "P@1"]
    assert lines[1].startswith("worse   0.875 [")
    assert lines[2].startswith("better  1.000 [")
    assert any(line.startswith("RR@10    better - worse  +0.1250 [") and line.endswith("3/0/9") for line in lines)
    assert "(Holm): corrected for all 2 comparisons here" in str(found)
    assert repr(found) == str(found), "notebooks show it"


def test_means_and_their_limits(found):
    assert (found.mean("RR@10", "worse"), found.mean("P@1", "better")) == (0.875, 1.0)
    low, high = found.interval("P@1", "worse")
    assert low < 0.75 < high
    for call, reason in (
        (lambda: found.mean("RR@10"), "There are several systems; name one of worse, better"),
        (lambda: found.mean("RR@10", "best"), "There is no system 'best'"),
        (lambda: found.mean("AP", "worse"), "no measure 'AP'; the measures are: RR@10, P@1"),
    ):
        with pytest.raises(InputError, match=reason):
            call()


def test_tables_of_pandas(found, monkeypatch):
    means = found.to_dataframe()
    assert list(means.columns) == ["system", "measure", "mean", "low", "high"]
    assert means["mean"].tolist() == [0.875, 0.75, 1.0, 1.0]
    queries = found.to_dataframe("queries")
    assert len(queries) == 2 * 2 * 12
    assert queries[(queries.system == "worse") & (queries.measure == "P@1")].value.mean() == 0.75
    pairs = found.to_dataframe("pairs")
    assert pairs[["measure", "baseline", "run"]].to_numpy().tolist() == [
        ["RR@10", "worse", "better"],
        ["P@1", "worse", "better"],
    ]
    assert pairs.difference.tolist() == pytest.approx([0.125, 0.25])
    assert pairs.p_randomization_holm.tolist() == [pair.p_randomization_holm for pair in found.pairs]
    assert (pairs.difference_low < pairs.difference).all()
    assert (pairs.difference < pairs.difference_high).all()
    with pytest.raises(InputError, match="rows can't be 'hits'"):
        found.to_dataframe("hits")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UnavailableError, match="pip install pandas"):
        found.to_dataframe()


def test_run_files_reports_and_plots(found, tmp_path):
    found.write_run(tmp_path / "worse.trec", "worse")
    again = ses.measure(tmp_path / "worse.trec", QRELS, ["RR@10"])
    assert again.per_query == {"worse": {"RR@10": found.per_query["worse"]["RR@10"]}}
    found.plot(tmp_path / "all.svg")
    found.plot(tmp_path / "one.svg", ["P@1"])
    drawn = (tmp_path / "one.svg").read_text()
    assert drawn.startswith("<svg ")
    assert "P@1, worse: 0.750" in drawn
    assert "RR@10" in (tmp_path / "all.svg").read_text()
    assert "RR@10" not in drawn
    with pytest.raises(InputError, match=r"give path as a file\.svg"):
        found.plot(tmp_path / "all.png")
    with pytest.raises(InputError, match="no measure 'AP'"):
        found.plot(tmp_path / "all.svg", "AP")
    found.write_report(tmp_path / "r.json", "Known items")
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["title"] == "Known items"
    assert report["provenance"]["command"].startswith("python ")
    assert set(report["per_unit"]) == {"worse", "better"}
    assert found.to_dict()["rows"] == [{"system": row.pop("system"), **row} for row in report["rows"]]


def test_what_was_left_out_is_printed_between_the_tables(found):
    without_one = dict.fromkeys([*QRELS][1:], "virus")
    shown = str(ses.experiment({"worse": WORSE, "better": BETTER}, without_one, QRELS, ["RR@10", "P@1"]))
    assert "better: 12 queries\n1 query without text\n\nmeasure  pair" in shown
    assert shown.replace("1 query without text\n", "") == str(found)
    assert not shown.endswith("\n")


def test_pairs_need_two_queries_and_two_systems():
    for queries, pairs in ((1, 0), (2, 1)):
        qrels = {f"q{n}": {"a": 1} for n in range(queries)}
        runs = {name: dict.fromkeys(qrels, found) for name, found in (("x", ["a"]), ("y", ["b", "a"]))}
        assert len(ses.experiment(runs, dict.fromkeys(qrels, "virus"), qrels, ["RR"]).pairs) == pairs
        assert ses.measure(runs["x"], qrels, ["RR"]).pairs == ()


def test_all_measures_are_drawn_unless_some_are_named(found, tmp_path):
    for name, given, drawn in (("all.SVG", (), {"RR@10", "P@1"}), ("one.svg", "RR@10", {"RR@10"})):
        found.plot(tmp_path / name, given)
        text = (tmp_path / name).read_text()
        assert {measure for measure in found.measures if measure in text} == drawn
        assert text.endswith("</svg>\n")
        assert text.count("<svg ") == 1


def test_a_report_of_one_system_needs_no_title(tmp_path):
    ses.measure(BETTER, QRELS, ["RR@10"]).write_report(tmp_path / "r.json")
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["title"], report["pairs"], list(report["per_unit"])) == ("Evaluation", [], ["run"])
    assert "seconds" not in report or not report["seconds"]
