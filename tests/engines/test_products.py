"""Tags and forecasts on every engine: written without encoding, filtered, counted, sorted, and kept apart."""

from __future__ import annotations

import numpy as np
import pytest

import ses
from products.tags.hierarchy import Concept, make_hierarchy
from products.tags.labels import read_judgments
from search_plugin.request import SearchRequest
from search_plugin.search import search
from tests.engines.conftest import NEWEST, emptied
from tests.products import planted

ANIMALS = make_hierarchy([Concept("cats", ("animals",))])


@pytest.fixture(params=NEWEST)
def engine(request, tmp_path):
    yield from emptied(request.param, tmp_path)


@pytest.fixture
def matrix():
    return planted.vectors(400)


@pytest.fixture
def library(engine, tmp_path, matrix):
    return planted.make_library(engine, tmp_path, matrix)


def everything(index):
    """All that an index holds of its papers, and their vectors."""
    ids = sorted(index.ids())
    found = index.documents(ids, [field.format for field in index.schema.vectors])
    return {
        id_: (
            found[id_].paper,
            found[id_].content_hash,
            {name: row.tolist() for name, row in found[id_].vectors.items()},
        )
        for id_ in ids
    }


def without(papers, *names):
    return {
        id_: ({name: value for name, value in paper.extra.items() if name not in names}, paper.title, digest, vectors)
        for id_, (paper, digest, vectors) in papers.items()
    }


@pytest.mark.slow
def test_tags_are_written_without_touching_anything_else(library, tmp_path):
    before = everything(library["papers"].index)
    tagger, notes = library.tags.train("subject", "papers", "topics", hierarchy=ANIMALS)
    assert notes == ()
    assert tagger.source.format == "clf"
    assert tagger.measures.macro_f1 > 0.7
    done = library.tags.apply("subject", "papers")
    after = everything(library["papers"].index)
    assert without(after, "subject") == without(before)
    assert (done.papers, done.tagged) == (400, sum("subject" in paper.extra for paper, _, _ in after.values()))
    field = library["papers"].index.schema.field("subject")
    assert (field.origin, field.kind) == ("tag", "keywords")
    said = {id_: paper.extra.get("subject", ()) for id_, (paper, _, _) in after.items()}
    assert all("animals" in tags for tags in said.values() if "cats" in tags)
    assert done.counts == {label: sum(label in tags for tags in said.values()) for label in done.counts}
    # Again, nothing is written; a changed tagger replaces its own tags, and takes them away too.
    assert library.tags.apply("subject", "papers").written == 0
    truth = planted.labels_of(planted.vectors(400))
    library.tags.train("subject", "papers", {f"p{row:04}": {"hard": "stones" in truth[row]} for row in range(200)})
    library.tags.apply("subject", "papers")
    again = everything(library["papers"].index)
    assert {paper.extra.get("subject", ()) for paper, _, _ in again.values()} == {(), ("hard",)}
    assert without(again, "subject") == without(before)


def test_tags_are_facets_and_filters(library):
    library.tags.train("subject", "papers", "topics", hierarchy=ANIMALS)
    done = library.tags.apply("subject", "papers", filter="year>=2005")
    assert done.papers == 200
    assert library.tags.apply("subject", "papers", filter=["journal=NATURE", "year>=2005"]).papers > 0
    page = library["papers"].search("virus", mode="lexical", facets="subject", window=500)
    assert dict(page.facets.counts["subject"]) == dict(done.counts)
    page = library["papers"].search("virus", mode="lexical", filter="subject=cats", window=500, size=400)
    assert len(page) == done.counts["cats"]
    assert all("cats" in hit.paper.extra["subject"] for hit in page)


@pytest.mark.slow
def test_who_gave_a_tag_is_never_mixed_up(library, tmp_path):
    library.tags.train("subject", "papers", "topics")
    library.tags.apply("subject", "papers")
    path = tmp_path / "labels.csv"
    path.write_text("id,label,value\np0001,cats,yes\np0001,stones,no\np9999,cats,yes\n")
    assert library.tags.record("subject", "papers", path) == ["p9999"]
    schema = library["papers"].index.schema
    assert [schema.field(name).origin for name in ("topics", "subject", "subject_by_person")] == [
        "custom",
        "tag",
        "custom",
    ]
    assert library["papers"].show("p0001").extra["subject_by_person"] == ("cats",)
    with pytest.raises(ses.InputError, match="come from a model, and a tagger learns from people or corpora only"):
        library.tags.train("more", "papers", "subject")
    library.tags.train("topics", "papers", "topics")
    with pytest.raises(ses.InputError, match="has a field topics already, of kind keywords and origin custom"):
        library.tags.apply("topics", "papers")
    assert read_judgments(path)["p0001"] == {"cats": True, "stones": False}


