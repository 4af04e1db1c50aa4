"""Ranking again by a model: what is read, in which order, within which time, and what is said of it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from corpora.paper import Paper
from search_plugin.contract.legs import RERANKED, Contribution, Fused
from search_plugin.contract.plan import Plan
from search_plugin.ranking.model_reranking import rerank_by_model, text_of
from search_plugin.ranking.state import SearchState
from search_plugin.request import SearchRequest, make_request, parse_milliseconds

GIVEN = {"lexical": {f"p{i}": (i + 1, 50.0 - i, 1 - i / 50) for i in range(50)}, "prx": {"p3": (1, 0.9, 0.0)}}
RANKING = [Fused(f"p{i}", 1 - i / 50, GIVEN) for i in range(50)]


class Index:
    """Holds all papers but the deleted ones, and notes which were read."""

    def __init__(self, deleted=()):
        self.deleted, self.read = deleted, []

    def papers(self, ids):
        self.read += ids
        return {id_: Paper(id_, f"Title {id_}", abstract="Text.") for id_ in ids if id_ not in self.deleted}


class Scorer:
    """Scores texts by a function of their papers' numbers, and notes what it was asked."""

    def __init__(self, score=lambda number: -number):
        self.score, self.asked = score, []

    def scores(self, query, texts):
        self.asked.append((query, list(texts)))
        return np.array([self.score(int(text.split()[1][1:])) for text in texts], dtype=np.float32)


def state_of(index=None, ranking=RANKING, **options):
    return SearchState(
        index or Index(), SearchRequest("virus", rerank="m", **options), Plan("virus", (), None, 100), ranking=ranking
    )


def ids(state):
    assert state.shown == state.ranking
    return [hit.id for hit in state.ranking]


def test_the_best_are_read_and_the_others_follow_in_their_order():
    scorer, index = Scorer(lambda number: number / 10), Index()
    state = rerank_by_model(state_of(index, rerank_depth=20), scorer)
    assert ids(state) == [f"p{i}" for i in (*range(19, -1, -1), *range(20, 50))]
    assert scorer.asked == [("virus", [f"Title p{i} Text." for i in range(20)])]
    assert index.read == [f"p{i}" for i in range(20)]
    assert set(state.papers) == set(index.read)
    assert state.notes == ()


def test_papers_that_were_read_before_are_not_read_again():
    index = Index()
    before = state_of(index, rerank_depth=3)
    held = {"p1": Paper("p1", "Title p1")}
    scorer = Scorer()
    rerank_by_model(SearchState(index, before.request, before.plan, ranking=RANKING, papers=held), scorer)
    assert index.read == ["p0", "p2"]
    assert scorer.asked[0][1][1] == "Title p1"


def test_scores_descend_and_say_where_they_come_from():
    state = rerank_by_model(state_of(rerank_depth=5), Scorer(lambda number: 7.0 - number % 3))
    scores = [hit.score for hit in state.ranking]
    assert scores == sorted(scores, reverse=True)
    assert ids(state)[:5] == ["p0", "p3", "p1", "p4", "p2"]  # equal scores in their order before
    second, sixth = state.ranking[1], state.ranking[5]
    assert second.contributions == {
        "lexical": Contribution(4, 47.0, 0.0),
        "prx": Contribution(1, pytest.approx(0.9), 0.0),
        RERANKED: Contribution(2, 7.0, 7.0),
    }
    assert second.score == 7.0
    assert sixth.contributions == {"lexical": Contribution(6, 45.0, 0.9)}
    assert scores[4] - scores[5] == pytest.approx(RANKING[4].score - RANKING[5].score)
    assert scores[5] - scores[9] == pytest.approx(RANKING[5].score - RANKING[9].score)


def test_a_paper_deleted_meanwhile_keeps_its_place_among_the_unread():
    state = rerank_by_model(state_of(Index(deleted=("p1",)), rerank_depth=3), Scorer(lambda number: number))
    assert ids(state)[:4] == ["p2", "p0", "p1", "p3"]
    everything = rerank_by_model(state_of(Index(deleted={hit.id for hit in RANKING})), Scorer())
    assert ids(everything) == [hit.id for hit in RANKING]


@pytest.mark.parametrize(("milliseconds", "read"), [(0.5, 8), (5, 8), (15, 16), (25, 24), (35, 30), (1_000, 30)])
def test_a_budget_ends_between_two_batches(milliseconds, read):
    now = [100.0]

    class Slow(Scorer):
        def scores(self, query, texts):
            now[0] += 0.010
            return super().scores(query, texts)

    scorer = Slow(lambda number: number)
    state = rerank_by_model(state_of(rerank_budget=milliseconds), scorer, lambda: now[0])
    assert [len(texts) for _, texts in scorer.asked] == [8, 8, 8, 6][: -(-read // 8)]
    assert ids(state)[:read] == [f"p{i}" for i in range(read - 1, -1, -1)]
    assert ids(state)[read:] == [f"p{i}" for i in range(read, 50)]
    said = f"The reranker read {read} of 30 papers within {milliseconds:g} ms; the others follow"
    assert [note.startswith(said) for note in state.notes] == ([True] if read < 30 else [])


@given(
    st.lists(st.floats(-50, 50, width=32), min_size=1, max_size=50),
    st.integers(1, 60),
    st.lists(st.floats(0, 1), min_size=1, max_size=50),
)
def test_no_paper_is_lost_and_scores_never_rise(scores, depth, fused):
    ranking = [Fused(f"p{i}", score, {}) for i, score in enumerate(sorted(fused, reverse=True))]
    state = rerank_by_model(
        state_of(ranking=ranking, rerank_depth=depth), Scorer(lambda number: scores[number % len(scores)])
    )
    assert sorted(ids(state)) == sorted(hit.id for hit in ranking)
    found = [hit.score for hit in state.ranking]
    assert all(first >= second - 1e-9 for first, second in pairwise(found))
    assert ids(state)[depth:] == [hit.id for hit in ranking[depth:]]


def test_a_paper_is_read_by_title_and_abstract():
    assert text_of(Paper("a", "A title", abstract="Text.")) == "A title Text."
    assert (text_of(Paper("a", "A title")), text_of(Paper("a", "", abstract="Text."))) == ("A title", "Text.")


@pytest.mark.parametrize(
    ("given", "milliseconds"),
    [("200ms", 200), ("200", 200), (" 1.5s ", 1500), ("0.5 ms", 0.5), (200, 200), (0.25, 0.25), ("600s", 600_000)],
)
def test_times(given, milliseconds):
    assert parse_milliseconds(given) == milliseconds
    assert make_request("virus", rerank="complete", rerank_budget=given).rerank_budget == milliseconds


@pytest.mark.parametrize("given", ["", "0", "0ms", "-1", "1e3", "1m", "601s", "ms", "٣ms", 0, -1, float("nan"), 1e9])
def test_times_that_cannot_be(given):
    with pytest.raises(InputError, match=r"can't be used; give milliseconds such as 200ms"):
        parse_milliseconds(given)


@pytest.mark.parametrize("depth", [0, -1, 10_001])
def test_depths_that_cannot_be(depth):
    with pytest.raises(InputError, match="rerank_depth can't be"):
        SearchRequest("virus", rerank_depth=depth)


def test_the_topic_is_what_the_model_reads():
    from search_plugin.understanding.meaning import Meaning

    scorer = Scorer()
    before = state_of(rerank_depth=1)
    rerank_by_model(
        SearchState(Index(), before.request, before.plan, ranking=RANKING, meaning=Meaning("masks")), scorer
    )
    assert scorer.asked[0][0] == "masks"
