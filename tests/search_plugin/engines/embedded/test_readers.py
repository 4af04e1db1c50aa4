"""Two processes read while one writes: each of their searches sees one commit, whole, and never an older one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
import pytest

from corpora.cores import cores
from corpora.errors import UnavailableError
from search_plugin.contract.legs import Sort
from search_plugin.contract.plan import Counting, Plan, VectorClause
from search_plugin.engines.embedded import snapshot, words
from search_plugin.filters.parse import parse_filter
from search_plugin.request import SearchRequest
from search_plugin.search import search
from tests.search_plugin.engines.embedded.small import DIMENSION, SCHEMA, document, make

EVERY = "virus lung cell gene"
PAPERS, ROUNDS = 20, 12
QUERY = np.eye(DIMENSION, dtype=np.float32)[0]

READER = """
import sys
from search_plugin.engines.embedded.engine import EmbeddedEngine
from tests.search_plugin.engines.embedded.test_readers import look
index, seen = EmbeddedEngine(f"embedded:{sys.argv[1]}").open("papers"), 0
print("ready", flush=True)
while seen < int(sys.argv[2]):
    seen = look(index, seen)
print("done", flush=True)
"""


def write(index, year):
    """Write all papers anew, half of them twice, so that every commit replaces, deletes and adds."""
    index.upsert([document(f"{year % 2}-{number}", year, year=year) for number in range(PAPERS)])


def look(index, least):
    """Search once, check that all that is found is of one commit, and return which."""
    index = index.pinned()
    legs = index.search(Plan(EVERY, (VectorClause("prx", QUERY),), None, 4 * PAPERS))
    found = {hit.id for hit in legs["lexical"]}
    assert found == {hit.id for hit in legs["prx"]}
    counted = index.fetch([], Counting(Plan(EVERY, (), None, 1), found, ["year"], 9))[1]
    years = dict(counted.counts["year"])
    assert counted.matches == len(found) == sum(years.values())
    assert set(years.values()) == {PAPERS}
    assert max(years) >= least
    papers = index.papers(list(found))
    assert {paper.year for paper in papers.values()} == set(years)
    return max(years)


@pytest.mark.slow
@pytest.mark.parametrize("readers", [2])
def test_processes_that_read_see_whole_commits(tmp_path, readers):
    engine, index = make(tmp_path)
    write(index, 1)
    command = [sys.executable, "-c", READER, str(tmp_path), str(ROUNDS)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(readers)]
    assert [child.stdout.readline() for child in running] == ["ready\n"] * readers
    for year in range(2, ROUNDS + 1):
        write(index, year)
        if year % 4 == 0:
            index.finish()
    for child in running:
        assert child.communicate(timeout=120)[0] == "done\n"
        assert child.returncode == 0
    assert look(engine.open("papers"), ROUNDS) == ROUNDS


@pytest.mark.slow
def test_threads_share_an_index(tmp_path):
    _, index = make(tmp_path)
    write(index, 1)

    def read(_):
        seen = 0
        while seen < ROUNDS:
            seen = look(index, seen)
        return seen

    with ThreadPoolExecutor(4) as pool:
        reading = [pool.submit(read, number) for number in range(4)]
        for year in range(2, ROUNDS + 1):
            write(index, year)
        assert [one.result(timeout=120) for one in reading] == [ROUNDS] * 4


def test_a_page_is_of_one_commit_whatever_others_read_and_write_meanwhile(tmp_path, monkeypatch):
    _, index = make(tmp_path)
    write(index, 1)
    fetch = type(index).fetch

    def late(self, ids, counting=None):
        monkeypatch.undo()
        write(index, 2)
        assert look(index, 2) == 2
        return fetch(self, ids, counting)

    request = SearchRequest(EVERY, mode="lexical", size=PAPERS, facets=("year",))
    before = search(index, request)
    monkeypatch.setattr(type(index), "fetch", late)
    page = search(index, request)
    assert [(hit.paper, hit.score) for hit in page] == [(hit.paper, hit.score) for hit in before]
    assert page.facets == before.facets
    assert {hit.paper.year for hit in search(index, request)} == {2}


def test_noted_rows_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(snapshot, "_NOTED", 3)
    _, index = make(tmp_path, 12)
    for number in range(12):
        where = parse_filter(f"id=p{number}", SCHEMA.fields)
        (hit,) = index.search(Plan("", (VectorClause("prx", QUERY),), where, 4))["prx"]
        assert index.papers([hit.id, "p1"])[hit.id].id == f"p{number}"
        assert len(index._snapshot()._found) <= 4


def test_pages_wait_for_their_turn(tmp_path):
    _, index = make(tmp_path, 6)
    count = cores()
    with ThreadPoolExecutor(1) as pool:
        with ExitStack() as taken:
            for _ in range(count):
                taken.enter_context(index._turns)
            page = pool.submit(search, index, SearchRequest("virus", mode="lexical"))
            with pytest.raises(TimeoutError):
                page.result(timeout=0.3)
        assert page.result(timeout=60).hits


def test_vectors_of_deleted_papers_are_not_found(tmp_path):
    _, index = make(tmp_path, 4)
    gone = document("p0", 0)
    index.delete(["p0"])
    index.upsert([document("last", 7)])
    for where in (None, parse_filter("year>=1900", SCHEMA.fields)):
        hits = index.search(Plan("", (VectorClause("prx", gone.vectors["prx"]),), where, 9))["prx"]
        assert {hit.id for hit in hits} == {"p1", "p2", "p3", "last"}
        assert max(hit.score for hit in hits) < 0.99
        assert set(index.papers([hits[0].id])) == {hits[0].id}


def test_a_folder_that_can_not_be_written_is_read_through_links(tmp_path, monkeypatch):
    engine, writer = make(tmp_path / "indexes")
    write(writer, 1)
    (tmp_path / "temporary").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_: False)
        patch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
        reader = engine.open("papers")
    (lock,) = (tmp_path / "indexes").rglob(".tantivy-meta.lock")
    for year in range(2, 6):
        lock.unlink()
        assert look(reader, year - 1) == year - 1
        assert not lock.exists()
        write(writer, year)
    (links,) = (tmp_path / "temporary").iterdir()
    assert reader._words.links == links


def test_words_are_counted_in_the_last_commit(tmp_path):
    _, index = make(tmp_path)
    for count in range(3):
        assert index.document_frequencies(["star", "none"]) == {"star": count, "none": 0}
        index.upsert([document(f"p{count}", 3 * count)])


def test_facets_of_equal_counts_come_by_value(tmp_path):
    _, index = make(tmp_path)
    # tantivy keeps whole numbers and others apart, and counts them one after the other.
    halves = [*np.random.default_rng(0).permutation(300).tolist(), 7]
    index.upsert([document(f"p{at}", at, extra={"score": half / 2 + 1}) for at, half in enumerate(halves)])
    for size in (1, 2, 5):
        facets = index.fetch([], Counting(Plan("", (), None, 1, order=Sort("year")), [], ["score"], size))[1]
        assert facets.matches == 301
        assert facets.counts["score"] == ((4.5, 2), (1, 1), (1.5, 1), (2, 1), (2.5, 1))[:size]


def test_a_filter_leaves_scores_as_they_are(tmp_path):
    _, index = make(tmp_path, 12)
    plain, filtered = (
        {hit.id: hit.score for hit in index.search(Plan(EVERY, (), where, 20))["lexical"]}
        for where in (None, parse_filter("year>=1900 and not id=p3", SCHEMA.fields))
    )
    assert filtered == {id_: score for id_, score in plain.items() if id_ != "p3"}


def test_a_log_that_has_lost_its_end_is_told(tmp_path):
    engine, index = make(tmp_path, 3)
    index.upsert([document("last", 5)])
    (log,) = tmp_path.rglob("commits")
    whole = log.read_bytes()
    log.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UnavailableError, match=r"meta\.json, commits and rows are not of the same commit"):
        engine.open("papers").papers(["p0"])
    log.write_bytes(whole)
    assert set(engine.open("papers").papers(["p0", "last"])) == {"p0", "last"}


def test_a_reader_takes_the_words_and_the_files_of_one_commit(tmp_path, monkeypatch):
    _, index = make(tmp_path, 3)
    written = []

    def newest(folder):
        commit = now(folder)
        # Another process commits between the two looks at the last commit.
        if not written:
            written.append(commit)
            index.upsert([document("last", 5)])
        return commit

    now = words.newest
    monkeypatch.setattr(words, "newest", newest)
    searcher, seen, _ = index._words.searcher()
    monkeypatch.undo()
    assert (searcher.num_docs, seen) == (4, now(index._words.folder)["opstamp"])
    assert seen > written[0]["opstamp"]
