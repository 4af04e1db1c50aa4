"""Damaged files and disks that can't be written: told in a sentence, or harmless; never a traceback or a crash."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpora.errors import InputError, UnavailableError
from corpora.paper import Paper
from search_plugin.engines.base import Document
from search_plugin.engines.embedded.engine import EmbeddedEngine
from search_plugin.filters.tree import Alike
from search_plugin.plan import Counting, Plan, VectorClause
from tests.search_plugin.embedded.small import DIMENSION, document, lower, make
from tests.search_plugin.filtered import exact_filter

COUNT = 40


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        lower(patch)
        _, index = make(folder, COUNT)
        index.delete(["p7"])
        index.upsert([document("new", 3)])
    return folder


def use(folder):
    """Read, search and write all there is."""
    engine = EmbeddedEngine(f"embedded:{folder}")
    index = engine.open("papers")
    ids = list(index.ids())
    index.papers(ids)
    index.vectors(ids, "prx")
    for text in ("year>=2001", "author=A"):
        query = np.ones(DIMENSION, np.float32)
        plan = Plan("virus lung cell", (VectorClause("prx", query), VectorClause("clf", query[:3])), None, 9)
        index.search(plan)
        where = exact_filter(text)
        index.fetch(ids, Counting(Plan("virus", (), where, 9), ids, ["year", "authors"], 3))
        index.search(Plan("virus", (VectorClause("prx", query),), where, 9))
    index.upsert([document("again", 5), document("p3", 8)])
    index.finish()
    assert engine.open("papers").papers(["again"])


def test_the_files_to_be_damaged_are_whole(whole, tmp_path, monkeypatch):
    lower(monkeypatch)
    use(shutil.copytree(whole, tmp_path / "copy"))
    names = {path.name.rpartition("-")[0] for path in (whole / "papers.v1").iterdir()}
    assert {"columns", "vector_prx.lists", "vector_clf.lists"} <= names


@settings(suppress_health_check=list(HealthCheck), deadline=None)
@given(
    which=st.integers(0, 99), at=st.floats(0, 1), length=st.sampled_from([0, 1, 4, 1 << 30]), put=st.binary(max_size=8)
)
def test_bit_rot_is_told(whole, tmp_path_factory, which, at, length, put):
    folder = shutil.copytree(whole, tmp_path_factory.mktemp("rot") / "copy")
    files = sorted(path for path in folder.rglob("*") if path.is_file() and "lock" not in path.name)
    file = files[which % len(files)]
    content = file.read_bytes()
    start = round(at * len(content))
    file.write_bytes(content[:start] + put + content[start + length :])
    with pytest.MonkeyPatch.context() as patch:
        lower(patch)
        with suppress(UnavailableError, InputError):
            use(folder)


@pytest.mark.parametrize("name", ["rows", "papers", "vector_prx.vectors", "vector_clf.vectors"])
def test_checksums_find_what_changed(whole, tmp_path, name):
    folder = shutil.copytree(whole, tmp_path / "copy")
    index = EmbeddedEngine(f"embedded:{folder}").open("papers")
    assert index.damaged() == []
    file = folder / "papers.v1" / name
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    assert index.damaged() == [name]


def test_a_record_that_changed_is_refused(whole, tmp_path):
    folder = shutil.copytree(whole, tmp_path / "copy")
    file = folder / "papers.v1" / "papers"
    content = bytearray(file.read_bytes())
    content[40] ^= 1
    file.write_bytes(content)
    with pytest.raises(UnavailableError, match=r"are damaged .*checksum is wrong.*; index again with fresh"):
        EmbeddedEngine(f"embedded:{folder}").open("papers").papers(["p0"])


@pytest.mark.parametrize("at", [0, 12, -9, -8, -5])
def test_a_store_that_changed_is_refused_before_tantivy_reads_it(whole, tmp_path, at):
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
    return EmbeddedEngine(f"embedded:{folder}").open("papers")


def test_a_row_that_names_no_other_is_told(whole, tmp_path):
    index = with_row(whole, tmp_path / "copy", "replaces", 1 << 30)
    with pytest.raises(UnavailableError, match=r"are damaged .*IndexError"):
        index.count()


def test_rows_that_name_too_many_vectors_are_told(whole, tmp_path):
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
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(UnavailableError, match="damaged"):
        use(folder)
    file.unlink()
    with pytest.raises(UnavailableError, match="damaged"):
        use(folder)


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
