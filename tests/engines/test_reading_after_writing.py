"""What changes shows at once, wherever it lies: in reads after writes, during a search, and in what is thrown away."""

from __future__ import annotations

from dataclasses import replace

import pytest

from search_plugin.contract.engine import Document
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.request import SearchRequest
from search_plugin.search import search
from tests.engines.conftest import SCHEMA, another, documents, every_engine, facets_of, forget, publish, stored
from tests.engines.test_search import ENCODER, QUERY, ids

PLAN = Plan("virus", (VectorClause("prx", QUERY),), None, 20)


def found(index):
    return {leg: [hit.id for hit in hits] for leg, hits in index.search(PLAN).items()}


@every_engine
def test_reads_after_a_write_show_it(filled):
    before = found(filled)
    changed, deleted = before["lexical"][0], before["prx"][0]
    assert changed != deleted
    # Read first, so that whatever a search keeps for the reads after it is there.
    assert {changed, deleted} <= filled.papers(before["lexical"] + before["prx"]).keys()

    (old,) = (document for document in documents(200) if document.paper.id == changed)
    paper = replace(old.paper, title="neutrino", abstract="")
    filled.upsert([Document(paper, "other", {**old.vectors, "clf": -old.vectors["clf"]})])
    assert filled.papers([changed]) == {changed: paper}
    assert filled.hashes([changed]) == {changed: "other"}
    assert (filled.vectors([changed], "clf")[changed] == -old.vectors["clf"]).all()
    assert changed not in found(filled)["lexical"]
    assert [hit.id for hit in filled.search(Plan("neutrino", (), None, 9))["lexical"]] == [changed]

    filled.papers([changed, deleted])
    filled.delete([deleted])
    assert filled.papers([changed, deleted]).keys() == filled.hashes([changed, deleted]).keys() == {changed}
    assert deleted not in filled.vectors([deleted], "prx")
    assert all(deleted not in leg for leg in found(filled).values())
    assert facets_of(filled, PLAN, [deleted], ["id"], 300).counts["id"].count((deleted, 1)) == 0
    assert (filled.count(), len(list(filled.ids()))) == (199, 199)


@every_engine
def test_the_revision_changes_with_what_a_search_finds_and_with_nothing_else(filled, engine):
    reader = another(engine).open("papers")
    seen = [reader.revision()]

    def changed():
        seen.append(reader.revision())
        assert seen[-1] not in seen[:-1]
        found(reader)
        reader.count()
        assert reader.revision() == seen[-1] == another(engine).open("papers").revision()

    (new,) = documents(1, seed=7)
    old = documents(200)
    filled.upsert([replace(new, paper=replace(new.paper, id="new"))])
    filled.finish()
    changed()
    filled.delete(["new", old[2].paper.id])
    filled.finish()
    changed()
    # One goes and one comes: there are as many as before.
    filled.delete([old[0].paper.id])
    filled.upsert([replace(new, paper=replace(new.paper, id="another"))])
    filled.finish()
    changed()
    filled.update({old[1].paper.id: {"origins": ("elsewhere",)}})
    filled.finish()
    changed()


def test_an_index_that_is_made_again_of_the_same_papers_has_another_revision(engine):
    revisions = set()
    for _ in range(2):
        forget(engine, "papers")
        publish(engine, documents(20))
        revisions.add(engine.open("papers").revision())
    fresh = engine.build("papers", SCHEMA, "another source")
    fresh.upsert(documents(20))
    fresh.finish()
    engine.publish(fresh)
    revisions.add(engine.open("papers").revision())
    assert len(revisions) == 3


class Meanwhile:
    """An index in which something happens when the legs of a search are back, and its page is not made yet."""

    def __init__(self, index, act):
        self._index = index
        self._act = act

    def __getattr__(self, name):
        return getattr(self._index, name)

    def pinned(self):
        return Meanwhile(self._index.pinned(), self._act)

    def search(self, plan):
        legs = self._index.search(plan)
        self._act()
        return legs


@pytest.mark.parametrize("collapse", ["", "journal"])
def test_a_paper_that_is_deleted_during_a_search_is_left_out_or_the_page_is_of_before(filled, collapse):
    request = SearchRequest("virus", mode="vector", exact=True, size=9, facets=("year",), collapse=collapse)
    before = search(filled, request, ENCODER)
    whole = ids(before)
    page = search(Meanwhile(filled, lambda: filled.delete(whole[:1])), request, ENCODER)
    if filled.pinned() is not filled:
        assert (ids(page), page.facets) == (whole, before.facets)
        page = search(filled, request, ENCODER)
    else:
        assert len(page.hits) == 8
    assert whole[0] not in ids(page)
    if collapse:
        venues = [hit.paper.venue for hit in page.hits if hit.paper.venue]
        assert len(venues) == len(set(venues)) > 1
    else:
        assert ids(page)[:8] == whole[1:]


@stored
def test_generations_are_thrown_away_but_for_the_one_before(engine):
    for number in (1, 2, 3, 4):
        # What a build of another source left unfinished goes too.
        engine.build("papers", SCHEMA, "unfinished").upsert(documents(5))
        index = publish(engine, documents(10 * number), source=f"source {number}")
        (told,) = another(engine).diagnose("papers").indexes
        assert (told.generation, told.papers, told.leftovers) == (index.generation, 10 * number, ())
    assert told.previous
    assert engine.rollback("papers").count() == 30
    engine.drop("papers")
    assert another(engine).diagnose().indexes == ()
    assert engine.names() == []


@every_engine
def test_papers_that_came_in_steps_are_scored_like_those_that_came_at_once(engine):
    scores = []
    for name, step in (("once", 200), ("steps", 50)):
        index = engine.build(name, SCHEMA, "source")
        for start in range(0, 200, step):
            index.upsert(documents(200)[start : start + step])
            index.finish()
        scores.append({hit.id: hit.score for hit in index.search(Plan("virus lung", (), None, 200))["lexical"]})
    assert scores[1] == pytest.approx(scores[0], abs=1e-5)
    assert len(scores[0]) > 50
