"""Run files measured and compared."""

from __future__ import annotations

import pytest

from corpora.errors import InputError
from eval.statistics.compare import compare_runs
from eval.trec.judgments import read_qrels
from eval.trec.runs import read_run
from ses.evaluation.run_files import compare_files, score_files

QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 c 1\n"
FIRST, SECOND = "q1 Q0 a 1 2 x\nq1 Q0 b 2 1 x\nq2 Q0 c 1 1 x\n", "q1 Q0 b 1 2 x\nq1 Q0 a 2 1 x\nq2 Q0 c 1 1 x\n"


@pytest.fixture
def home(tmp_path):
    """Two run files of one name, and their judgments."""
    (tmp_path / "qrels").write_text(QRELS)
    for folder, run in (("one", FIRST), ("two", SECOND)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "run.trec").write_text(run)
    return tmp_path


def test_files_of_one_name_are_told_apart_by_their_paths(home):
    first, second = home / "one/run.trec", home / "two/run.trec"
    scores = score_files([first, second], home / "qrels", ["RR"])
    assert {label: list(found.per_query["RR"].values()) for label, found in scores.items()} == {
        str(first): [1.0, 1.0],
        str(second): [0.5, 1.0],
    }
    assert list(score_files([first], home / "qrels", ["RR"])) == ["run.trec"]
    with pytest.raises(InputError, match="A run file is given twice; give each once"):
        score_files([first, first], home / "qrels", ["RR"])


def test_only_judgments_of_the_rounds_count_and_earlier_documents_are_left_out(home):
    # TREC's iteration is the round: a was judged in round 1, c in round 2.
    (home / "qrels").write_text("q1 1 a 1\nq1 2 b 1\nq2 2 c 1\n")
    run = home / "one/run.trec"
    assert list(score_files([run], home / "qrels", ["AP"])["run.trec"].per_query["AP"].values()) == [1.0, 1.0]
    later = score_files([run], home / "qrels", ["P@1", "AP"], rounds="2")["run.trec"].per_query
    assert later["P@1"] == {"q1": 1.0, "q2": 1.0}  # a, at rank 1, was seen in round 1
    first = score_files([run], home / "qrels", ["AP"], rounds="1")["run.trec"].per_query
    assert first["AP"] == {"q1": 1.0}


def test_a_run_is_named_in_its_error(home):
    (home / "two/other.trec").write_text("q9 Q0 a 1 1 x\n")
    with pytest.raises(InputError, match=r"^other\.trec: No query of the run has judgments"):
        score_files([home / "two/other.trec"], home / "qrels", ["RR"])


def test_the_first_run_is_the_baseline(home):
    first, second = home / "one/run.trec", home / "two/run.trec"
    comparison, files = compare_files([first, second], ["RR"], qrels=home / "qrels")
    (pair,) = comparison.pairs
    assert (pair.baseline, pair.run, pair.better, pair.worse) == (str(first), str(second), 0, 1)
    assert files == [home / "qrels"]
    with pytest.raises(InputError, match="Give two run files or more to compare"):
        compare_files([first], ["RR"], qrels=home / "qrels")


def test_a_query_may_be_a_paper_that_its_run_finds_first(home):
    (home / "qrels").write_text("a 0 b 1\nc 0 d 1\n")
    runs = []
    for name, run in (("x", "a Q0 a 1 2 x\na Q0 b 2 1 x\nc Q0 d 1 1 x\n"), ("y", "a Q0 b 1 2 x\nc Q0 d 1 1 x\n")):
        runs.append(home / name)
        runs[-1].write_text(run)
    for drop, reached in ((False, 0.5), (True, 1.0)):
        scores = score_files(runs, home / "qrels", ["RR"], drop_same_id=drop)["x"].per_query["RR"]
        assert scores == {"a": reached, "c": 1.0}
        (pair,) = compare_files(runs, ["RR"], qrels=home / "qrels", drop_same_id=drop)[0].pairs
        assert pair.better == int(reached < 1)


def test_a_comparison_takes_the_options_of_its_statistics(home):
    runs = [home / "one/run.trec", home / "two/run.trec"]
    read = {str(path): read_run(path) for path in runs}
    for options in ({}, {"level": 0.5, "resamples": 100, "seed": 3}):
        found, _ = compare_files(runs, ["RR"], qrels=home / "qrels", **options)
        assert found.pairs == compare_runs(read, read_qrels(home / "qrels"), ["RR"], **options).pairs


def test_judgments_come_from_one_place(home):
    runs = [home / "one/run.trec", home / "two/run.trec"]
    with pytest.raises(InputError, match="There are no judgments") as absent:
        compare_files(runs, ["RR"])
    assert absent.value.hint == "give them as <qrels>, or with their papers as <data>"
    with pytest.raises(InputError, match="The judgments are given twice"):
        compare_files(runs, ["RR"], qrels=home / "qrels", data=home)
