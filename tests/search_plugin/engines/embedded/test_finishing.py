"""Building the derived files of an index: a part at a time, and again after a kill."""

from __future__ import annotations

import os
import shutil
import weakref
from contextlib import suppress

import numpy as np
import pytest

from corpora.errors import UnavailableError
from search_plugin.contract.legs import Sort
from search_plugin.engines.embedded import files, vectors, words
from search_plugin.engines.embedded.engine import EmbeddedEngine
from search_plugin.engines.embedded.vectors import extend, load, nearest
from tests.search_plugin.engines.embedded.small import SCHEMA, document, lower, make
from tests.search_plugin.filters.filtered import exact_filter


@pytest.fixture(autouse=True)
def low(monkeypatch):
    lower(monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["columns", "titles"])
def test_columns_and_titles_of_different_rows_are_made_again(tmp_path, lost):
    engine, index = make(tmp_path, 20)
    shutil.copytree(tmp_path / "papers.v1", tmp_path / "earlier")
    index.upsert([document(f"q{number}", number) for number in range(20)])
    index.finish()
    folder = tmp_path / "papers.v1"
    shutil.rmtree(folder / f"{lost}-40")
    shutil.copytree(tmp_path / "earlier" / f"{lost}-20", folder / f"{lost}-20")
    index = engine.open("papers")
    index.finish()
    names = {path.name for path in folder.iterdir() if path.name.startswith(("columns", "titles"))}
    assert names == {"columns-40", "titles-40"}
    expected = {id_ for id_, paper in index.papers(list(index.ids())).items() if (paper.year or 0) >= 2002}
    assert set(engine.open("papers").ids(exact_filter("year>=2002"))) == expected
    titles = [paper.title for paper in index.papers(list(index.ids())).values()]
    listed = engine.open("papers").listed(None, Sort("title"), 40).ids
    held = index.papers(list(listed))
    assert [held[id_].title for id_ in listed] == sorted(titles)


def test_a_few_new_rows_are_left_to_the_searches(tmp_path):
    _, index = make(tmp_path, 20)
    index.upsert([document(f"q{number}", number) for number in range(4)])
    index.finish()
    assert (tmp_path / "papers.v1" / "columns-20").exists()
    index.upsert([document("r", 1)])
    index.finish()
    assert (tmp_path / "papers.v1" / "columns-25").exists()


def test_at_most_two_blocks_of_vectors_are_mapped(tmp_path, monkeypatch):
    monkeypatch.setattr(vectors, "_BLOCK", 16)
    matrix = np.random.default_rng(0).standard_normal((100, 6)).astype(np.float32)
    made = []

    def mapped():
        assert sum(one() is not None for one in made) <= 1
        copy = matrix.copy()
        made.append(weakref.ref(copy))
        return copy

    for similarity in ("cosine", "dot", "l2"):
        extend(tmp_path, similarity, mapped, similarity)
        index = load(tmp_path, similarity, 100)
        for row in range(100):
            assert nearest(matrix, 2 * matrix[row], similarity, 1, None, index)[0] == [row] or similarity != "cosine"
    assert len(made) > 3 * 2 * 6


def test_vectors_that_are_near_no_list_are_kept(tmp_path):
    matrix = np.random.default_rng(0).standard_normal((130, 6)).astype(np.float32)
    extend(tmp_path, "v", lambda: matrix[:100], "l2")
    matrix[110:120] *= np.float32(1e37)  # their distances from all lists are infinite
    extend(tmp_path, "v", lambda: matrix, "l2")
    assert load(tmp_path, "v", 130).covered == 130


@pytest.mark.parametrize(("owner", "name"), [(files, "_put"), (words.Words, "_document")])
def test_a_failed_write_leaves_no_lock_and_no_paper(tmp_path, monkeypatch, owner, name):
    engine, index = make(tmp_path, 3)

    def refuse(*_):
        raise OSError("refused")

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, refuse)
        with pytest.raises(UnavailableError, match="refused") as failed:
            index.upsert([document("new", 1)])
    engine.open("papers").upsert([document("other", 2)])  # while the error still holds its frames
    assert sorted(index.ids()) == ["other", "p0", "p1", "p2"]
    assert failed.traceback


def test_a_generation_is_deleted_though_a_thread_writes_a_lock_file_meanwhile(tmp_path, monkeypatch):
    engine, unlink = EmbeddedEngine(f"embedded:{tmp_path}"), os.unlink
    index = engine.build("papers", SCHEMA, "source")

    def late(*arguments, **options):
        unlink(*arguments, **options)
        with suppress(OSError):
            (tmp_path / "papers.v1" / "words" / ".tantivy-meta.lock").touch()

    monkeypatch.setattr(os, "unlink", late)
    engine.discard(index)
    assert [path.name for path in tmp_path.iterdir()] == []