def test_a_tagger_of_another_model_is_refused(library, engine, tmp_path, matrix):
    library.tags.train("subject", "papers", "topics")
    planted.make_library(engine, tmp_path, matrix[:40], "others", fingerprint="g")
    for act in (library.tags.apply, library.tags.suggest):
        with pytest.raises(ses.InputError, match=r"model tiny \(f\), and the index others holds those of tiny \(g\)"):
            act("subject", "others")
    assert library["others"].index.schema.added == planted.FIELDS
    engine.drop("others")


@pytest.mark.slow
def test_an_index_without_clf_vectors_gives_those_for_search(engine, tmp_path, matrix):
    library = planted.make_library(engine, tmp_path, matrix, formats=("prx",))
    tagger, notes = library.tags.train("subject", "papers", "topics")
    assert tagger.source.format == "prx"
    assert notes == ()
    _, notes = library.tags.train("subject", "papers", "topics", format="clf")
    assert notes == ("The index papers holds no clf vectors, so its prx vectors are used.",)
    assert library.tags.apply("subject", "papers").tagged > 0


@pytest.mark.slow
def test_papers_that_are_written_again_leave_the_same_ones_held_out(library):
    index = library["papers"].index

    def measured():
        tagger, _ = library.tags.train("subject", "papers", "topics")
        forecaster, _ = library.forecasts.train("impact", "papers", "cited", within="venue")
        return tagger.measures, forecaster.measures

    before = measured()
    first = index.documents([f"p{row:04}" for row in range(100)], [field.format for field in index.schema.vectors])
    index.upsert([*first.values()])
    index.finish()
    assert measured() == before


@pytest.mark.slow
def test_forecasts_are_filtered_sorted_and_boost(library, matrix):
    before = everything(library["papers"].index)
    forecaster, _ = library.forecasts.train("impact", "papers", "cited", within="venue")
    assert forecaster.source.format == "rgn"
    done = library.forecasts.apply("impact", "papers")
    assert (done.papers, done.written) == (400, 400)
    after = everything(library["papers"].index)
    assert without(after, *forecaster.fields) == without(before)
    assert library.forecasts.apply("impact", "papers").written == 0
    held = {id_: paper.extra["impact"] for id_, (paper, _, _) in after.items()}
    assert all(
        paper.extra["impact_low"] <= held[id_] <= paper.extra["impact_high"] for id_, (paper, _, _) in after.items()
    )
    assert np.corrcoef([held[id_] for id_ in sorted(held)], matrix[:, -1])[0, 1] > 0.7
    index = library["papers"]
    assert {field.origin for field in index.index.schema.added if field.name.startswith("impact")} == {"forecast"}
    page = index.search("virus", mode="lexical", filter="impact>=60", window=500, size=400)
    assert {hit.id for hit in page} == {id_ for id_, value in held.items() if value >= 60}
    page = index.search("", sort="-impact", size=5)
    assert [held[hit.id] for hit in page] == sorted(held.values(), reverse=True)[:5]
    plain = index.search("virus 7", mode="lexical", window=500, size=400)
    gentle = index.search("virus 7", mode="lexical", window=500, size=400, boost="impact=0.4")
    assert {hit.id for hit in gentle} == {hit.id for hit in plain}
    ranks = {hit.id: hit.rank for hit in plain}
    moved = [ranks[hit.id] * (1 - 0.4 * (held[hit.id] - 50) / 100) for hit in gentle]
    assert moved == sorted(moved)
    assert [hit.id for hit in gentle] != [hit.id for hit in plain]
    assert "past citations" in gentle.notes[-1]
    assert search(index.index, SearchRequest("virus 7", mode="lexical", window=500, size=400)).hits == plain.hits
    with pytest.raises(ses.InputError, match="a number that a corpus gives"):
        library.forecasts.train("again", "papers", "impact")
