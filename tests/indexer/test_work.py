"""What a run tells of its work, and what it leaves behind when it ends early."""

from __future__ import annotations

import time

import pytest

from corpora.errors import StoppedError, UnavailableError
from corpora.progress import Silent
from indexer.work import Halt, Work, guarded


@pytest.mark.parametrize(
    ("done", "cached", "published", "told"),
    [
        ({}, True, False, "Stopped: nothing was written to the index mine yet"),
        (
            {"before": 1_000, "written": 200, "total": 500, "encoded": 260.9},
            True,
            False,
            "Stopped: 1,200 of 1,500 papers are in the unfinished index mine and the vectors of about 60 papers are in "
            "the cache",
        ),
        (
            {"before": 1_000, "written": 200, "total": 500, "encoded": 260},
            False,
            True,
            "Stopped: 1,200 of 1,500 papers are in the index mine",
        ),
        ({"written": 2, "total": 5, "encoded": 2}, True, True, "Stopped: 2 of 5 papers are in the index mine"),
        ({"total": 5_000, "encoded": 1_001}, True, True, "Stopped: the vectors of about 1,001 papers are in the cache"),
    ],
)
def test_a_user_who_stops_a_run_is_told_what_is_kept(done, cached, published, told):
    error = Work(Silent(), cached, **done).stop("mine", published=published)
    assert (error.sentence, error.hint) == (told, "index the same papers again to resume")


class Noting(Silent):
    def __init__(self):
        self.steps = []

    def advance(self, papers, rejected=0, *, block=0.0, cost=1.0):
        self.steps.append((papers, block, cost))


def test_papers_cost_what_their_texts_are_long_against_the_mean():
    work = Work(progress := Noting(), total=4, size=1_000)
    work.done(0, block=2)
    work.begin([100, 300])
    work.done(1.5)
    work.begin([1_000])
    work.done(1)
    assert progress.steps == [(0, 2, 1.0), (1.5, 0, 0.8), (1, 0, 4.0)]
    assert work.encoded == 2.5
    empty = Work(Silent(), total=3)
    empty.begin([0, 0])
    assert empty.cost == 1.0
    work.stopped.set()
    with pytest.raises(Halt):
        work.done(1)
    assert work.encoded == 2.5


def test_times_in_the_encoder_are_added():
    work = Work(Silent())
    for _ in range(2):
        with work.timed():
            time.sleep(0.02)
    assert 0.04 <= work.seconds < 30


class Index:
    """An index of a number of papers, and an engine that notes what it discards."""

    name = "mine"

    def __init__(self, held, *, broken=False):
        self.held, self.broken, self.discarded = held, broken, []

    def count(self):
        return self.held

    def discard(self, index):
        self.discarded.append(index.name)
        if self.broken:
            raise UnavailableError("The disk is gone.")


@pytest.mark.parametrize(
    ("held", "written", "published", "gone"),
    [(0, 0, False, True), (0, 0, True, False), (3, 0, False, False), (0, 2, False, False)],
)
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_only_an_empty_unfinished_index_is_discarded(held, written, published, gone, error):
    index, work = Index(held), Work(Silent(), total=5)

    def run():
        with guarded(index, index, work, published=published):
            work.written = written
            raise error

    raised = StoppedError if error is KeyboardInterrupt else error
    with pytest.raises(raised) as caught:
        run()
    assert index.discarded == ["mine"] * gone
    if raised is StoppedError:
        assert ("the unfinished index mine" in str(caught.value)) == (written > 0)


def test_the_first_error_is_told_though_the_index_can_not_be_discarded():
    index = Index(0, broken=True)
    with pytest.raises(ValueError, match="the first"), guarded(index, index, Work(Silent()), published=False):
        raise ValueError("the first")
    assert index.discarded == ["mine"]
    with guarded(index, index, Work(Silent()), published=False):
        pass
    assert index.discarded == ["mine"]
