"""Generations: built unseen, published at once, rolled back, resumed; one writer at a time."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from corpora.errors import InputError, UnavailableError
from search_plugin.engines.registry import connect
from tests.engines.conftest import EVERYWHERE, SCHEMA, another, documents, emptied, every_stored


@pytest.fixture(params=EVERYWHERE)
def engine(request, tmp_path):
    yield from emptied(request.param, tmp_path)


def build(engine, name, count):
    index = engine.build(name, SCHEMA, "source")
    index.upsert(documents(count))
    index.finish()
    return index


def test_an_index_is_seen_once_published(engine):
    index = build(engine, "a", 10)
    assert list(engine.names()) == []
    with pytest.raises(InputError, match="There is no index 'a'"):
        engine.open("a")
    engine.publish(index)
    assert list(engine.names()) == ["a"]
    assert engine.open("a").count() == 10
    assert another(engine).open("a").count() == 10
    with pytest.raises(InputError, match=r"no index 'b' .*choose one of a"):
        engine.open("b")


@every_stored
def test_a_fresh_version_replaces_and_rolls_back(engine):
    engine.publish(build(engine, "a", 10))
    fresh = build(engine, "a", 20)
    assert engine.open("a").count() == 10
    engine.publish(fresh)
    assert engine.open("a").count() == 20
    assert engine.rollback("a").count() == 10
    assert engine.open("a").count() == 10
    assert engine.diagnose("a").indexes[0].previous is None
    # It does not roll forward, and the version that was left is neither resumed nor a leftover.
    with pytest.raises(InputError, match="has no earlier version to go back to"):
        engine.rollback("a")
    assert engine.diagnose("a").indexes[0].leftovers == ()
    assert engine.open("a").count() == 10
    third = build(engine, "a", 30)
    assert third.generation == 3
    engine.publish(third)
    assert engine.open("a").count() == 30
    assert engine.rollback("a").count() == 10
    engine.publish(build(engine, "a", 40))
    assert engine.rollback("a").count() == 10


def test_rolling_back_the_only_version_says_so(engine):
    engine.publish(build(engine, "a", 5))
    with pytest.raises(InputError, match="has no earlier version to go back to"):
        engine.rollback("a")
    assert engine.open("a").count() == 5


def test_an_interrupted_build_is_gone_on_with_for_the_same_source_and_model_only(engine):
    left = build(engine, "a", 7)
    again = engine.build("a", SCHEMA, "source")
    assert (again.count(), again.generation) == (7, left.generation)
    assert engine.build("a", SCHEMA, "another source").count() == 0
    build(engine, "a", 8)
    assert engine.build("a", replace(SCHEMA, fingerprint="other"), "source").count() == 0
    engine.publish(build(engine, "a", 9))
    assert engine.build("a", SCHEMA, "source").count() == 0


def test_drop_removes_all_of_it(engine):
    engine.publish(build(engine, "a", 5))
    engine.publish(build(engine, "a-b", 6))
    engine.drop("a")
    assert list(engine.names()) == ["a-b"]
    assert engine.open("a-b").count() == 6


def test_the_newest_comes_first(engine):
    for name in ("one", "two"):
        engine.publish(build(engine, name, 3))
    engine.publish(build(engine, "one", 4))
    assert list(engine.names()) == ["one", "two"]


def test_a_second_writer_is_held_off(engine):
    with engine.lock("a"):
        with engine.lock("b"):
            pass
        with pytest.raises(UnavailableError, match="Another run is writing the index a"), another(engine).lock("a"):
            pass
    with engine.lock("a"):
        pass


def test_names_no_engine_can_hold_are_refused(engine):
    for name in ("", "A", "../a", "a/b", "a.v1", "-a", "a" * 65, "ä"):
        for call in (engine.open, engine.rollback, engine.drop, lambda name: engine.build(name, SCHEMA, "source")):
            with pytest.raises(InputError, match="can't be named"):
                call(name)


def test_an_unknown_engine_is_refused():
    for url in ("solr://x", "embedded", ""):
        with pytest.raises(InputError, match="give engine as embedded:"):
            connect(url)


def test_a_folder_that_cannot_be_used_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UnavailableError, match=r"file.*can't be written; make it a writable folder"):
        connect(f"embedded:{tmp_path / 'file'}")


def test_an_index_of_another_ses_is_told_and_can_be_made_anew(tmp_path):
    engine = connect(f"embedded:{tmp_path}")
    engine.publish(build(engine, "a", 5))
    (tmp_path / "a.v1" / "facts.json").write_text("{}")
    with pytest.raises(UnavailableError, match="damaged, or not made by this version of ses; index again with fresh"):
        engine.open("a")
    engine.publish(build(engine, "a", 6))
    assert engine.open("a").count() == 6
    shutil.rmtree(tmp_path / "a.v2")
    with pytest.raises(UnavailableError, match="damaged"):
        engine.open("a")
