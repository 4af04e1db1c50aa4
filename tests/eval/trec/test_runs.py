"""Runs in trec_eval's order; the quick reader and the careful one agree, and large files stay small in memory."""

from __future__ import annotations

import gzip
import lzma
import random

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

import eval.trec.runs
from corpora.errors import InputError
from eval.measures.metrics import evaluate
from eval.trec.judgments import Qrels, read_qrels
from eval.trec.runs import Run, _by_arrow, _line_by_line, in_order, read_run, write_run

column = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=3)
score = st.one_of(st.floats(-1e38, 1e38), st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-9, 1.0 - 1e-9, 16777217.0]))
scored = st.dictionaries(column, score, min_size=1, max_size=8)


def ranks_in_trec_eval(scores):
    """Ask trec_eval where each document stands: the reciprocal rank when it alone is relevant."""
    asked = {str(number): document for number, document in enumerate(scores)}
    evaluator = pytrec_eval.RelevanceEvaluator(
        {name: {document: 1} for name, document in asked.items()}, {"recip_rank"}
    )
    answer = evaluator.evaluate({name: dict(scores) for name in asked})
    return {document: round(1 / answer[name]["recip_rank"]) for name, document in asked.items()}


@given(scored)
@settings(deadline=None)
def test_order_is_trec_evals(scores):
    ranking = Run("t", {"q": tuple(scores.items())}).rankings["q"]
    assert {document: rank for rank, (document, _) in enumerate(ranking, start=1)} == ranks_in_trec_eval(scores)


def test_ties_fall_to_the_larger_id_bytewise_and_in_single_precision():
    documents = ["10", "9", "B", "a", "a1", "é", "\uffff", "\U00010000"]
    tied = Run("t", {"q": [(document, 1.0) for document in documents]}).rankings["q"]
    assert [document for document, _ in tied] == sorted(documents, key=str.encode, reverse=True)
    nearly = Run("t", {"q": [("a", 1.0 + 1e-9), ("b", 1.0), ("c", 0.5)]}).rankings["q"]
    assert [document for document, _ in nearly] == ["b", "a", "c"]


@given(st.dictionaries(column, scored, min_size=1, max_size=4), column)
@settings(deadline=None)
def test_round_trip_is_exact_and_ranks_descend(tmp_path_factory, rankings, tag):
    path = tmp_path_factory.mktemp("run") / "run"
    run = Run(tag, {query: tuple(scores.items()) for query, scores in rankings.items()})
    write_run(run, path)
    assert read_run(path) == run
    rows = [line.split(" ") for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    for query, scores in rankings.items():
        mine = [row for row in rows if row[0] == query]
        assert [int(row[3]) for row in mine] == list(range(1, len(scores) + 1))
        assert {row[2]: int(row[3]) for row in mine} == ranks_in_trec_eval(scores)


def test_file_form_and_query_without_results(tmp_path):
    write_run(Run("bm25", {"q1": [("a", 0.1), ("b", 2)], "q2": []}), tmp_path / "run")
    assert (tmp_path / "run").read_text() == "q1 Q0 b 1 2.0 bm25\nq1 Q0 a 2 0.1 bm25\n"
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def test_reading_ranks_by_score_not_by_line_or_rank(tmp_path):
    (tmp_path / "run").write_text("q Q0 a 1 1.0 t\nq\tQ0\tb\t9\t3e0\tt\n")
    assert read_run(tmp_path / "run") == Run("t", {"q": [("b", 3.0), ("a", 1.0)]})


@pytest.mark.parametrize("run", [Run("t", {"q 1": [("d", 1.0)]}), Run("t", {"q": [("d\t1", 1.0)]}), Run("a b", {})])
def test_blanks_cannot_be_written(tmp_path, run):
    with pytest.raises(InputError, match="blank, which a TREC file can't hold"):
        write_run(run, tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_empty_file(tmp_path):
    (tmp_path / "run").write_text("\n")
    with pytest.raises(InputError, match="no ranked documents"):
        read_run(tmp_path / "run")


@pytest.mark.parametrize(
    ("ranking", "reason"),
    [
        ([("a", 1.0), ("a", 2.0)], "twice"),
        ([("a", float("inf"))], "finite"),
        ([("a", 1e39)], "finite"),
        ([("a\0", 1.0)], "identifier"),
        ([("\udfff", 1.0)], "identifier"),
    ],
)
def test_rankings_trec_eval_would_misread_are_refused(ranking, reason):
    with pytest.raises(InputError, match=reason):
        Run("t", {"q": ranking})


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_compressed_runs_and_judgments_are_read(tmp_path, pack):
    (tmp_path / "run").write_bytes(pack(b"\xef\xbb\xbfq1 Q0 d1 1 2.5 t\r\n"))
    (tmp_path / "qrels").write_bytes(pack(b"q1 0 d1 1\n"))
    assert dict(read_run(tmp_path / "run").rankings) == {"q1": (("d1", 2.5),)}
    assert read_qrels(tmp_path / "qrels").gains == {"q1": {"d1": 1}}
    (tmp_path / "run").write_bytes(pack(random.Random(0).randbytes(3000))[:2000])
    with pytest.raises(InputError, match=r"binary|damaged"):
        read_run(tmp_path / "run")


@pytest.mark.parametrize(
    ("scores", "kept"),
    [
        ([3.0, 2.0, 1.0], [3.0, 2.0, 1.0]),
        ([0.0, 2.0, 1.0], [2.0000002, 2.0, 1.0]),
        ([1.0, 1.0, 1.0, 0.5], [1.0000002, 1.0000001, 1.0, 0.5]),
        ([1 + 1e-9, 1.0], [1.0000001, 1.0]),  # equal in single precision
        ([0.0, 0.0], [1.4012985e-45, 0.0]),
        ([-1.0, -2.0, -1.0], [-0.9999999, -0.99999994, -1.0]),
        ([], []),
    ],
)
def test_an_order_that_is_not_the_scores_is_kept_by_the_next_larger_numbers(scores, kept):
    ranking = [(f"d{place}", score) for place, score in enumerate(scores)]
    lifted = in_order(ranking)
    assert [score for _, score in lifted] == [float(np.float32(score)) for score in kept]
    assert Run("t", {"q": lifted}).rankings["q"] == tuple(lifted)
    assert [name for name, _ in lifted] == [name for name, _ in ranking]


name = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=3)
written = st.one_of(st.floats(-1e38, 1e38), st.sampled_from(["1", "-0", "1e3", ".5", "2.", "0001.50"])).map(str)


def quickly(path, monkeypatch):
    monkeypatch.setattr(eval.trec.runs, "WORTH_ARROW", 1)
    return _by_arrow(path)


@given(st.lists(st.tuples(name, name, written), min_size=1, max_size=12, unique_by=lambda row: row[:2]), st.booleans())
@settings(deadline=None)
def test_both_readers_give_the_same_columns(tmp_path_factory, rows, tabs):
    path = tmp_path_factory.mktemp("run") / "run"
    blank = "\t" if tabs else " "
    path.write_text("".join(blank.join([q, "Q0", d, "1", s, "tag"]) + "\n" for q, d, s in rows), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        quick = quickly(path, patch)
    slow = _line_by_line(path)
    assert quick is not None
    assert (quick.tag, list(quick.queries), quick.documents.tolist()) == ("tag", slow.queries, slow.documents.tolist())
    for column in ("query_codes", "document_codes", "scores"):
        assert getattr(quick, column).tolist() == getattr(slow, column).tolist()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("q Q0 z 1 1.0", "`qid Q0 docid rank score tag`"),
        ("q Q0 z 1 x t", "finite single-precision number, not 'x'"),
        ("q Q0 z 1 nan t", "finite"),
        ("q Q0 z 1 1e39 t", "finite"),
        ("q Q0 z 1 1_0 t", "finite"),
        ("q Q0 d7 2 1.0 t", "document d7 was ranked for query q before"),
        ("q Q0 z 2 1.0 other", "tag is other but was t"),
        ("q Q0 z 2 1.0 t\0", "no text file"),
        (" Q0 z 1 1.0 t", "`qid Q0 docid rank score tag`"),
        ("q Q0 z\x0b 1 1.0 t u", "`qid Q0 docid rank score tag`"),
    ],
)
def test_what_is_wrong_in_a_large_file_is_told_with_its_line(tmp_path, line, reason):
    good = [f"q Q0 d{number} 1 {number} t" for number in range(20_000)]
    (tmp_path / "run").write_text("\n".join([*good[:15_000], "", line, *good[15_000:]]) + "\n")
    assert (tmp_path / "run").stat().st_size > eval.trec.runs.WORTH_ARROW
    with pytest.raises(InputError, match=f"run, line 15002: .*{reason}"):
        read_run(tmp_path / "run")


