"""Several corpora in one index, papers that leave one, and retracted papers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import UnavailableError
from corpora.paper import Accepted, Deleted, Rejected
from indexer.pipeline import index_corpus
from search_plugin.contract.engine import Document
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.request import SearchRequest
from search_plugin.search import search
from tests.engines.conftest import NEWEST_EVERYWHERE, emptied
from tests.indexer.jobs import make_job
from tests.search_plugin.filters.filtered import exact_filter
from tests.tiny import papers

SIX = papers(6)
IDS = [paper.id for paper in SIX]


@pytest.fixture(params=NEWEST_EVERYWHERE)
def engine(request, tmp_path):
    yield from emptied(request.param, tmp_path)


def index_into(engine, home, origin, records, **options):
    """Index papers and other records, given in order, as one corpus."""
    given = [record if isinstance(record, Deleted | Rejected) else Accepted(1, record) for record in records]
    job = make_job(home, home / "none", origin=origin, records=lambda: iter(given), **options)
    return index_corpus(job, engine)


def no_encoder():
    pytest.fail("the model is loaded for nothing")


def origins(engine):
    index = engine.open("papers")
    held = index.values(sorted(index.ids()), ["origins"])
    return {id_: row.get("origins", ()) for id_, row in held.items()}


def found(engine, text):
    """The ids that pass a filter, by each of the ways to ask."""
    index, where = engine.open("papers"), exact_filter(text)
    listed = set(index.ids(where))
    query = " ".join({word for paper in SIX for word in paper.title.split()})
    page = search(index, SearchRequest(query, mode="lexical", filter=where, facets=("corpus", "retracted")))
    assert {hit.paper.id for hit in page.hits} == listed
    return listed, page


def test_pruning_stays_within_its_origin(engine, home):
    index_into(engine, home, "a", SIX[:3])
    index_into(engine, home, "b", SIX[3:])
    assert origins(engine) == {**dict.fromkeys(IDS[:3], ("a",)), **dict.fromkeys(IDS[3:], ("b",))}
    report = index_into(engine, home, "b", SIX[4:], prune=True, encoder=no_encoder)
    assert (report.origin, report.deleted, report.kept, report.papers) == ("b", 1, 0, 5)
    assert sorted(origins(engine)) == [*IDS[:3], *IDS[4:]]
    listed, page = found(engine, "corpus=a")
    assert listed == set(IDS[:3])
    assert page.facets.counts == {"corpus": (("a", 3),), "retracted": ()}
    assert found(engine, "not origin=a")[0] == set(IDS[4:])


def test_a_paper_of_two_corpora_stays_until_both_drop_it(engine, home):
    index_into(engine, home, "a", SIX[:4])
    before = engine.open("papers").vectors(IDS, "prx")
    # The content is the same, so that the paper is the second corpus's too without being encoded again.
    assert index_into(engine, home, "b", SIX[2:4], encoder=no_encoder).unchanged == 2
    assert index_into(engine, home, "a", SIX[:4], encoder=no_encoder).unchanged == 4
    shared = {**dict.fromkeys(IDS[:2], ("a",)), **dict.fromkeys(IDS[2:4], ("a", "b"))}
    assert origins(engine) == shared
    after = engine.open("papers").vectors(IDS, "prx")
    assert all(np.allclose(after[id_], before[id_], atol=1e-6) for id_ in IDS[:4])
    assert engine.open("papers").papers(IDS[2:3])[IDS[2]] == replace(SIX[2], origins=("a", "b"))

    # A change by one corpus leaves the paper the other's too.
    changed = replace(SIX[2], title="quantum galaxy")
    assert index_into(engine, home, "a", [*SIX[:2], changed, SIX[3]]).updated == 1
    assert origins(engine) == shared

    dropped = index_into(engine, home, "a", SIX[:1], prune=True)
    assert (dropped.deleted, dropped.kept, dropped.papers) == (1, 2, 3)
    assert origins(engine) == {IDS[0]: ("a",), **dict.fromkeys(IDS[2:4], ("b",))}
    dropped = index_into(engine, home, "b", SIX[4:5], prune=True)
    assert (dropped.deleted, dropped.kept, dropped.papers) == (2, 0, 2)
    assert origins(engine) == {IDS[0]: ("a",), IDS[4]: ("b",)}
    assert engine.open("papers").count("prx") == 2


def test_a_deletion_deletes_and_the_last_record_of_an_id_wins(engine, home):
    index_into(engine, home, "a", SIX[:5])
    one, two, three, four, five = IDS[:5]
    again = replace(SIX[1], title="quantum galaxy")
    records = [
        *(SIX[0], Deleted(2, one)),  # after its paper, which is in the index from the first run
        *(Deleted(3, two), again),  # before its paper
        *(Deleted(5, three), Rejected(6, "It is torn.", three)),  # the corpus has it, though it can't be read
        *(Rejected(7, "It is torn.", four), Deleted(8, four)),
        *(SIX[5], Deleted(10, IDS[5])),  # of a paper the index never held
        Deleted(11, "none"),
    ]
    report = index_into(engine, home, "a", records)
    assert (report.deletions, report.deleted_by_corpus, report.deleted, report.papers) == (4, 2, 0, 3)
    assert (report.new, report.updated, report.unchanged, report.duplicates, report.rejected) == (0, 1, 0, 4, 2)
    told = (report.new, report.updated, report.unchanged, report.duplicates, report.deletions, report.rejected)
    assert sum(told) == len(records)
    assert sorted(origins(engine)) == [two, three, five]
    assert engine.open("papers").papers([two])[two].title == "quantum galaxy"
    # It says no more than that, and pruning not more than before.
    assert index_into(engine, home, "a", records, encoder=no_encoder).deleted_by_corpus == 0
    assert index_into(engine, home, "a", records, encoder=no_encoder, prune=True).deleted == 1
    assert sorted(origins(engine)) == [two, three]


def test_a_deletion_leaves_papers_of_other_corpora(engine, home):
    index_into(engine, home, "a", SIX[:2])
    index_into(engine, home, "b", SIX[1:3])
    report = index_into(engine, home, "b", [Deleted(line, id_) for line, id_ in enumerate(IDS[:3])])
    assert (report.deleted_by_corpus, report.kept, report.papers) == (1, 1, 2)
    assert origins(engine) == dict.fromkeys(IDS[:2], ("a",))


def test_retracted_papers_are_marked_found_and_counted(engine, home):
    marked = [replace(paper, retracted=number < 2) for number, paper in enumerate(SIX)]
    index_into(engine, home, "a", marked)
    listed, page = found(engine, "retracted=true")
    assert listed == set(IDS[:2])
    assert all(hit.paper.retracted for hit in page.hits)
    assert page.facets.counts["retracted"] == (("true", 2),)
    for text in ("retracted=false", "not retracted=true", "retracted!=true", "not retracted exists"):
        listed, page = found(engine, text)
        assert listed == set(IDS[2:])
        assert not any(hit.paper.retracted for hit in page.hits)
    # A retraction is a change, and so is its withdrawal.
    assert index_into(engine, home, "a", SIX).updated == 2
    assert found(engine, "retracted=true")[0] == set()


def test_a_change_of_any_field_reaches_the_index(engine, home):
    first = replace(
        SIX[1], types=("Review",), language="eng", identifiers=("doi:1",), references=("9",), url="https://a"
    )
    index_into(engine, home, "a", [replace(first, id=f"p{number}") for number in range(12)])
    changes = [
        *({"title": "quantum"}, {"abstract": "galaxy"}, {"authors": ("X Y",)}, {"year": 1871}, {"venue": "Cell"}),
        *({"types": ()}, {"language": "fre"}, {"fields": ("Art",)}, {"identifiers": ("doi:2",)}, {"references": ()}),
        *({"url": "https://b"}, {"retracted": True}),
    ]
    changed = [replace(first, id=f"p{number}", origins=("a",), **change) for number, change in enumerate(changes)]
    report = index_into(engine, home, "a", changed)
    assert (report.updated, report.unchanged) == (12, 0)
    assert engine.open("papers").papers([paper.id for paper in changed]) == {paper.id: paper for paper in changed}


def test_a_build_that_holds_more_than_it_was_given_is_not_published(engine, home):
    job = make_job(home, home / "none", records=lambda: iter([Accepted(1, paper) for paper in SIX[:3]]))
    schema = IndexSchema(job.card.name, job.card.fingerprint, (paper_vector("prx", 64, job.card.similarity),))
    # As somebody else's papers would be in what an interrupted run of this job left.
    left = engine.build("papers", schema, job.source)
    left.upsert([Document(paper, paper.content_hash(), {"prx": np.ones(64, np.float32)}) for paper in SIX])
    with pytest.raises(UnavailableError, match="holds 6 papers and was given 3, so it was not put in place of the one"):
        index_corpus(job, engine)
    assert "papers" not in engine.names()
