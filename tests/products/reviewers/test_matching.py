"""Matches of submissions and reviewers, from blocks of scores, and why a reviewer suits a submission."""

from dataclasses import replace
from functools import partialmethod
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest

from corpora.errors import ConflictError, InputError
from corpora.paper import Paper
from products.reviewers import matching
from products.reviewers.matching import Aggregating, Combining, Match, MatchingOptions, explain, match
from products.reviewers.pool import make_pool
from products.reviewers.rules import AGGREGATES
from products.reviewers.scoring import COMBINATIONS, VenueScores
from products.reviewers.spool import Spool
from products.reviewers.venue import Reviewer, Venue
from tests.search_plugin.engines.embedded.small import document, make

SCORES = np.random.default_rng(0).permutation(28).reshape(7, 4).astype(np.float32)


@pytest.fixture
def scores(tmp_path, monkeypatch):
    """Scores that are read in blocks of two submissions, the last one with a conflict."""
    monkeypatch.setattr(Spool, "blocks", partialmethod(Spool.blocks, 2))
    combined, factor = Spool(tmp_path / "combined", 4), Spool(tmp_path / "factor", 4)
    combined.append(np.where(np.arange(28).reshape(7, 4) == 24, -np.inf, SCORES))
    factor.append(2 * SCORES)
    return VenueScores({"words": factor}, combined)


def test_matches_tell_rank_and_scores_in_every_block(scores):
    venue = SimpleNamespace(
        submissions=[SimpleNamespace(id=f"s{row}") for row in range(7)],
        pool=SimpleNamespace(reviewers=list("abcd")),
        bids={("s2", "b"): 0.5},
    )
    pairs = np.array([(row, column) for row in range(7) for column in (1, 3)])
    found = list(matching._matches(venue, pairs, scores))
    assert [one.submission for one in found] == [f"s{row}" for row in range(7) for _ in range(2)]
    for row in range(7):
        best = sorted((1, 3), key=lambda column: -SCORES[row, column])
        for one, column in zip(found[2 * row : 2 * row + 2], best, strict=True):
            there = SCORES[row, 1:] if row == 6 else SCORES[row]
            assert (one.reviewer, one.score) == ("abcd"[column], SCORES[row, column])
            assert one.factors == {"words": 2 * SCORES[row, column]}
            assert one.rank == 1 + (there > SCORES[row, column]).sum()
            assert one.bid == (0.5 if (row, column) == (2, 1) else None)


def test_the_ranking_has_the_best_of_each_submission_without_conflicts(scores):
    expected = [(row, column) for row in range(7) for column in np.argsort(-SCORES[row]) if (row, column) != (6, 0)]
    assert [tuple(pair) for pair in matching._ranked(scores, 4).tolist()] == expected
    assert matching._ranked(scores, 1)[:, 0].tolist() == list(range(7))


class Given:
    """A factor whose similarities are given, by the id of the paper."""

    def __init__(self, similarities):
        self._given, self._columns = similarities, []

    def add(self, documents):
        self._columns += [self._given[one.paper.id] for one in documents]

    def factor(self):
        return self

    def similarities(self, submissions, papers):
        return np.array(self._columns, np.float32).T[submissions, papers]


def a_venue(folder, profiles, submissions, **facts):
    _, index = make(folder)
    held = dict.fromkeys(paper for papers in profiles.values() for paper in papers)
    index.upsert([document(paper, authors=(f"Author {paper}",)) for paper in held])
    return Venue([Paper(name, "t") for name in submissions], make_pool(profiles), index, **facts)


def test_the_sum_or_the_worst_submission_is_served_and_both_are_told(tmp_path):
    venue = a_venue(tmp_path, {"ada": ["a"], "bob": ["b"]}, ["s", "t"], people={"bob": Reviewer("bob", capacity=1)})
    given = {"a": (1.0, 0.5), "b": (0.5, 0.25)}

    def found(**options):
        options = MatchingOptions(per_paper=1, capacity=1, **options)
        made = match(venue, lambda _: {"one": Given(given)}, options)
        return (
            {one.submission: (one.reviewer, one.rank) for one in made.matches},
            made.loads,
            made.worst_submission,
            made.worst,
            made.total,
        )

    assert found() == ({"s": ("ada", 1), "t": ("bob", 2)}, {"ada": 1, "bob": 1}, "t", 0.25, 1.25)
    given["b"] = (0.5, 0.125)
    assert found()[2:] == ("t", 0.125, 1.125)
    assert found(fair=True) == ({"s": ("bob", 2), "t": ("ada", 1)}, {"ada": 1, "bob": 1}, "s", 0.5, 1.0)
    # A ranking asks nobody how many submissions they take.
    assert found(ranked=True) == ({"s": ("ada", 1), "t": ("ada", 1)}, {"ada": 2, "bob": 0}, "t", 0.5, 1.5)


