"""Judgments, whole and of some rounds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.errors import InputError
from eval.measures.metrics import evaluate
from eval.trec.judgments import LARGEST_GAIN, Qrels, Rounds, parse_rounds, read_qrels, residual
from eval.trec.runs import Run

BEIR = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td1\t-1\n"
TREC = "q1 0 d1 2\nq1\t4.5\td2  0\r\n\nq2 Q0 d1 -1"
GAINS = {"q1": {"d1": 2, "d2": 0}, "q2": {"d1": -1}}

column = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1)


@pytest.mark.parametrize(
    "content", [BEIR, BEIR.split("\n", 1)[1], "\ufeff" + BEIR, TREC], ids=["beir", "no header", "bom", "trec"]
)
def test_reads_either_form_told_apart_by_content(tmp_path, content):
    (tmp_path / "any.name").write_text(content, encoding="utf-8", newline="")
    assert read_qrels(tmp_path / "any.name").gains == GAINS


def test_beir_ids_may_hold_blanks(tmp_path):
    (tmp_path / "a.tsv").write_text("query-id\tcorpus-id\tscore\nq 1\td\u00a01\t1\n", encoding="utf-8")
    qrels = read_qrels(tmp_path / "a.tsv")
    assert qrels.gains == {"q 1": {"d\u00a01": 1}}


@pytest.mark.parametrize(
    ("content", "number", "reason"),
    [
        (b"q1 0 d1 1\nq1 0 d2\n", 2, "a judgment is"),
        (b"query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t1.5\n", 3, "whole number.*'1.5'"),
        (b"q\tdoc\tgain\n", 1, "whole number.*'gain'"),
        (b"q1 0 d1 1_0\n", 1, "whole number"),
        (b"q1 0 d1 1099511627776\n", 1, "whole number"),
        (b"q1 0 d1 1000001\n", 1, "1,000,000"),
        (b"q1 0 d1 1\nq1 0 d1 1\n", 2, "judged before"),
        (b"q1 0 \xff 1\n", 1, "UTF-8"),
        (b"\x89PNG\0\n", 1, "no text file"),
        (b"x" * (1 << 21), 1, "too long"),
    ],
)
def test_bad_line_is_told_with_its_place(tmp_path, content, number, reason):
    (tmp_path / "qrels").write_bytes(content)
    with pytest.raises(InputError, match=rf"qrels, line {number}: .*{reason}"):
        read_qrels(tmp_path / "qrels")


def test_unreadable_and_empty_files(tmp_path):
    (tmp_path / "empty").write_text("query-id\tcorpus-id\tscore\n")
    for name, reason in (("empty", "no judgments"), ("absent", "no file"), (".", "is a folder")):
        with pytest.raises(InputError, match=reason):
            read_qrels(tmp_path / name)


@given(
    st.dictionaries(column, st.dictionaries(column, st.integers(-LARGEST_GAIN, LARGEST_GAIN), min_size=1), min_size=1)
)
@settings(deadline=None)
def test_any_columns_without_blanks_are_read(tmp_path_factory, gains):
    path = tmp_path_factory.mktemp("qrels") / "qrels"
    lines = (f"{query} 0 {document} {gain}\n" for query, judged in gains.items() for document, gain in judged.items())
    path.write_text("".join(lines), encoding="utf-8", newline="")
    assert read_qrels(path).gains == gains


@pytest.mark.parametrize("gains", [{"q": {"d": 2**40}}, {"q": {"a\0b": 1}}, {"q": {"\ud800": 1}}, {"": {"d": 1}}])
def test_what_would_crash_trec_eval_is_refused(gains):
    with pytest.raises(InputError):
        Qrels(gains)


@pytest.mark.realdata
def test_real_judgments(data_dir):
    beir = read_qrels(data_dir / "eval/scifact/qrels/test.tsv")
    assert (len(beir.gains), sum(map(len, beir.gains.values()))) == (300, 339)
    trec = read_qrels(data_dir / "eval/trec-covid/qrels.covid-complete.txt")
    assert (len(trec.gains), sum(map(len, trec.gains.values()))) == (50, 69318)
    assert sum(gain == -1 for judged in trec.gains.values() for gain in judged.values()) == 2


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
