"""Which papers of a ranking are shown for several."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from corpora.paper import Paper
from search_plugin.contract.legs import Fused
from search_plugin.contract.plan import Plan
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.pages.hit import Version
from search_plugin.ranking.collapsing import show_one_of_each
from search_plugin.ranking.state import SearchState
from search_plugin.request import SearchRequest
from search_plugin.words.works import FIELDS, SIMILARITIES

FINGERPRINT = next(iter(SIMILARITIES))
TITLE = "Aerosol transmission of a respiratory virus in schools"
PAPERS = {
    id_: Paper(id_, TITLE, authors=("Ada Byron",), year=year, venue=venue, retracted=retracted)
    for id_, year, venue, retracted in (("a", 2020, "Cell", False), ("b", 2021, "", True), ("c", 2021, "", False))
}


class Index:
    """Holds papers with vectors, and notes what is read."""

    def __init__(self, vectors, fingerprint=FINGERPRINT):
        self.schema = IndexSchema("tiny", fingerprint, (paper_vector("prx", 2, "cosine"),))
        self.held, self.read = vectors, []

    def values(self, ids, fields):
        assert tuple(fields) == FIELDS
        self.read.append(("values", sorted(ids)))
        held = {id_: {name: PAPERS[id_].value(name) for name in fields} for id_ in ids if id_ in PAPERS}
        return {id_: {name: value for name, value in row.items() if value is not None} for id_, row in held.items()}

    def vectors(self, ids, field):
        assert field == "prx"
        self.read.append(("vectors", list(ids)))
        return {id_: np.array(self.held[id_], np.float32) for id_ in ids if id_ in self.held}


def state(index, *ids, **changes):
    ranking = [Fused(id_, 1.0, {}) for id_ in ids]
    made = SearchState(index, SearchRequest("virus", collapse="work"), Plan("virus", (), None, 9), shown=ranking)
    return replace(made, ranking=ranking, **changes)


def test_the_first_version_is_shown_with_the_others_in_their_order():
    index = Index(dict.fromkeys("abc", (1, 0)))
    after = show_one_of_each(state(index, "x", "c", "a", "b"))
    assert [hit.id for hit in after.shown] == ["x", "c"]  # x was deleted since
    assert after.hidden == {"c": 2}
    assert after.versions == {"c": (Version("a", TITLE, 2020, "Cell"), Version("b", TITLE, 2021, retracted=True))}
    assert [hit.id for hit in after.ranking] == ["x", "c", "a", "b"]  # which facets count
    assert index.read == [("values", ["a", "b", "c", "x"]), ("vectors", ["a", "b", "c"])]


def test_vectors_that_disagree_keep_papers_apart_where_something_is_known_of_their_model():
    far = {"a": (1, 0), "b": (0, 2), "c": (3, 0.1)}
    assert [hit.id for hit in show_one_of_each(state(Index(far), "a", "b", "c")).shown] == ["a", "b"]
    unknown = Index(far, "another")
    assert [hit.id for hit in show_one_of_each(state(unknown, "a", "b", "c")).shown] == ["a"]
    assert [name for name, _ in unknown.read] == ["values"]
    # Without a vector, titles, authors and years decide.
    for vectors in ({"a": (1, 0)}, {"a": (1, 0), "b": (0, 0)}):
        assert [hit.id for hit in show_one_of_each(state(Index(vectors), "a", "b")).shown] == ["a"]


@pytest.mark.parametrize(
    ("title", "cosine", "shown"),
    [(f"{TITLE} of towns", 0.945, "a"), (f"{TITLE} of towns", 0.935, "ab"), (TITLE, 0.605, "a"), (TITLE, 0.595, "ab")],
)
def test_the_cosines_of_the_default_model_are_those_that_were_fitted(title, cosine, shown):
    index = Index({"a": (1, 0), "b": (cosine, (1 - cosine**2) ** 0.5)})
    papers = {"a": PAPERS["a"], "b": replace(PAPERS["b"], title=title)}
    assert "".join(hit.id for hit in show_one_of_each(state(index, "a", "b", papers=papers)).shown) == shown


def test_papers_that_were_read_are_not_read_again_and_few_are_not_read_at_all():
    index = Index({})
    after = show_one_of_each(state(index, "a", "b", papers={"a": PAPERS["a"], "b": replace(PAPERS["b"], year=1990)}))
    assert (len(after.shown), index.read) == (2, [])
    for before in (state(index, "a"), state(index, request=SearchRequest("virus", collapse="work"))):
        assert show_one_of_each(before) == before
    listing = state(index, "a", "b")
    listing = replace(listing, plan=Plan("", (), None, 9, order="year"))
    assert show_one_of_each(listing) == listing
    assert index.read == []


def test_as_many_papers_are_compared_as_the_window_has():
    index = Index({})
    few = state(index, "a", "x", "b", request=SearchRequest("virus", collapse="work", window=2, size=1))
    assert [hit.id for hit in show_one_of_each(few).shown] == ["a", "x", "b"]
    assert index.read == [("values", ["a", "x"])]
