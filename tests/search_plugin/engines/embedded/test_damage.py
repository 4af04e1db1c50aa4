"""Damaged files and disks that can't be written: told in a sentence, or harmless; never a traceback or a crash."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpora.errors import UnavailableError
from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.tree import Alike
from search_plugin.engines.embedded import files as index_files
from search_plugin.engines.embedded import words
from search_plugin.engines.embedded.engine import EmbeddedEngine
from tests.chance import effort
from tests.search_plugin.engines.embedded.asking import COUNT, answers, reads
from tests.search_plugin.engines.embedded.small import DIMENSION, document, lower, make


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        lower(patch)
        _, index = make(folder, COUNT)
        index.delete(["p7"])
        index.upsert([document("new", 3)])
    return folder


@pytest.fixture(scope="module")
def expected(whole, tmp_path_factory):
    folder = shutil.copytree(whole, tmp_path_factory.mktemp("expected") / "copy")
    with pytest.MonkeyPatch.context() as patch:
        lower(patch)
        found = answers(folder)
        names = {path.name.rpartition("-")[0] for path in (folder / "papers.v1").iterdir()}
    assert len(found) == 2 * 16
    assert {"columns", "titles", "vector_prx.lists", "vector_clf.lists"} <= names
    return found


def files_of(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and "lock" not in path.name)


def wrong_answers(whole, expected, folder, file, damage):
    """Damage a file of a copy, and return which answers are then others than those of the whole index."""
    shutil.copytree(whole, folder)
    if (content := damage((folder / file).read_bytes())) is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        lower(patch)
        found = answers(folder)
    return [name for name, answer in found.items() if answer != expected[name]]


@pytest.mark.slow
@settings(suppress_health_check=list(HealthCheck), max_examples=effort(8, 20, 1_000))
@given(
    which=st.integers(0, 199), at=st.floats(0, 1), length=st.sampled_from([0, 1, 4, 1 << 30]), put=st.binary(max_size=8)
)
def test_damage_is_told_or_harmless(whole, expected, tmp_path_factory, which, at, length, put):
    files = files_of(whole)

    def damage(content):
        start = round(at * len(content))
        return content[:start] + put + content[start + length :]

    folder = tmp_path_factory.mktemp("rot") / "copy"
    assert wrong_answers(whole, expected, folder, files[which % len(files)], damage) == []


def flipped(share):
    def flip(content):
        changed = bytearray(content)
        if changed:
            changed[int(share * len(changed))] ^= 1 << round(share * 99) % 8
        return bytes(changed)

    return flip


DAMAGES = {
    "deleted": lambda _: None,
    "emptied": lambda _: b"",
    "halved": lambda content: content[: len(content) // 2],
    "cut": lambda content: content[:-1],
    "longer": lambda content: content + b"x",
    **{f"flipped at {share:.2f}": flipped(share) for share in (*np.arange(0, 1, 1 / 12).tolist(), 0.999)},
}


@pytest.mark.long
@pytest.mark.parametrize("damage", DAMAGES)
def test_every_damage_of_every_file_is_told_or_harmless(whole, expected, tmp_path, damage):
    wrong = {
        str(file): names
        for number, file in enumerate(files_of(whole))
        if (names := wrong_answers(whole, expected, tmp_path / str(number), file, DAMAGES[damage]))
    }
    assert wrong == {}


KINDS = ("store", "term", "idx", "pos", "fieldnorm", "fast", "del")
CHECKED = ("rows", "vector_prx.vectors", *(f"words/*.{kind}" for kind in KINDS))


def of_last_commit(generation, name):
    """A file of a name that the last commit has; tantivy may leave files of earlier commits beside it."""
    held = words.files(words.newest(generation / "words"))
    return next(path for path in generation.glob(name) if path.parent.name != "words" or path.name in held)


@pytest.mark.parametrize("name", CHECKED)
def test_a_short_file_that_changed_is_refused_when_it_is_opened(whole, tmp_path, name):
    folder = shutil.copytree(whole, tmp_path / "copy")
    file = of_last_commit(folder / "papers.v1", name)
    file.write_bytes(flipped(0.3)(file.read_bytes()))
    with pytest.raises(UnavailableError, match=rf"{file.name} was changed after it was written"):
        reads(EmbeddedEngine(f"embedded:{folder}").open("papers"))["legs"]()


@pytest.mark.parametrize("name", ["papers", *CHECKED])
def test_checksums_find_what_changed(whole, tmp_path, name):
    folder = shutil.copytree(whole, tmp_path / "copy")
    index = EmbeddedEngine(f"embedded:{folder}").open("papers")
    assert index.damaged() == []
    file = of_last_commit(folder / "papers.v1", name)
    content = bytearray(file.read_bytes())
    content[30 if name == "papers" else 8] ^= 1  # no byte of a footer, which may say of another version
    file.write_bytes(content)
    changed = str(file.relative_to(folder / "papers.v1"))
    assert index.damaged() == [changed, *(["the record of the paper p0"] if name == "papers" else [])]


@pytest.mark.parametrize(("at", "name"), [(40, "the record of the paper p0"), (17, "the record at byte 0")])
def test_a_record_that_changed_is_refused_by_name(whole, tmp_path, at, name):
    folder = shutil.copytree(whole, tmp_path / "copy")
    file = folder / "papers.v1" / "papers"
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(content)
    index = EmbeddedEngine(f"embedded:{folder}").open("papers")
    with pytest.raises(UnavailableError, match=rf"are damaged .*{name} was changed .*; index again with fresh"):
        index.papers(["p0"])
    assert index.papers(["p1"])


@pytest.mark.parametrize("lost", [1, 2])
def test_a_log_that_lost_commits_is_refused(whole, tmp_path, lost):
    folder = shutil.copytree(whole, tmp_path / "copy")
    log = folder / "papers.v1" / "commits"
    log.write_bytes(log.read_bytes()[: -lost * len(log.read_bytes()) // 3])
    # One paper was deleted and one added since, so the number of papers is right again.
    with pytest.raises(UnavailableError, match="are not of the same commit"):
        EmbeddedEngine(f"embedded:{folder}").open("papers").count()


def test_a_schema_that_changed_is_refused(whole, tmp_path):
    folder = shutil.copytree(whole, tmp_path / "copy")
    file = folder / "papers.v1" / "words" / "meta.json"
    file.write_bytes(file.read_bytes().replace(b'"record": "position"', b'"record": "basic"'))
    with pytest.raises(UnavailableError, match=r"meta.json was changed after it was written"):
        EmbeddedEngine(f"embedded:{folder}").open("papers")


@pytest.mark.parametrize("lost", ["commits", "words/meta.json"])
def test_a_lost_deletion_is_refused(tmp_path, lost):
    engine, index = make(tmp_path, 5)
    index.delete(["p1"])
    file = tmp_path / "papers.v1" / lost
    content = file.read_bytes()
    if lost == "commits":
        content = content[: len(content) // 2]
    else:
        content = re.sub(rb'"deletes": {[^}]*}', b'"deletes": null', content)
    file.write_bytes(content)
    with pytest.raises(UnavailableError, match="are not of the same commit"):
        engine.open("papers").papers(["p2"])


def test_files_too_long_to_be_read_when_opened_are_compared_by_a_diagnosis(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(index_files, "AT_ONCE", 0)
    monkeypatch.setattr(index_files, "NEWEST", 0)
    lower(monkeypatch)
    folder = shutil.copytree(whole, tmp_path / "copy")
    generation = folder / "papers.v1"
    for name in ("vector_prx.vectors", "columns-40/authors.rows", "vector_clf.lists-40/lists"):
        (generation / name).write_bytes(flipped(0.5)((generation / name).read_bytes()))
    engine = EmbeddedEngine(f"embedded:{folder}")
    index = engine.open("papers")
    assert len(index._snapshot()._columns[0].postings) > 3
    with engine.lock("papers"):
        (told,) = EmbeddedEngine(f"embedded:{folder}").diagnose().indexes
    assert told.troubles[1].startswith("Derived files of the index papers are damaged (columns-40: authors.rows was ")
    assert "can't be made again: Another run is writing the index papers; wait until it is done" in told.troubles[1]
    (told,) = engine.diagnose().indexes
    assert told.troubles == (
        "Files of the index papers changed after they were written (vector_prx.vectors); index again with <fresh>.",
    )
    assert told.details["derived_again"] == ["columns-40", "vector_clf.lists-40"]
    assert told.lines[-1] == (
        "damaged derived files were made again (columns-40: authors.rows was changed after it was written, "
        "vector_clf.lists-40: lists was changed after it was written)"
    )
    assert index.damaged_derived() == {}


@pytest.mark.parametrize("damage", ["deleted", "cut", "flipped at 0.50"])
@pytest.mark.parametrize("name", ["columns-40/authors.keys", "titles-40/keys", "vector_prx.lists-40/manifest.json"])
def test_a_damaged_derived_file_is_told_and_made_again_by_the_next_write(
    whole, expected, tmp_path, monkeypatch, caplog, damage, name
):
    lower(monkeypatch)
    folder = tmp_path / "copy"
    assert wrong_answers(whole, expected, folder, Path("papers.v1", name), DAMAGES[damage]) == []
    derived = (folder / "papers.v1" / name).parent.name
    assert all("is damaged (" in told and derived in told for told in caplog.messages)
    # By the search before the write, and by the write.
    assert len(caplog.messages) >= 2
    caplog.clear()
    index = EmbeddedEngine(f"embedded:{folder}").open("papers")
    assert index.damaged_derived() == {}
    for read in reads(index).values():
        read()
    assert caplog.messages == []


@pytest.mark.parametrize("at", [0, 12, -9, -8, -5, -1])
def test_a_store_that_changed_is_refused_before_tantivy_reads_it(whole, tmp_path, monkeypatch, at):
    monkeypatch.setattr(index_files, "AT_ONCE", 0)
    folder = shutil.copytree(whole, tmp_path / "copy")
    file = next(folder.rglob("*.store"))
    content = bytearray(file.read_bytes())
    content[at] ^= 0x40
    file.write_bytes(content)
    with pytest.raises(UnavailableError, match="index again with fresh"):
        EmbeddedEngine(f"embedded:{folder}").open("papers")


def with_row(whole, folder, field, value):
    """Return a copied index, opened after a field of one row was changed."""
    shutil.copytree(whole, folder)
    engine = EmbeddedEngine(f"embedded:{folder}")
    rows = np.fromfile(folder / "papers.v1" / "rows", engine.open("papers")._files.row_type)
    rows[field][3] = value
    rows.tofile(folder / "papers.v1" / "rows")
    return engine.open("papers")


def test_a_row_that_names_no_other_is_told(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(index_files, "AT_ONCE", 0)
    monkeypatch.setattr(index_files, "NEWEST", 0)
    index = with_row(whole, tmp_path / "copy", "replaces", 1 << 30)
    with pytest.raises(UnavailableError, match=r"are damaged .*IndexError"):
        index.count()


def test_rows_that_name_too_many_vectors_are_told(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(index_files, "AT_ONCE", 0)
    monkeypatch.setattr(index_files, "NEWEST", 0)
    index = with_row(whole, tmp_path / "copy", "vector_prx.count", 1 << 31)
    plan = Plan("", (VectorClause("prx", np.ones(DIMENSION, np.float32)),), None, 9)
    with pytest.raises(UnavailableError, match="more vectors than there are"):
        index.search(plan)


def test_a_fault_of_the_program_is_not_told_as_damage(whole):
    index = EmbeddedEngine(f"embedded:{whole}").open("papers")
    like = Alike("authors", "same", ("a",))
    query = VectorClause("prx", np.ones(DIMENSION, np.float32))
    for plan in (Plan("virus", (), like, 9), Plan("", (query,), like, 9)):
        with pytest.raises(TypeError, match="must be resolved"):
            index.search(plan)
    with pytest.raises(KeyError, match="clf"):
        index.upsert([Document(Paper("x", "y"), "h", {"prx": query.vector})])


@pytest.mark.parametrize("name", ["rows", "papers", "vector_prx.vectors", "commits", "words/meta.json", "facts.json"])
def test_a_file_that_is_gone_or_cut_is_told(whole, tmp_path, name):
    folder = shutil.copytree(whole, tmp_path / "copy")
    file = folder / "papers.v1" / name

    def use():
        index = EmbeddedEngine(f"embedded:{folder}").open("papers")
        for read in reads(index).values():
            read()

    use()
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(UnavailableError, match="damaged"):
        use()
    file.unlink()
    with pytest.raises(UnavailableError, match="damaged"):
        use()


def test_what_a_killed_commit_left_is_not_in_the_way_of_the_next_one(tmp_path):
    make(tmp_path / "killed", 6)
    shutil.copytree(tmp_path / "killed", tmp_path / "whole")
    changed = [document("p1", 7), document("p4", 8)]
    EmbeddedEngine(f"embedded:{tmp_path / 'whole'}").open("papers").upsert(changed)
    (deletions,) = (tmp_path / "whole").rglob("*.del")
    # Killed after the deletions were written, and before `meta.json` was replaced.
    words = tmp_path / "killed" / "papers.v1" / "words"
    shutil.copy(deletions, words)
    managed = words / ".managed.json"
    managed.write_text(json.dumps([*json.loads(managed.read_text()), deletions.name]))
    index = EmbeddedEngine(f"embedded:{tmp_path / 'killed'}").open("papers")
    assert index.hashes(["p1"]) == {"p1": "h1"}
    index.upsert(changed)
    assert index.hashes(["p1", "p4", "p5"]) == {"p1": "h7", "p4": "h8", "p5": "h5"}
