"""Residual collections, by hand."""

from __future__ import annotations

import pytest

from corpora.errors import InputError
from eval.measures.metrics import evaluate
from eval.trec.judgments import read_qrels
from eval.trec.residual import Rounds, parse_rounds, residual
from eval.trec.runs import Run

QRELS = "1 0.5 a 2\n1 1 b 1\n1 1.5 c 2\n1 2 d 0\n1 2.5 e 2\n2 1.5 a 1\n3 1 a 1\n"


@pytest.fixture
def qrels(tmp_path):
    (tmp_path / "qrels").write_text(QRELS)
    return read_qrels(tmp_path / "qrels")


def test_earlier_documents_leave_run_and_judgments_and_later_ones_are_unjudged(qrels):
    kept, seen = residual(qrels, parse_rounds("1.5-2"))
    assert kept.gains == {"1": {"c": 2, "d": 0}, "2": {"a": 1}}
    assert seen == {"1": {"a", "b"}, "3": {"a"}}
    run = Run("t", {"1": [("a", 9.0), ("b", 8.0), ("e", 7.0), ("c", 6.0)], "2": [("a", 1.0)], "3": [("a", 1.0)]})
    scores = evaluate(run, kept, ["MRR", "P@1", "Recall@2"], seen=seen)
    # For topic 1 e, c are left, and e isn't judged yet; for topic 2 nothing was seen before.
    assert scores.per_query == {
        "MRR": {"1": 1 / 2, "2": 1.0},
        "P@1": {"1": 0.0, "2": 1.0},
        "Recall@2": {"1": 1.0, "2": 1.0},
    }
    assert (scores.seen_dropped, scores.unjudged) == (2, 1)
    assert evaluate(run, kept, ["MRR"]).per_query["MRR"]["1"] == 1 / 4


@pytest.mark.parametrize("text", ["", "x", "1-", "-1", "1-2-3", "5-4.5", "1e3", "nan", "\u0661"])
def test_rounds_that_cannot_be(text):
    with pytest.raises(InputError, match="The rounds"):
        parse_rounds(text)


def test_one_round_and_what_cannot_be_chosen(qrels, tmp_path):
    assert parse_rounds(" 2 ") == Rounds(2, 2)
    with pytest.raises(InputError, match="Nothing was judged in the rounds 7 to 8"):
        residual(qrels, Rounds(7, 8))
    for name, content in (("beir", "query-id\tcorpus-id\tscore\nq\td\t1\n"), ("other", "1 Q0 a 1\n")):
        (tmp_path / name).write_text(content)
        with pytest.raises(InputError, match="second column"):
            residual(read_qrels(tmp_path / name), Rounds(1, 2))


@pytest.mark.realdata
def test_trec_covid_round_5(data_dir):
    qrels = read_qrels(data_dir / "eval/trec-covid/qrels.covid-complete.txt")
    kept, seen = residual(qrels, parse_rounds("4.5-5"))
    assert sum(map(len, kept.gains.values())) == 5954 + 17197
    assert sum(map(len, seen.values())) == 2557 + 5971 + 5632 + 6178 + 5103 + 7473 + 4676 + 8577
