"""The append-only files: what is appended counts only after the commit that follows."""

from __future__ import annotations

import numpy as np
import pytest

from search_plugin.engines.embedded.derived import deriving, newest
from search_plugin.engines.embedded.files import Appended, Files


@pytest.fixture
def files(tmp_path):
    made = Files(tmp_path, {"v": 2})
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
        part.mkdir()
        assert newest(tmp_path, "columns", 8) == (2, tmp_path / "columns-2")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["columns-3", "columns-9", "titles-1"]
    assert newest(tmp_path, "columns", 8) == (3, tmp_path / "columns-3")
