"""Which generation is published: known also where the pointer is lost, damaged, or another one."""

from __future__ import annotations

import json
import shutil

import pytest

from corpora.checksums import sealed
from corpora.errors import NotFoundError, UnavailableError
from search_plugin.engines.embedded import generations
from search_plugin.engines.embedded.engine import EmbeddedEngine
from tests.search_plugin.engines.embedded.small import SCHEMA, document, make


def publish(engine, count):
    index = engine.build("papers", SCHEMA, f"source {count}")
    index.upsert([document(f"p{number}", number) for number in range(count)])
    engine.publish(index)


@pytest.fixture
def engine(tmp_path):
    """An index of two generations, of 2 and 3 papers; beside it is another index of 5."""
    make(tmp_path, 5, "other")
    made, _ = make(tmp_path, 2)
    publish(made, 3)
    return made


def as_before(folder, name, **held):
    """Have a pointer as earlier versions of ses wrote it, without copies."""
    for copy in folder.glob(f"{name}.v*/published.json"):
        copy.unlink()
    (folder / f"{name}.json").write_bytes(sealed(held))


DAMAGES = {
    "deleted": lambda pointer: pointer.unlink(),
    "emptied": lambda pointer: pointer.write_bytes(b""),
    "zeroed": lambda pointer: pointer.write_bytes(bytes(48)),
    "another generation": lambda pointer: pointer.write_bytes(
        pointer.read_bytes().replace(b'"current":2', b'"current":1')
    ),
    "another index": lambda pointer: shutil.copy(pointer.with_name("other.json"), pointer),
    "a device": lambda pointer: (pointer.unlink(), pointer.symlink_to("/dev/zero")),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_pointer_is_found_again_and_doctor_writes_it(engine, damage):
    pointer = engine.root / "papers.json"
    DAMAGES[damage](pointer)
    assert engine.open("papers").count() == 3
    assert set(engine.names()) == {"other", "papers"}
    (state,) = engine.diagnose("papers").indexes
    assert (state.generation, state.previous, state.papers) == (2, 1, 3)
    assert state.troubles == ()
    assert state.lines[-1] == f"{pointer} was lost or damaged, and was made again"
    assert json.loads(pointer.read_bytes())["current"] == 2
    assert "pointer_again" not in engine.diagnose("papers").indexes[0].details
    shutil.rmtree(engine.root / "papers.v2")  # so that the pointer alone says what was published
    with pytest.raises(UnavailableError, match="The index papers in"):
        engine.open("papers")


def test_an_earlier_pointer_that_was_put_back_is_not_believed(engine):
    pointer = engine.root / "papers.json"
    first = pointer.read_bytes()
    assert engine.rollback("papers").count() == 2
    pointer.write_bytes(first)
    assert engine.open("papers").count() == 2
    publish(engine, 4)
    assert engine.open("papers").count() == 4
    assert engine.rollback("papers").count() == 2


def test_a_copy_that_is_damaged_or_lost_does_not_matter(engine):
    copy = engine.root / "papers.v2" / "published.json"
    for damage in (lambda: copy.write_bytes(b"{"), copy.unlink):
        damage()
        assert engine.open("papers").count() == 3
        assert "pointer_again" not in engine.diagnose("papers").indexes[0].details
        assert json.loads(copy.read_bytes())["current"] == 2


def test_a_publication_that_was_killed_is_complete_or_did_not_begin(engine, monkeypatch):
    index = engine.build("papers", SCHEMA, "third")
    index.upsert([document("p0")])
    replacing = generations.replacing

    def killed(place, **flags):
        if place.name == "papers.json":
            raise KeyboardInterrupt
        return replacing(place, **flags)

    monkeypatch.setattr(generations, "replacing", killed)
    with pytest.raises(KeyboardInterrupt):
        engine.publish(index)
    monkeypatch.undo()
    assert EmbeddedEngine(engine.url).open("papers").count() == 1
    assert engine.diagnose("papers").indexes[0].troubles[0].startswith("An interrupted build of the index papers has")


def test_a_copied_or_dropped_index_is_not_taken_for_another(engine):
    engine.copy("papers", "copied", lambda _: None)
    (engine.root / "copied.json").unlink()
    assert engine.open("copied").count() == 3
    engine.drop("papers")
    assert set(engine.names()) == {"copied", "other"}
    with pytest.raises(NotFoundError, match="There is no index 'papers'"):
        engine.open("papers")


def test_a_build_that_was_not_published_is_none(tmp_path):
    engine = EmbeddedEngine(f"embedded:{tmp_path}")
    engine.build("papers", SCHEMA, "source").upsert([document("p0")])
    assert engine.names() == []
    with pytest.raises(NotFoundError):
        engine.open("papers")


def test_pointers_of_earlier_versions_are_read_and_renewed(engine):
    as_before(engine.root, "papers", current=2, previous=1)
    assert engine.open("papers").count() == 3
    assert "pointer_again" not in engine.diagnose("papers").indexes[0].details
    (engine.root / "papers.json").unlink()
    assert engine.open("papers").count() == 3


def test_a_damaged_pointer_of_an_earlier_version_is_made_of_the_only_generation(engine):
    as_before(engine.root, "other", current=1, previous=0)
    (engine.root / "other.json").write_bytes(b"?")
    assert engine.open("other").count() == 5
    assert engine.diagnose("other").indexes[0].details["pointer_again"] == str(engine.root / "other.json")
    assert engine.open("other").count() == 5


def test_without_a_hint_which_generation_was_published_the_user_decides(engine):
    as_before(engine.root, "papers", current=2, previous=1)
    (engine.root / "papers.json").write_bytes(b"?")
    with pytest.raises(
        UnavailableError, match=r"which of papers\.v1, papers\.v2 was published; put the file back, or move all but"
    ):
        engine.open("papers")
    shutil.move(engine.root / "papers.v1", engine.root.with_name("away"))
    assert engine.open("papers").count() == 3
    shutil.rmtree(engine.root / "papers.v2")
    with pytest.raises(UnavailableError, match="delete it: there is no version of the index"):
        engine.open("papers")


def test_a_pointer_that_can_not_be_written_is_told(engine):
    pointer = engine.root / "papers.json"
    pointer.unlink()
    pointer.mkdir()
    assert engine.open("papers").count() == 3
    (told,) = engine.diagnose("papers").indexes[0].troubles
    assert told.startswith(f"{pointer} is damaged and can't be made again: ")
    with engine.lock("papers"):
        (told,) = EmbeddedEngine(engine.url).diagnose("papers").indexes[0].troubles
    assert "Another run is writing the index papers" in told
