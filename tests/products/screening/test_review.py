"""Labels of a review, and the papers to read next."""

from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import InputError
from corpora.paper import Paper
from products.relevance import views_of
from products.screening.decisions import Decision, count_alike
from products.screening.screening import ReviewState, Status, label, offer, scores_of
from products.screening.simulation import draw_known, growing, learner_of, papers_until, simulate
from products.screening.stopping import Recall, may_stop

REVIEW = ReviewState("papers", "embedded:/x")


def test_labels_keep_the_order_of_the_decisions_and_who_was_offered():
    review = offer(label(REVIEW, [Decision("a", True, offered=True)]), ["b", "c"])
    review = label(offer(review, ["c", "d"]), [Decision("c", False), Decision("b", True)])
    assert review.decisions == (Decision("a", True), Decision("c", False, True), Decision("b", True, True))
    assert review.offered == ("b", "c", "d")
    assert review.labels == {"a": True, "c": False, "b": True}


def test_labelled_papers_that_are_gone_are_no_candidates_that_were_read():
    assert Status(10, 3, 4, 2, Recall(0.0, 0, 0.9, 0.9)).unread == 5


def test_a_label_is_changed_only_on_wish():
    review = label(REVIEW, [Decision("a", True), Decision("b", True), Decision("c", False)])
    assert label(review, [Decision("a", True)]) == review
    with pytest.raises(InputError, match="The paper 'a' is included already, and so are 1 more; say change to replace"):
        label(review, [Decision("a", False), Decision("b", False)])
    with pytest.raises(InputError, match="The paper 'c' is excluded already; say"):
        label(review, [Decision("c", True)])
    changed = label(review, [Decision("a", False)], change=True)
    assert changed.decisions == (Decision("a", False), Decision("b", True), Decision("c", False))


def test_a_decision_that_does_not_change_stays_that_of_who_made_it():
    made = Decision("a", False, reason="no trial", by="Ada", at="1"), Decision("b", True, at="1")
    first = label(REVIEW, made)
    assert first.decisions == made
    assert label(first, [Decision("a", False, by="Bo", at="2"), Decision("b", True, by="Bo", at="2")]) == first
    other = Decision("a", False, reason="animals", by="Bo", at="2")
    assert label(first, [other]).decisions[0] == other
    changed = label(first, [Decision("a", True, reason="animals", at="3")], change=True)
    assert changed.decisions[0] == Decision("a", True, at="3")
    named = label(replace(REVIEW, screener="Cy"), [Decision("a", True), Decision("b", True, by="Bo")])
    assert [one.by for one in named.decisions] == ["Cy", "Bo"]


def test_texts_are_counted_without_their_capitals():
    assert list(count_alike(["b", "", "A", "a", "a", "C"]).items()) == [("a", 3), ("b", 1), ("C", 1)]
    assert count_alike([]) == {}


def views():
    titles = ["virus masks", "virus lungs", "galaxy stars", "galaxy quantum", "virus"]
    return views_of([Paper(str(row), title) for row, title in enumerate(titles)], {})


def test_while_nothing_is_excluded_unread_papers_count_as_excluded():
    scores = scores_of(views(), {"0": True})
    assert min(scores["1"], scores["4"]) > max(scores["2"], scores["3"])
    assert scores == scores_of(views(), {"0": True, "1": False, "2": False, "3": False, "4": False})
    assert scores != scores_of(views(), {"0": True, "2": False})
    with pytest.raises(InputError, match="at least one paper that is relevant"):
        scores_of(views(), {"2": False})


INCLUDED = [True, True, False, False, True]


def test_a_simulation_reads_the_best_papers_first():
    run = simulate(INCLUDED, learner_of(views()), [0, 2])
    assert run.relevant == (True, True) or run.relevant == (True, True, False)
    assert (run.papers, run.read_until(0.95), run.read_until(0.5), run.recall_after(1)) == (3, 2, 1, 0.5)


def test_a_simulation_hides_labels_and_learns_again_after_each_batch():
    seen = []

    def learner(rows, relevant):
        seen.append((list(rows), list(relevant)))
        return -np.arange(6.0)

    run = simulate([False, False, True, True, False, True], learner, [2, 0], batch=lambda _: 2, target=1)
    assert seen == [([2, 0], [True, False]), ([2, 0, 1, 3], [True, False, False, True])]
    assert (run.relevant, run.stopped) == ((False, True, False, True), 4)


def test_batches_grow_with_the_labels():
    assert [growing(labelled) for labelled in (2, 39, 40, 1000)] == [1, 1, 2, 50]


def test_a_simulation_begins_with_one_of_each_kind():
    starts = [draw_known(INCLUDED, draw) for draw in range(20)]
    assert all(INCLUDED[first] and not INCLUDED[second] for first, second in starts)
    assert len(set(map(tuple, starts))) > 3
    for labels in ([True, False], [True, True], [False, False]):
        with pytest.raises(InputError, match="at least two included papers and one excluded"):
            draw_known(labels, 0)


def test_a_share_of_the_relevant_papers_is_counted_in_whole_papers():
    # In floating point, 0.95 x 20 is more than 19.
    assert [papers_until(recall, [True] * 20) for recall in (0.95, 0.951, 1)] == [19, 20, 20]
    assert papers_until(0.5, [False, True, False, False, True]) == 2
    assert papers_until(0.51, [False, True, False, False, True]) == 5


def test_a_simulation_reads_on_only_on_wish():
    included = [True, True, True, *[False] * 5]

    def learner(rows, relevant):
        return -np.arange(8.0)

    given = {"batch": lambda _: 1, "target": 0.5, "confidence": 0.1}
    short = simulate(included, learner, [0, 7], **given)
    whole = simulate(included, learner, [0, 7], whole=True, **given)
    assert whole.relevant == (True, True, False, False, False, False)
    assert short.relevant == whole.relevant[: max(2, short.stopped)]
    assert (short.stopped, short.papers) == (whole.stopped, 6)
    stops = [may_stop(whole.relevant[:read], 6 - read, known=1, target=0.5, confidence=0.1) for read in range(1, 7)]
    assert short.stopped == 1 + stops.index(True)
