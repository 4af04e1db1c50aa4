"""Indexes as things, on every engine: copied, described, dropped, discarded, and one of them the default."""

from __future__ import annotations

import time
from dataclasses import asdict, replace

import numpy as np
import pytest

import ses
from corpora.errors import InputError, NotFoundError, UnavailableError
from search_plugin.contract.engine import Refused
from search_plugin.contract.schema import Field
from tests.engines.conftest import SCHEMA, another, documents, every_engine, every_stored, stored
from tests.tiny import make_model, papers

IDS = [document.paper.id for document in documents(200)]


def contents(index):
    ids = sorted(index.ids())
    assert index.count() == len(ids)
    vectors = {name: index.vectors(ids, name) for name in ("prx", "clf")}
    numbers = {name: np.stack([rows[id_] for id_ in ids]) if ids else None for name, rows in vectors.items()}
    return index.papers(ids), index.hashes(ids), numbers


def same(one, other):
    assert (one[0], one[1]) == (other[0], other[1])
    for name, numbers in one[2].items():
        np.testing.assert_array_equal(numbers, other[2][name])


def copied(engine, name="papers", to="copy"):
    steps = []
    with engine.lock(name), engine.lock(to):
        index = engine.copy(name, to, steps.append)
    assert sum(steps) == index.count()
    return index


@every_engine
def test_a_copy_holds_the_same_and_lives_alone(filled, engine):
    with engine.lock("papers"):
        index = engine.open("papers")
        index.add_fields([Field("shelf", "keyword")])
        index.update({IDS[3]: {"shelf": "B 12", "origins": ("a", "b")}, IDS[4]: {"shelf": "C"}})
        index.delete(IDS[5:9])
        index.finish()
    before = contents(engine.open("papers"))
    copied(engine)
    copy = another(engine).open("copy")
    assert sorted(engine.names()) == ["copy", "papers"]
    assert copy.schema == engine.open("papers").schema
    same(contents(copy), before)
    assert copy.values([IDS[3]], ["shelf"]) == {IDS[3]: {"shelf": "B 12"}}
    with engine.lock("copy"):
        written = engine.open("copy")
        written.delete(IDS[20:30])
        written.upsert([replace(documents(40)[35], content_hash="0" * 32)])
        written.finish()
    same(contents(another(engine).open("papers")), before)
    after = contents(another(engine).open("copy"))
    with engine.lock("papers"):
        engine.open("papers").upsert(documents(40)[:10])
    same(contents(another(engine).open("copy")), after)
    with engine.lock("papers"):
        engine.drop("papers")
    assert another(engine).open("copy").count() == 186


@stored
def test_a_copy_of_what_is_not_there_is_refused_and_leaves_nothing(filled, engine):
    with pytest.raises(NotFoundError, match="no index 'none'"):
        copied(engine, "none")
    with engine.lock("begun"):
        engine.build("begun", SCHEMA, "source")
    with pytest.raises(NotFoundError, match="no index 'begun'"):
        copied(engine, "begun")
    assert list(engine.names()) == ["papers"]
    assert [index.name for index in engine.diagnose().indexes] == ["begun", "papers"]


def test_a_copy_that_fails_leaves_nothing(server):
    index = server.build("papers", SCHEMA, "source")
    index.upsert(documents(30))
    index.finish()
    server.publish(index)
    build = server.build

    def picky(*given):
        made = build(*given)
        upsert = made.upsert
        made.upsert = lambda written: [*upsert(written[1:]), Refused(written[0].paper.id, "It is too long")]
        return made

    server.build = picky
    with pytest.raises(UnavailableError, match=r"can't be copied: It is too long\."):
        copied(server)
    server.build = build
    assert [index.name for index in server.diagnose().indexes] == ["papers"]
    assert copied(server).count() == 30


def test_an_unpublished_generation_is_discarded_alone(filled, engine):
    with engine.lock("papers"):
        left = engine.build("papers", SCHEMA, "another source")
        engine.discard(left)
    assert engine.diagnose("papers").indexes[0].leftovers == ()
    assert engine.open("papers").count() == 200
    with engine.lock("new"):
        engine.discard(engine.build("new", SCHEMA, "source"))
    assert [index.name for index in engine.diagnose().indexes] == ["papers"]


def test_an_unfinished_build_is_dropped(engine):
    with engine.lock("begun"):
        engine.build("begun", SCHEMA, "source").upsert(documents(3))
        engine.drop("begun")
    assert engine.diagnose().indexes == ()
    with engine.lock("begun"), pytest.raises(NotFoundError, match="There is no index 'begun'"):
        engine.drop("begun")


@every_engine
def test_values_are_tallied_over_all_papers(filled, engine):
    index = engine.open("papers")
    expected = {}
    for document in documents(200):
        for author in document.paper.authors:
            expected[author] = expected.get(author, 0) + 1
    ranked = sorted(expected.items(), key=lambda pair: (-pair[1], pair[0]))
    assert list(index.value_counts("authors", 10)) == ranked
    assert list(index.value_counts("authors", 2)) == ranked[:2]
    assert list(index.value_counts("origins", 10)) == []


