"""Bids of reviewers for submissions."""

from __future__ import annotations

import numpy as np
import pytest

from corpora.errors import InputError
from products.reviewers.bids import WORDS, add_bids, read_bids
from products.reviewers.spool import ROWS, Spool


def read(path, text):
    path.write_text(text)
    return read_bids(path, {"s", "t"}, {"r", "q"})


def test_bids_are_numbers_or_words_of_conference_systems(tmp_path):
    path = tmp_path / "bids.csv"
    found = read(path, "Reviewer,Paper,Bid\nr,s,Very High\nr,t,-0.5\nq,s,not_willing\nq,t,\nr,s,1\n")
    assert found == {("s", "r"): 1.0, ("t", "r"): -0.5, ("s", "q"): -1.0}
    for word, value in WORDS.items():
        assert read(path, f"paper,reviewer,bid\ns,r,{word.title()}\n") == {("s", "r"): value}
    assert {WORDS[word] for word in ("very high", "high", "neutral", "low", "very low")} == {1, 0.5, 0, -0.5, -1}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("paper,reviewer\ns,r\n", "needs the columns paper, reviewer, bid; it has: paper, reviewer"),
        ("paper,reviewer,bid\nx,r,1\n", "line 2: there is no submission 'x'; correct its id"),
        ("paper,reviewer,bid\ns,x,1\n", "line 2: there is no reviewer 'x'"),
        ("paper,reviewer,bid\ns,r,1.5\n", "line 2: '1.5' is no bid; write a number from -1 to 1, or one of very high,"),
        ("paper,reviewer,bid\ns,r,nan\n", "'nan' is no bid"),
        ("paper,reviewer,bid\ns,r,keen\n", "'keen' is no bid"),
        ("paper,reviewer,bid\ns,r,1\ns,r,high\n", "line 3: r has another bid for s already; keep one of them"),
    ],
)
def test_what_is_no_bid_is_told(tmp_path, text, told):
    with pytest.raises(InputError, match=told):
        read(tmp_path / "bids.csv", text)


def test_a_bid_counts_in_standard_deviations_in_every_block(tmp_path):
    held = np.random.default_rng(0).normal(3, 2, (2 * ROWS + 5, 3)).astype(np.float32)
    held[0, 0] = held[-1, 2] = -np.inf
    scores = Spool(tmp_path / "combined.scores", 3)
    scores.append(held)
    rows = {f"s{row}": row for row in range(len(held))}
    given = {("s0", "a"): 1.0, ("s0", "b"): -1.0, (f"s{2 * ROWS + 1}", "c"): 0.5, ("s1", "gone"): 1.0}
    made = add_bids(scores, rows, {"a": 0, "b": 1, "c": 2}, given, 2.0)
    spread = held[np.isfinite(held)].std(dtype=np.float64)
    expected = held.copy()
    expected[0, 1] -= 2 * spread
    expected[2 * ROWS + 1, 2] += spread
    np.testing.assert_allclose(made.read(0, len(made)), expected, rtol=1e-5)
    assert len(made) == len(held)
    assert np.array_equal(scores.read(0, len(held)), held)


def test_where_all_pairs_are_conflicts_bids_change_nothing(tmp_path):
    scores = Spool(tmp_path / "combined.scores", 1)
    scores.append(np.array([[-np.inf]]))
    assert add_bids(scores, {"s": 0}, {"r": 0}, {("s", "r"): 1.0}, 1.0).read(0, 1) == -np.inf
