"""The append-only files: what is appended counts only after the commit that follows."""

from __future__ import annotations

import os

import numpy as np
import pytest

from search_plugin.engines.embedded import files as index_files
from search_plugin.engines.embedded.derived import Derived, damaged, deriving, newest
from search_plugin.engines.embedded.files import Appended, Files, cheap


@pytest.fixture
def files(tmp_path):
    made = Files(tmp_path, {"v": np.dtype(("<f4", (2,)))})
    made.create()
    return made


def batch(files, rows):
    return Appended(np.zeros(rows, files.row_type), b"x" * 3 * rows, {"v": np.ones((rows, 2), np.float32)})


def lengths(files, opstamp):
    held = files.committed(opstamp)
    return held.rows, held.papers, dict(held.vectors)


def test_appended_data_counts_after_the_next_commit(files):
    assert lengths(files, 5) == (0, 0, {"v": 0})
    files.append(5, files.committed(5), batch(files, 4))
    assert lengths(files, 5) == (0, 0, {"v": 0})
    assert lengths(files, 6) == (4, 12, {"v": 4})
    files.append(6, files.committed(6), batch(files, 2))
    assert lengths(files, 6) == (4, 12, {"v": 4})
    assert lengths(files, 9) == (6, 18, {"v": 6})


def test_what_was_appended_without_a_commit_is_written_over(files):
    files.append(5, files.committed(5), batch(files, 4))
    files.append(5, files.committed(5), batch(files, 1))
    assert lengths(files, 6) == (1, 3, {"v": 1})
    assert files.damaged(6) == []


def test_a_derived_folder_replaces_those_that_cover_less_or_are_incomplete(tmp_path):
    for name in ("columns-1", "columns-2.part", "columns-9", "titles-1"):
        (tmp_path / name).mkdir()
    (tmp_path / "columns-2").touch()
    with deriving(tmp_path, "columns", 3) as part:
        (part / "a").write_bytes(b"abc")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["columns-3", "columns-9", "titles-1"]
    assert newest(tmp_path, "columns", 8, lambda derived: derived) == Derived(tmp_path / "columns-3", 3, {"a": 3})


def test_each_file_is_on_the_disk_before_the_line_that_counts_on_it(files, monkeypatch):
    synced, sync = [], os.fsync

    def fsync(descriptor):
        synced.append((os.fstat(descriptor).st_ino, os.fstat(descriptor).st_size))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    files.append(5, files.committed(5), batch(files, 4))
    held = {path.stat().st_ino: path for path in files.folder.iterdir()}
    names = [held[number].name for number, _ in synced]
    assert sorted(names[:-1]) == ["papers", "rows", "v.vectors"]
    assert names[-1] == "commits"
    # With what was written: data that Python still buffers would be lost.
    assert [size for _, size in synced] == [held[number].stat().st_size for number, _ in synced]


def test_a_folder_that_an_update_replaces_while_it_is_read_is_no_damage(tmp_path, caplog):
    with deriving(tmp_path, "columns", 3):
        pass

    def read(derived):
        if derived.covered == 3:
            with deriving(tmp_path, "columns", 4):
                pass
            raise FileNotFoundError
        return derived.covered

    assert newest(tmp_path, "columns", 8, read) == 4
    assert caplog.messages == []


def test_a_folder_that_covers_something_else_than_its_name_says_is_damaged(tmp_path):
    with deriving(tmp_path, "columns", 3):
        pass
    (tmp_path / "columns-3").rename(tmp_path / "columns-2")
    assert damaged(tmp_path) == {tmp_path / "columns-2": "it covers 3"}
    assert newest(tmp_path, "columns", 8, lambda derived: derived) is None


@pytest.mark.parametrize("content", [b"ab", b"abcd"])
def test_lengths_are_compared_however_long_the_files_are(tmp_path, monkeypatch, content):
    monkeypatch.setattr(index_files, "AT_ONCE", 0)
    with deriving(tmp_path, "columns", 3) as part:
        (part / "a").write_bytes(b"abc")
    (tmp_path / "columns-3" / "a").write_bytes(content)
    assert newest(tmp_path, "columns", 8, lambda derived: derived) is None


def test_the_smallest_files_are_compared(monkeypatch):
    monkeypatch.setattr(index_files, "AT_ONCE", 10)
    assert cheap([("a", 6), ("b", 0), ("c", 5), ("d", 5)]) == ["b", "c", "d"]