def test_the_options_reach_the_scores(tmp_path):
    venue = a_venue(tmp_path, {"ada": ["a", "b"], "bob": ["c"]}, ["s"], declared={("s", "bob")})
    given = {"a": (1.0,), "b": (0.5,), "c": (2.0,)}

    def found(**options):
        told = []
        options = MatchingOptions(per_paper=2, ranked=True, **options)
        made = match(venue, lambda _: {"one": Given(given)}, options, told.append)
        assert (made.conflicts, told) == ({"declared": 1}, [1])
        return made.matches

    # The factor keeps the score of bob, who must not review it; ranks are those of all reviewers.
    (best,) = found()
    assert replace(best, nearest=()) == Match("s", "ada", 0.75, 1, {"one": 0.75})
    assert [(near.paper.id, near.similarity) for near in best.nearest] == [("a", 1.0), ("b", 0.5)]
    (best,) = found(aggregate="max", combine="ranks")
    assert replace(best, nearest=()) == Match("s", "ada", 0.5, 1, {"one": 1.0})
    venue.index.delete(["c"])
    with pytest.raises(ConflictError, match="The index papers was changed while it was read; try again"):
        found()


def test_bids_change_who_reviews_but_no_conflict(tmp_path):
    bids = {("s", "bob"): 1.0, ("s", "ada"): -1.0, ("t", "eve"): 1.0, ("t", "none"): 1.0}
    profiles, declared = {"ada": ["a"], "bob": ["b"], "eve": ["c"]}, {("t", "eve")}
    venue = a_venue(tmp_path, profiles, ["s", "t"], declared=declared, bids=bids)
    given = {"a": (1.0, 0.5), "b": (0.5, 0.25), "c": (0.0, 1.0)}

    def found(**options):
        made = match(venue, lambda _: {"one": Given(given)}, MatchingOptions(per_paper=1, capacity=2, **options))
        return [(one.submission, one.reviewer, one.bid, one.rank, pytest.approx(one.score)) for one in made.matches]

    # The standard deviation is that of all scores without a conflict.
    spread = np.std([1.0, 0.5, 0.0, 0.5, 0.25])
    assert found(bid_weight=0.0) == [("s", "ada", -1.0, 1, 1.0), ("t", "ada", None, 1, 0.5)]
    assert found() == [("s", "bob", 1.0, 1, 0.5 + spread), ("t", "ada", None, 1, 0.5)]
    assert found(bid_weight=3.0)[0][4] == 0.5 + 3 * spread
    told = explain(
        replace(venue, submissions=venue.submissions[:1]), "bob", lambda _: {"one": Given(given)}, MatchingOptions()
    )
    assert (told.bid, told.to_dict()["bid"], told.factors["one"].score) == (1.0, 1.0, 0.5)


def test_options_out_of_bounds_are_refused():
    MatchingOptions(per_paper=1, capacity=0)
    for wrong in ({"per_paper": 0}, {"capacity": -1}):
        with pytest.raises(InputError, match=r"can't be (0|-1); give a whole number of at least (1|0)"):
            MatchingOptions(**wrong)


def test_a_reviewer_is_explained_by_their_nearest_papers(tmp_path):
    profiles = {"eve": ["a"], "ada": ["b", "c", "d", "e"], "bob": ["f"]}
    venue = a_venue(tmp_path, profiles, ["s"], declared={("s", "bob")})
    given = dict(zip("abcdef", [(0.875,), (0.25,), (0.75,), (0.5,), (0.75,), (1.0,)], strict=True))
    told = explain(venue, "ada", lambda _: {"one": Given(given)}, MatchingOptions())
    (reason,) = told.factors.values()
    assert [(one.paper.id, one.similarity) for one in reason.nearest] == [("c", 0.75), ("e", 0.75), ("d", 0.5)]
    assert (reason.score, reason.rank, told.reviewers) == (pytest.approx(2 / 3), 3, 3)
    assert told.to_dict() == {
        "paper": "s",
        "reviewer": "ada",
        "conflict": None,
        "bid": None,
        "factors": {
            "one": {
                "score": reason.score,
                "rank": 3,
                "nearest": [
                    {"id": one.paper.id, "title": one.paper.title, "similarity": one.similarity}
                    for one in reason.nearest
                ],
            }
        },
    }
    other = explain(venue, "bob", lambda _: {"one": Given(given)}, MatchingOptions())
    assert (other.conflict, other.to_dict()["conflict"], other.factors["one"].rank) == ("declared", "declared", 1)
    with pytest.raises(InputError, match="One submission is explained at a time, not 2"):
        explain(Venue([Paper("s", "t"), Paper("t", "t")], venue.pool, venue.index), "ada", dict, MatchingOptions())


def test_the_options_name_all_ways_to_score():
    assert set(get_args(Aggregating)) == set(AGGREGATES)
    assert set(get_args(Combining)) == set(COMBINATIONS)