@pytest.mark.slow
def test_a_plain_large_file_is_read_by_arrow_and_unusual_ones_line_by_line(tmp_path, monkeypatch):
    plain = "".join(f"q{number % 7} Q0 d{number} 1 {number / 8} t\n" for number in range(20_000))
    for text, quick in ((plain, True), (plain.replace("\n", "\r\n"), False), (plain.replace(" Q0", "  Q0"), False)):
        (tmp_path / "run").write_bytes(text.encode())
        assert (_by_arrow(tmp_path / "run") is not None) is quick
        run = read_run(tmp_path / "run")
        expected = {f"q{q}": [(f"d{n}", n / 8) for n in range(20_000) if n % 7 == q] for q in range(7)}
        assert run == Run("t", expected)


def test_a_large_run_takes_few_bytes_a_line(tmp_path):
    lines = (f"q{q} Q0 d{d} 1 {1000 - d} t\n" for q in range(300) for d in range(1000))
    (tmp_path / "run").write_text("".join(lines))
    rankings = read_run(tmp_path / "run").rankings
    arrays = [value for slot in rankings.__slots__ if isinstance(value := getattr(rankings, slot), np.ndarray)]
    assert sum(array.nbytes for array in arrays) < 20 * 300_000
    assert len(rankings) == 300
    assert "q5" in rankings
    assert rankings["q5"][:2] == (("d0", 1000.0), ("d1", 999.0))
    assert rankings.get("other") is None


def test_blocks_of_queries_are_measured_as_all_at_once(tmp_path, monkeypatch):
    qrels = Qrels({f"q{q}": {f"d{d}": d % 3 for d in range(0, 30, 1 + q)} for q in range(9)})
    run = Run("t", {f"q{q}": [(f"d{d}", float(d * 7 % 11)) for d in range(q, 30)] for q in range(8)})
    names = ["nDCG@10", "MRR@3", "MAP"]
    whole = evaluate(run, qrels, names, drop_same_id=True)
    monkeypatch.setattr("eval.measures.metrics.BLOCK", 25)
    assert evaluate(run, qrels, names, drop_same_id=True) == whole
