import gzip
import lzma
import random

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.errors import InputError
from eval.trec.judgments import read_qrels
from eval.trec.runs import Run, in_order, read_run, write_run

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


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("q Q0 a 1 1.0", "`qid Q0 docid rank score tag`"),
        ("q Q0 b 1 x t", "finite single-precision number, not 'x'"),
        ("q Q0 b 1 nan t", "finite"),
        ("q Q0 b 1 1e39 t", "finite"),
        ("q Q0 b 1 1_0 t", "finite"),
        ("q Q0 a 2 1.0 t", "ranked for query q before"),
        ("q Q0 b 2 1.0 other", "tag is other but was t"),
    ],
)
def test_bad_line(tmp_path, line, reason):
    (tmp_path / "run").write_text(f"q Q0 a 1 1.0 t\n{line}\n")
    with pytest.raises(InputError, match=f"run, line 2: .*{reason}"):
        read_run(tmp_path / "run")


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
