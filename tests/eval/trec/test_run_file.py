"""Run files: the quick reader and the careful one agree, and large files stay small in memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eval.trec.run_file
from corpora.errors import InputError
from eval.measures.metrics import evaluate
from eval.trec.judgments import Qrels
from eval.trec.run_file import _by_arrow, _line_by_line
from eval.trec.runs import Run, read_run

name = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=3)
score = st.one_of(st.floats(-1e38, 1e38), st.sampled_from(["1", "-0", "1e3", ".5", "2.", "0001.50"])).map(str)


def quickly(path, monkeypatch):
    monkeypatch.setattr(eval.trec.run_file, "WORTH_ARROW", 1)
    return _by_arrow(path)


@given(st.lists(st.tuples(name, name, score), min_size=1, max_size=12, unique_by=lambda row: row[:2]), st.booleans())
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
    assert (tmp_path / "run").stat().st_size > eval.trec.run_file.WORTH_ARROW
    with pytest.raises(InputError, match=f"run, line 15002: .*{reason}"):
        read_run(tmp_path / "run")


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
