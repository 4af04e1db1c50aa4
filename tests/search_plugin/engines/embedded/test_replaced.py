"""Whatever stands in the place of a file of an index, its pages are right, or there is a sentence."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
from random import Random

import pytest

from corpora.checksums import sealed
from corpora.errors import UnavailableError
from indexer.moving import own_papers
from search_plugin.contract.schema import Field
from search_plugin.engines.embedded import files as index_files
from search_plugin.engines.embedded import records, words
from search_plugin.engines.embedded.engine import EmbeddedEngine
from search_plugin.engines.embedded.generations import PUBLISHED, read_facts
from tests.chance import drawn, effort
from tests.damage import FILE_DAMAGES
from tests.search_plugin.engines.embedded.asking import COUNT, answers, reads
from tests.search_plugin.engines.embedded.small import SCHEMA, document, lower, make


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    """The folder of two indexes after each step; the last of all is as it should be."""
    home = tmp_path_factory.mktemp("states")
    kept = []

    def keep():
        kept.append(shutil.copytree(home / "now", home / str(len(kept))))

    with pytest.MonkeyPatch.context() as patch:
        lower(patch)
        make(home / "now", COUNT, "other")
        engine, _ = make(home / "now", COUNT // 2)
        keep()
        index = engine.build("papers", SCHEMA, "another source")
        with engine.lock("papers"):
            for start in (0, COUNT // 2):
                index.upsert([document(f"p{number}", number) for number in range(start, start + COUNT // 2)])
                index.finish()
            engine.publish(index)
        keep()
        index = engine.open("papers")
        index.delete(["p7"])
        keep()
        index.add_fields([Field("late", "number")])
        index.upsert([document("new", 3)])
        keep()
    return kept


@pytest.fixture(scope="module")
def right(states, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        lower(patch)
        return answers(shutil.copytree(states[-1], tmp_path_factory.mktemp("right") / "copy"))


def chosen(folder, draw):
    """One file or folder of the index: the pointer and its lock, a file of the generation, of the words, or any."""
    place = draw.choice(["papers*", "papers.v2/*", "papers.v2/words/*", "papers*/**/*"])
    return draw.choice(sorted(folder.glob(place))).relative_to(folder)


def other_for(path, kind, draw, folder, states):
    """What may take the place of a file: one like it in the folder, or itself in an earlier state.

    A generation that is put back as a whole is an index as good as any.
    """
    if kind == "put back":
        found = [state / path for state in states[:-1] if (state / path).exists() and path.name != "papers.v2"]
    else:
        name = path.name if (folder / path).is_dir() else f"*{path.suffix}"
        found = [one for one in folder.rglob(name) if one.is_dir() == (folder / path).is_dir() and one != folder / path]
    return draw.choice(found) if found else None


@pytest.mark.slow
@pytest.mark.parametrize("kind", FILE_DAMAGES)
def test_what_stands_in_the_place_of_a_file_is_told_or_harmless(states, right, tmp_path, monkeypatch, kind):
    lower(monkeypatch)
    draw, wrong = drawn(), {}
    assert len(right) == 2 * 16
    for number in range(effort(3, 6, 17)):
        folder = shutil.copytree(states[-1], tmp_path / str(number))
        path = other = None
        while other is None or ((folder / path).is_dir() and kind not in ("deleted", "put back", "swapped")):
            path = chosen(folder, draw)
            other = other_for(path, kind, draw, folder, states)
        FILE_DAMAGES[kind](folder / path, draw, other)
        found = answers(folder, diagnosed=bool(number % 2))
        if names := [name for name, answer in found.items() if answer != right[name]]:
            wrong[f"{path} and {other}"] = [f"{name} {written}" for name, written in names]
    assert wrong == {}


def copied(states, tmp_path):
    """The generation that is searched, in a copy."""
    return shutil.copytree(states[-1], tmp_path / "copy") / "papers.v2"


def index_url(generation):
    return f"embedded:{generation.parent}"


def refused(generation, match):
    """Have an index that is opened anew refused, for a reason."""
    with pytest.raises(UnavailableError, match=match):
        reads(EmbeddedEngine(index_url(generation)).open("papers"))["legs"]()


def test_zeros_in_place_of_papers_are_told(states, tmp_path):
    generation = copied(states, tmp_path)
    with (generation / "papers").open("r+b") as file:
        file.write(bytes(2_000))
    index = EmbeddedEngine(index_url(generation)).open("papers")
    with pytest.raises(UnavailableError, match="checksum of an id is wrong"):
        list(index.ids())
    with pytest.raises(UnavailableError, match=r"The papers of the index papers can't be read .*with corpus and fresh"):
        list(own_papers(index))


def test_papers_that_are_listed_and_not_there_are_not_left_out(states, tmp_path, monkeypatch):
    index = EmbeddedEngine(f"embedded:{copied(states, tmp_path).parent}").open("papers")
    papers = index.papers(list(index.ids()))
    assert [record.paper for record in own_papers(index)] == [papers[id_] for id_ in sorted(papers)]
    del papers["p3"], papers["p8"]
    monkeypatch.setattr(index, "papers", lambda ids: {id_: papers[id_] for id_ in ids if id_ in papers})
    with pytest.raises(UnavailableError, match=r"lists 2 papers that it does not have, such as 'p3'; index its corpus"):
        list(own_papers(index))
    listed = iter([list(index.ids()), list(papers)])  # deleted meanwhile
    monkeypatch.setattr(index, "ids", lambda: next(listed))
    assert len(list(own_papers(index))) == len(papers)


@pytest.mark.parametrize("what", ["words", "words/meta.json"])
@pytest.mark.parametrize(("state", "noted"), [(1, True), (2, True), (1, False)])
def test_an_earlier_commit_that_was_put_back_is_told(states, tmp_path, what, state, noted):
    generation = copied(states, tmp_path)
    if not noted:  # as earlier versions of ses wrote it
        (generation / "words.json").unlink()
    FILE_DAMAGES["put back"](generation / what, Random(), states[state] / "papers.v2" / what)
    refused(generation, "is not of the last commit" if noted else "commits has later commits than the words")


def test_what_a_power_failure_leaves_of_the_next_commit_does_not_matter(states, tmp_path):
    generation = copied(states, tmp_path)
    before = scored_words(generation)
    with (generation / "commits").open("ab") as file:
        file.write(bytes(500))
    assert scored_words(generation) == before
    index = EmbeddedEngine(index_url(generation)).open("papers")
    index.upsert([document("after", 1)])
    assert {"after", "new"} <= set(EmbeddedEngine(index_url(generation)).open("papers").ids())
    assert index.damaged() == []


def scored_words(generation):
    return reads(EmbeddedEngine(index_url(generation)).open("papers"))["words"]()


@pytest.mark.parametrize("kind", ["fast", "idx", "term", "pos", "fieldnorm"])
def test_files_of_two_segments_that_were_swapped_are_told_however_long_they_are(states, tmp_path, monkeypatch, kind):
    monkeypatch.setattr(index_files, "AT_ONCE", 0)
    generation = copied(states, tmp_path)
    held = words.files(words.newest(generation / "words"))
    first, second = [generation / "words" / name for name in held if name.endswith(f".{kind}")][:2]
    assert first.read_bytes() != second.read_bytes()
    FILE_DAMAGES["swapped"](first, Random(), second)
    refused(generation, rf"\.{kind} was changed after it was written")


@pytest.mark.parametrize(
    ("what", "match"),
    [
        ("words", "is not of the last commit"),
        ("words.json", "is not of the last commit"),
        ("facts.json", "is not of the last commit"),
        ("commits", "not of the same commit"),
        ("rows", "rows has lost its end"),
        ("vector_prx.vectors", "vector_prx.vectors has lost its end"),
    ],
)
def test_files_of_another_index_are_told(states, tmp_path, what, match):
    generation = copied(states, tmp_path)
    FILE_DAMAGES["swapped"](generation / what, Random(), generation.parent / "other.v1" / what)
    refused(generation, match)


def test_words_of_an_index_with_more_commits_are_told(tmp_path):
    engine, _ = make(tmp_path, 5)
    _, other = make(tmp_path, 5, "other")
    for number in range(5):
        other.upsert([document(f"p{number}", 9)])
    for name in ("words", "facts.json"):
        FILE_DAMAGES["swapped"](tmp_path / "papers.v1" / name, Random(), tmp_path / "other.v1" / name)
    note = json.loads((tmp_path / "papers.v1" / "words.json").read_bytes())
    held = {**note, "mark": read_facts(tmp_path / "papers.v1").mark}
    (tmp_path / "papers.v1" / "words.json").write_bytes(sealed(without_checksum(held)))
    refused(engine.root / "papers.v1", "commits has no commit of these words")


def without_checksum(held):
    return {name: value for name, value in held.items() if name != "checksum"}


def test_a_derived_folder_of_another_index_is_not_used(states, tmp_path, caplog):
    generation = copied(states, tmp_path)
    before = reads(EmbeddedEngine(index_url(generation)).open("papers"))["matching"]()
    FILE_DAMAGES["swapped"](generation / "columns-40", Random(), generation.parent / "other.v1" / "columns-40")
    assert reads(EmbeddedEngine(index_url(generation)).open("papers"))["matching"]() == before
    assert "it is of another index" in caplog.text


def test_papers_of_another_index_with_records_of_the_same_lengths_are_told(tmp_path):
    engine, _ = make(tmp_path, 3)
    make(tmp_path, 3, "other")
    for name, year in (("papers", 2000), ("other", 2001)):
        engine.open(name).upsert([document("p1", 1, year=year)])
    sizes = [(tmp_path / f"{name}.v1" / "papers").stat().st_size for name in ("papers", "other")]
    assert sizes[0] == sizes[1]
    FILE_DAMAGES["swapped"](tmp_path / "papers.v1" / "papers", Random(), tmp_path / "other.v1" / "papers")
    refused(engine.root / "papers.v1", "papers was changed after it was written")


def test_of_a_long_file_what_was_appended_last_is_compared(tmp_path, monkeypatch):
    engine, index = make(tmp_path, 5)
    index.upsert([document("last", 5)])
    file = tmp_path / "papers.v1" / "vector_prx.vectors"
    whole = file.read_bytes()
    monkeypatch.setattr(index_files, "AT_ONCE", len(whole) - 1)
    monkeypatch.setattr(index_files, "NEWEST", len(whole) // 6)
    for at, told in ((0, False), (len(whole) - 1, True)):
        changed = bytearray(whole)
        changed[at] ^= 1
        file.write_bytes(changed)
        assert engine.open("papers").damaged() == ["vector_prx.vectors"]
        if told:
            refused(tmp_path / "papers.v1", "vector_prx.vectors was changed after it was written")
        else:
            reads(engine.open("papers"))["legs"]()


def test_a_record_that_unpacks_to_more_than_papers_have_is_told(states, tmp_path, monkeypatch):
    generation = copied(states, tmp_path)
    monkeypatch.setattr(records, "_LONGEST", 100)
    index = EmbeddedEngine(index_url(generation)).open("papers")
    with pytest.raises(UnavailableError, match=r"the record at byte 0 is longer than"):
        index.papers(["p0"])
    (told,) = index.upsert([document("long", 1, authors=("x" * 100,))])
    assert "it is longer than" in told.reason


def test_a_commit_stays_where_its_files_can_not_be_noted(tmp_path, monkeypatch):
    engine, index = make(tmp_path, 3)

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(words, "note", full)
        for number in range(3):
            index.upsert([document(f"new{number}", 4)])
    assert engine.open("papers").count() == 6
    engine.open("papers").delete(["p1"])
    assert engine.open("papers").count() == 5


@pytest.mark.parametrize(
    "name", ["words/.tantivy-writer.lock", "words/.managed.json", "words/stray", "rows", "commits"]
)
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_file_is_told_at_once(states, tmp_path, kind, name):
    generation = copied(states, tmp_path)
    FILE_DAMAGES[kind](generation / name, Random(), generation)
    refused(generation, "is not a regular file|Is a directory")


def test_a_pipe_in_an_index_is_not_copied(states, tmp_path):
    generation = copied(states, tmp_path)
    FILE_DAMAGES["device"](generation / "papers", Random(), generation)
    engine = EmbeddedEngine(index_url(generation))
    with pytest.raises(UnavailableError, match="papers is not a regular file"):
        engine.copy("papers", "copied", lambda _: None)
    assert "copied" not in engine.names()


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_no_damage(tmp_path, monkeypatch, number):
    engine, _ = make(tmp_path, 1)

    def flock(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    with (
        pytest.raises(UnavailableError, match=r"papers\.lock can't be locked .*; it must be a file"),
        engine.lock("papers"),
    ):
        pass


def test_a_folder_in_place_of_a_lock_is_no_damage(tmp_path):
    engine, _ = make(tmp_path, 1)
    (tmp_path / "papers.lock").mkdir()
    with (
        pytest.raises(UnavailableError, match=r"papers\.lock can't be locked \(Is a directory\)"),
        engine.lock("papers"),
    ):
        pass


def test_a_file_that_can_not_be_read_is_reported_by_its_name(states, tmp_path, monkeypatch):
    generation = copied(states, tmp_path)
    real = os.open

    def opened(path, flags, *more):
        if str(path).endswith("rows"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, flags, *more)

    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.R_OK)
    refused(generation, r"papers\.v2/rows can't be read \(Permission denied\); let this user read it")


def test_a_file_in_place_of_a_folder_is_damage(states, tmp_path):
    generation = copied(states, tmp_path)
    shutil.rmtree(generation / "words")
    (generation / "words").write_text("")
    refused(generation, "are damaged or can't be used")


def test_a_path_that_is_too_long_is_reported(tmp_path):
    with pytest.raises(UnavailableError, match="is too long; give a shorter one with engine=embedded:DIR"):
        EmbeddedEngine(f"embedded:{tmp_path / ('x' * 300)}")


def test_a_pipe_in_the_place_of_what_a_generation_says_is_replaced(states, right, tmp_path, monkeypatch):
    lower(monkeypatch)
    folder = shutil.copytree(states[-1], tmp_path / "index")
    said = folder / "papers.v2" / PUBLISHED
    said.unlink()
    os.mkfifo(said)
    assert answers(folder, diagnosed=True) == right
    assert said.is_file()