@every_stored
def test_size_and_time_of_publication(filled, engine):
    index = engine.open("papers")
    # More than the vectors alone, and no more than a few times all of it.
    assert 200 * 24 * 4 < index.disk_bytes() < 50_000_000
    assert abs(engine.published_at("papers") - time.time()) < 300
    assert engine.published_at("none") == 0.0


@pytest.fixture
def library(engine, tmp_path):
    model = make_model(tmp_path / "model")
    return ses.open(engine.url, model=str(model), data_dir=tmp_path / "data", cache_dir=tmp_path / "cache")


def test_a_library_has_a_default_that_is_not_the_last_one(library):
    with pytest.raises(ses.NotFoundError, match=r"There is no index in .* yet"):
        library.default()
    library.index("b", papers(5))
    assert library.default().name == "b"
    library.index("a", papers(3))
    assert library.default().name == "b"
    library.index("b", papers(6), fresh=True)  # which is published after a
    assert library.default().name == "b"
    library.use("a")
    assert library.default().name == "a"
    library.use("b")
    library.index("a", papers(4))
    assert library.default().name == "b"
    assert (library.describe("a").default, library.describe("b").default) == (False, True)
    with pytest.raises(ses.NotFoundError, match="no index 'c'"):
        library.use("c")
    library.copy("b", "c")
    with pytest.raises(ses.InputError, match="There is an index a already"):
        library.copy("b", "a")
    assert sorted(library.indexes()) == ["a", "b", "c"]
    library.drop("b")
    assert library.default().name == "a"
    library.drop("a")
    assert library.default().name == "c"


def test_the_first_index_stays_the_default_also_where_nobody_has_looked(library):
    library.index("b", papers(5))
    library.index("a", papers(3))
    library.index("b", papers(6), fresh=True)
    assert library.default().name == "b"
    library.copy("a", "c")
    library.rebuild("b")
    assert library.default().name == "b"


def test_an_index_of_before_is_the_default_by_its_age(library):
    for name in ("b", "a", "c"):
        library.index(name, papers(3))
    (library.data_dir / "first-indexes.json").unlink()
    library.data_dir.chmod(0o500)
    try:
        assert library.default().name == "b"
    finally:
        library.data_dir.chmod(0o700)
    assert library.default().name == "b"
    library.index("b", papers(4), fresh=True)
    assert library.default().name == "b"


@stored
def test_a_library_describes_an_index(library):
    library.index("a", papers(12), origin="one")
    library.index(
        "a", [*papers(3), {"id": "x", "title": "A virus", "shelf": "B"}], origin="two", fields={"shelf": "keyword"}
    )
    facts = library.describe("a")
    assert (facts.name, facts.generation, facts.papers, facts.default) == ("a", 1, 13, True)
    assert facts.vectors == {"prx": 13}
    assert dict(facts.origins) == {"one": 12, "two": 4}
    assert ("shelf", "keyword") in [(field.name, field.kind) for field in facts.schema.fields]
    assert facts.published is not None
    assert facts.disk_bytes > 0
    assert facts.to_dict()["schema"]["model"] == facts.schema.model


def test_papers_are_deleted_and_the_missing_ones_told(library):
    library.index("a", papers(12))
    opened = library["a"]
    assert opened.delete(["p00003", "none", "p00004", "p00003"]) == ["none"]
    assert len(opened) == len(library["a"]) == 10
    assert "p00003" not in library["a"]
    assert opened.delete("p00005") == []
    assert opened.delete([]) == []
    with library._engine.lock("a"), pytest.raises(ses.ConflictError):
        opened.delete(["p00001"])
    assert len(library["a"]) == 9
    report = library.index("a", papers(12))
    assert (report.new, report.unchanged) == (3, 9)


def test_evaluations_live_apart(library):
    for name in ("eval-a", "eval-"):
        with pytest.raises(InputError, match="Names that begin with eval- are for the indexes of evaluations"):
            library.index(name, papers(2))
    library.index("a", papers(2))
    with library._engine.lock("a"), library._engine.lock("eval-a"):
        library._engine.copy("a", "eval-a", lambda _: None)
    assert (library.indexes(), list(library), len(library)) == (["a"], ["a"], 1)
    assert sorted(library.indexes(evaluations=True)) == ["a", "eval-a"]
    assert library.default().name == "a"
    assert len(library["eval-a"]) == 2
    with pytest.raises(InputError, match="begin with eval-"):
        library.use("eval-a")
    with pytest.raises(InputError, match="begin with eval-"):
        library.copy("a", "eval-b")


def test_updated_fields_are_found_at_once(library):
    library.index("a", [{**asdict(paper), "shelf": "B"} for paper in papers(6)], fields={"shelf": "keyword"})
    library["a"].search("virus", mode="lexical")
    assert library.update("a", {"p00002": {"shelf": "north"}, "none": {"shelf": "x"}}) == ["none"]
    assert [hit.id for hit in library["a"].search(filter="shelf=north")] == ["p00002"]
