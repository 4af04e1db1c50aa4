"""Assignment against the whole linear program, and fairness against all assignments."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import linprog

from corpora.errors import InputError
from products.reviewers import assignment
from products.reviewers.assignment import ScoreFloor, assign, assign_fairly, reachable, sums_of
from products.reviewers.spool import Spool


@pytest.fixture
def spooled(tmp_path):
    def make(scores):
        spool = Spool(tmp_path / f"{len(list(tmp_path.iterdir()))}.scores", np.shape(scores)[1])
        spool.append(np.array(scores, np.float32))
        return spool

    return make


def whole_program(scores, per_paper, room):
    """The optimum over all pairs at once; the product has only some of them."""
    rows, columns = scores.shape
    return linprog(
        -np.where(np.isfinite(scores), scores, 0).ravel(),
        A_eq=np.kron(np.eye(rows), np.ones(columns)),
        b_eq=np.full(rows, per_paper),
        A_ub=np.kron(np.ones(rows), np.eye(columns)),
        b_ub=room,
        bounds=[(0, float(np.isfinite(value))) for value in scores.ravel()],
    )


@pytest.mark.parametrize("seed", range(25))
def test_the_sum_is_that_of_the_whole_program(seed, spooled, monkeypatch):
    monkeypatch.setattr(assignment, "_FIRST", 2)
    monkeypatch.setattr(assignment, "_MORE", 2)
    draw = np.random.default_rng(seed)
    rows, columns, per_paper = draw.integers(2, 12), draw.integers(4, 40), draw.integers(1, 4)
    scores = draw.normal(size=(rows, columns)).astype(np.float32) + 2 * draw.normal(size=columns).astype(np.float32)
    scores[draw.random((rows, columns)) < 0.1] = -np.inf
    room = draw.integers(0, 4, size=columns)
    best = whole_program(scores, per_paper, room)
    if best.status:
        with pytest.raises(InputError):
            assign(spooled(scores), per_paper, room)
        return
    pairs = assign(spooled(scores), per_paper, room)
    assert scores[pairs[:, 0], pairs[:, 1]].sum() == pytest.approx(-best.fun, abs=1e-4)
    assert np.bincount(pairs[:, 0], minlength=rows).tolist() == [per_paper] * rows
    assert (np.bincount(pairs[:, 1], minlength=columns) <= room).all()
    assert len({tuple(pair) for pair in pairs.tolist()}) == len(pairs)


def test_too_little_room_says_by_how_much(spooled):
    with pytest.raises(InputError, match="room for 3 reviews and 4 are needed, so 1 are missing"):
        assign(spooled(np.ones((2, 3))), 2, [1, 1, 1])
    with pytest.raises(InputError, match="There are 2 reviewers, and each submission needs 3"):
        assign(spooled(np.ones((1, 3))), 3, [9, 9, 0])


def test_conflicts_that_leave_too_few_name_the_submissions(spooled):
    scores = [[1, 1, 1], [1, -np.inf, -np.inf]]
    with pytest.raises(InputError, match=r"1 of 4 reviews find no reviewer .*\(submissions second\)"):
        assign(spooled(scores), 2, [2, 2, 2], ["first", "second"])
    with pytest.raises(InputError, match=r"\(submissions 2\)"):
        assign(spooled(scores), 2, [2, 2, 2])


def all_assignments(scores, per_paper, room):
    for chosen in product(combinations(range(scores.shape[1]), per_paper), repeat=len(scores)):
        used = np.bincount(np.ravel(chosen), minlength=scores.shape[1])
        if (used <= room).all():
            yield np.array([scores[row, list(own)].sum() for row, own in enumerate(chosen)])


@pytest.mark.parametrize("seed", range(8))
def test_a_fair_assignment_is_near_the_best_worst_submission(seed, spooled):
    draw = np.random.default_rng(seed)
    scores = draw.random((3, 5)).astype(np.float32) + draw.random(5).astype(np.float32)
    room = [1, 2, 1, 2, 2]
    spool = spooled(scores)
    fair, summed = (sums_of(spool, solve(spool, 2, room)) for solve in (assign_fairly, assign))
    optimum = max(sums.min() for sums in all_assignments(scores, 2, room))
    assert summed.min() <= fair.min() <= optimum + 1e-6
    assert fair.min() >= 2 * reachable(spool, 2, room) - 1e-6


def test_fairness_takes_from_the_served_and_gives_to_the_worst(spooled):
    # The largest sum is 1.0 + 0.1; the fair one 0.6 + 0.5.
    scores = [[1.0, 0.5], [0.6, 0.05]]
    spool = spooled(scores)
    assert sums_of(spool, assign(spool, 1, [1, 1])).tolist() == pytest.approx([0.5, 0.6])
    scores = [[1.0, 0.5], [0.55, 0.1]]
    spool = spooled(scores)
    assert sums_of(spool, assign(spool, 1, [1, 1])).tolist() == pytest.approx([1.0, 0.1])
    assert sums_of(spool, assign_fairly(spool, 1, [1, 1])).tolist() == pytest.approx([0.5, 0.55])


def test_the_reachable_score_is_the_best_bottleneck(spooled, monkeypatch):
    monkeypatch.setattr("products.reviewers.assignment._FIRST", 1)
    draw = np.random.default_rng(3)
    scores = draw.random((4, 6)).astype(np.float32)
    room = [1, 1, 1, 1, 2, 2]
    best = max(
        min(scores[row, own].min() for row, own in enumerate(np.array(chosen)))
        for chosen in product(combinations(range(6), 2), repeat=4)
        if (np.bincount(np.ravel(chosen), minlength=6) <= room).all()
    )
    assert reachable(spooled(scores), 2, room) == best


def test_a_floor_holds_for_every_submission(spooled):
    scores = np.array([[1.0, 0.5, 0.4], [0.9, 0.3, 0.35]])
    pairs = assign(spooled(scores), 1, [1, 1, 1], (), ScoreFloor(1, 0.35))
    assert scores[pairs[:, 0], pairs[:, 1]].min() >= 0.35


def test_prices_bring_in_the_pairs_that_would_improve_the_sum(spooled):
    scores = np.array([[0.0, 1.0, 0.5, 0.75], [0.5, 0.25, 1.0, -np.inf], [0.25, 1.0, 0.5, 0.0]], np.float32)
    of_row, of_column, of_good = (
        np.array([-0.5, -0.25, -1.0]),
        np.array([0.0, -0.5, -0.5, 0]),
        np.array([-0.75, 0, -0.5]),
    )
    held = np.array([3, 4, 9])
    program = assignment._Program(held, scores.ravel()[held], 3, np.ones(4), 1, ScoreFloor(1, 0.5))
    gain = scores + of_row[:, None] + of_column - (scores >= 0.5) * of_good[:, None]
    gain.ravel()[held] = -np.inf
    pairs, values = assignment._improving(spooled(scores), 0.0, 1.0, program, (of_row, of_column, of_good))
    assert pairs.tolist() == np.flatnonzero(gain.ravel() > 1e-7).tolist() == [1, 2, 6]
    assert values.tolist() == scores.ravel()[pairs].tolist()


@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_the_best_pairs_are_those_above_a_bound(count):
    values = np.array([[0.5, 0.25, 1.0], [0.75, 0.5, 0.0]])
    pairs, held = assignment._best(5, values, count, 0.25)
    best = sorted(15 + place for row in (0, 3) for place in row + np.argsort(-values.ravel()[row : row + 3])[:count])
    assert pairs.tolist() == [pair for pair in best if values.ravel()[pair - 15] > 0.25]
    assert held.tolist() == values.ravel()[pairs - 15].tolist()


def test_the_first_five_submissions_without_a_reviewer_are_named(spooled):
    def told(count):
        scores = np.full((count, 2), -np.inf)
        scores[0] = 1
        with pytest.raises(InputError) as caught:
            assign(spooled(scores), 1, [9, 9], list("abcdefgh")[:count])
        return str(caught.value)

    assert "5 of 6 reviews find no reviewer" in told(6)
    assert "(submissions b, c, d, e, f)" in told(6)
    assert "(submissions b, c, d, e, f and others)" in told(7)


def test_nobody_can_be_assigned_where_all_have_a_conflict(spooled):
    with pytest.raises(InputError, match="2 of 2 reviews find no reviewer"):
        assign(spooled(np.full((2, 3), -np.inf)), 1, [9, 9, 9])


def test_the_nearest_pairs_of_each_submission_are_its_best(spooled):
    edges, values, least = assignment._nearest(spooled([[0.25, 1.0, 0.5], [0.75, -np.inf, 0.5]]), 2)
    assert (edges.tolist(), values.tolist()) == ([[0, 1], [0, 2], [1, 0], [1, 2]], [1.0, 0.5, 0.75, 0.5])
    assert least == 0.25
