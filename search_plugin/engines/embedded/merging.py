"""Merging of the word index: one segment is searched in about half the time of the dozen that loading leaves.

tantivy merges segments of like size when there are 8 of them, and takes all of fewer than 10,000 papers for alike
(`LogMergePolicy` of https://github.com/quickwit-oss/tantivy); its Python library can't ask for more. So the merge is
made in another folder, of links to the files: every segment gets a deleted paper there, and `meta.json` then says that
nearly all are deleted. What is deleted is in files of its own, and only the choice of what to merge reads that number.
The merged segment is moved beside the others, and takes their place when `meta.json` is replaced.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from corpora.lazy import np, tantivy
from corpora.writing import replacing, sync
from search_plugin.contract.schema import IndexSchema
from search_plugin.engines.embedded.errors import reads_stored
from search_plugin.engines.embedded.snapshot import Snapshot
from search_plugin.engines.embedded.words import META, Commit, Words, files, newest, note, note_of, open_words

MERGED_FROM = 100_000
"""Papers; the segments of fewer are searched about as fast as one."""

_MANAGED = ".managed.json"
"""tantivy's list of the files that it may delete."""

_TOGETHER = 8
"""Segments that tantivy merges at least."""


def merge_segments(words: Words, schema: IndexSchema, snapshot: Snapshot) -> None:
    """Merge all segments of the last commit, which the snapshot is of, if none holds half of its papers.

    So papers are merged again only when an index has doubled. What is deleted is left out. Few papers are not merged.
    """
    commit, count = newest(words.folder), snapshot.searcher.num_docs
    if count < MERGED_FROM or 2 * max(map(_held, commit["segments"])) >= count:
        return
    with _copied(words.folder, commit) as copy:
        merged = _merged(open_words(copy, schema), snapshot)
        if [(one["max_doc"], one["deletes"]) for one in merged["segments"]] == [(count, None)]:
            _take(words.folder, {**commit, "segments": merged["segments"]}, copy)
    words.collect()


@reads_stored
def _held(segment: Any) -> int:
    """Return how many papers a segment holds."""
    return int(segment["max_doc"]) - int((segment["deletes"] or {}).get("num_deleted_docs", 0))


@contextmanager
def _copied(folder: Path, commit: Commit) -> Iterator[Path]:
    """Make a folder of links to the files of a commit beside their folder, and remove it after the block."""
    copy = folder.with_name(f"{folder.name}.merging")
    shutil.rmtree(copy, ignore_errors=True)
    note_of(copy).unlink(missing_ok=True)
    copy.mkdir()
    try:
        for name in files(commit):
            (copy / name).symlink_to((folder / name).resolve())
        (copy / META).write_bytes(orjson.dumps(commit))
        (copy / _MANAGED).write_bytes(orjson.dumps([*files(commit), META]))
        yield copy
    finally:
        shutil.rmtree(copy, ignore_errors=True)
        note_of(copy).unlink(missing_ok=True)


def _merged(words: Words, snapshot: Snapshot) -> Commit:
    """Merge the segments of a copy of the snapshot's commit, and return what the copy's last commit is."""
    _delete_of_each(words, snapshot)
    with replacing(words.folder / META) as part:
        part.write_bytes(orjson.dumps(_seeming_small(newest(words.folder))))
    with words.committing([], []):
        pass
    return newest(words.folder)


def _delete_of_each(words: Words, snapshot: Snapshot) -> None:
    """Write a paper of each segment again, so that it is deleted there; and others, until there are enough segments."""
    searcher = snapshot.searcher
    firsts = searcher.fast_field_values("row", [tantivy.DocAddress(at, 0) for at in range(searcher.num_segments)])
    # If the first paper of a segment is not alive, one is deleted there already.
    again = [row for row in firsts if snapshot.live[row]]
    for other in (row for row in np.flatnonzero(snapshot.live).tolist() if row not in firsts):
        papers = [(row, snapshot.stored(row).paper) for row in (*again, other)]
        with words.committing(papers, [paper.id for _, paper in papers]):
            again = []
        if len(newest(words.folder)["segments"]) not in range(2, _TOGETHER):
            break


def _seeming_small(commit: Commit) -> Commit:
    """Return what `meta.json` says, with all papers but one of each segment as deleted."""
    segments = [
        {**one, "deletes": {**one["deletes"], "num_deleted_docs": one["max_doc"] - 1} if one["deletes"] else None}
        for one in commit["segments"]
    ]
    return {**commit, "segments": segments}


def _take(folder: Path, commit: Commit, copy: Path) -> None:
    """Move the files of a commit from a copy into a folder, and make it the last one there."""
    managed = orjson.loads((folder / _MANAGED).read_bytes())
    with replacing(folder / _MANAGED, locked=True) as part:
        part.write_bytes(orjson.dumps([*managed, *files(commit)]))
    for name in files(commit):
        (copy / name).rename(folder / name)
    sync(folder)
    note(folder, commit, newest(folder))
    with replacing(folder / META, locked=True) as part:
        part.write_bytes(orjson.dumps(commit))
