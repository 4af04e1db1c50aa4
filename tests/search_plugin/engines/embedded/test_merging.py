"""Merging of the word index: what is found stays, also where the merge is interrupted."""

from __future__ import annotations

from pathlib import Path

import pytest

from search_plugin.contract.plan import Plan
from search_plugin.engines.embedded import merging
from search_plugin.engines.embedded.words import newest
from tests.search_plugin.engines.embedded.small import document, lower, make

COUNT = 60


@pytest.fixture(autouse=True)
def low(monkeypatch):
    lower(monkeypatch)
    monkeypatch.setattr(merging, "MERGED_FROM", COUNT // 2)


@pytest.fixture
def written(tmp_path):
    """An index of some commits, with a paper of most of them replaced and others deleted."""
    engine, index = make(tmp_path)
    for start in range(0, COUNT, 12):
        index.upsert([document(f"p{number}", number) for number in range(start, start + 12)])
    index.upsert([document("p1", 2), document("p13", 3), document("p24", 4)])
    index.delete(["p0", "p12", "p37"])
    return engine, index


def seen(index):
    """All that an index finds, without scores: these count deleted papers until they are merged away."""
    ids = sorted(index.ids())
    return (
        ids,
        index.papers(ids),
        {id_: vector.tolist() for id_, vector in index.vectors(ids, "prx").items()},
        {word: {hit.id for hit in index.search(Plan(word, (), None, COUNT))["lexical"]} for word in ("virus", "star")},
    )


def segments(folder):
    return len(newest(folder / "papers.v1" / "words")["segments"])


@pytest.mark.slow
def test_segments_are_merged_and_hold_what_they_held(tmp_path, written):
    engine, index = written
    before = seen(index)
    assert set(before[2]) == set(before[0])
    assert segments(tmp_path) > 3
    index.finish()
    assert segments(tmp_path) == 1
    assert seen(index) == seen(engine.open("papers")) == before
    assert index.damaged() == []
    assert len(list((tmp_path / "papers.v1" / "words").glob("*.store"))) == 1
    held = newest(tmp_path / "papers.v1" / "words")["segments"][0]
    assert (held["max_doc"], held["deletes"]) == (COUNT - 3, None)
    index.upsert([document("new", 1)])
    assert sorted(engine.open("papers").ids()) == sorted([*before[0], "new"])


@pytest.mark.slow
def test_an_index_is_merged_again_when_it_has_doubled(tmp_path, written):
    _, index = written
    index.finish()
    for count, after in ((50, 2), (20, 1)):
        index.upsert([document(f"q{count}-{number}", number) for number in range(count)])
        index.finish()
        assert segments(tmp_path) == after


@pytest.mark.slow
def test_few_papers_are_not_merged(tmp_path, written, monkeypatch):
    monkeypatch.setattr(merging, "MERGED_FROM", COUNT)
    before = segments(tmp_path)
    written[1].finish()
    assert segments(tmp_path) == before


@pytest.mark.slow
@pytest.mark.parametrize("step", ["_copied", "_delete_of_each", "_seeming_small", "_take", "rename", "sync", "note"])
def test_a_merge_that_is_killed_loses_nothing(tmp_path, written, monkeypatch, step):
    engine, index = written
    before = seen(index)

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(merging.shutil, "rmtree", lambda *_, **__: None)  # a process that is killed cleans nothing up
        patch.setattr(Path if step == "rename" else merging, step, killed)
        with pytest.raises(KeyboardInterrupt):
            index.finish()
    index = engine.open("papers")
    assert seen(index) == before
    assert index.damaged() == []
    index.finish()
    assert segments(tmp_path) == 1
    assert seen(engine.open("papers")) == before
    (one,) = newest(tmp_path / "papers.v1" / "words")["segments"]
    kept = [path.stem for path in (tmp_path / "papers.v1" / "words").glob("*.store")]
    assert kept == [one["segment_id"].replace("-", "")]
    assert not list((tmp_path / "papers.v1").glob("*.merging"))


@pytest.mark.slow
def test_what_an_interrupted_write_left_does_not_become_valid(tmp_path, written, monkeypatch):
    engine, index = written
    before = seen(index)
    append = index._files.append

    def killed(*given):
        append(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(index._files, "append", killed)
    with pytest.raises(KeyboardInterrupt):
        index.upsert([document("lost", 1)])
    index = engine.open("papers")
    index.finish()
    assert segments(tmp_path) == 1
    assert seen(engine.open("papers")) == before


@pytest.mark.slow
def test_a_segment_that_lost_papers_is_not_taken(tmp_path, written, monkeypatch):
    engine, index = written
    before, count = seen(index), segments(tmp_path)
    merged = merging._merged

    def less(words, snapshot):
        commit = merged(words, snapshot)
        commit["segments"][0]["max_doc"] -= 1
        return commit

    monkeypatch.setattr(merging, "_merged", less)
    index.finish()
    assert segments(tmp_path) == count
    assert seen(engine.open("papers")) == before


def test_segments_with_deleted_papers_seem_to_hold_one():
    deletes = {"num_deleted_docs": 2, "opstamp": 5}
    commit = {"opstamp": 7, "segments": [{"max_doc": 30_000, "deletes": deletes}, {"max_doc": 1, "deletes": None}]}
    seeming = [{"max_doc": 30_000, "deletes": {**deletes, "num_deleted_docs": 29_999}}, {"max_doc": 1, "deletes": None}]
    assert merging._seeming_small(commit) == {**commit, "segments": seeming}
