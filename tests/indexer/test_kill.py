"""`kill -9` at any moment loses nothing, doubles nothing, and finished work is not redone."""

from __future__ import annotations

import json
import random
import subprocess
import time
from dataclasses import replace

import lancedb
import pytest

from tests.indexer.jobs import contents, make_job, run_in_child, run_job
from tests.tiny import papers, write_jsonl

KILLS = 20


@pytest.mark.slow
def test_twenty_kills_end_in_the_index_of_an_uninterrupted_run(tmp_path):
    written = papers(800)
    first = write_jsonl(tmp_path / "first.jsonl", written)
    changed = [replace(paper, title=f"{paper.title} vaccine") if i % 3 else paper for i, paper in enumerate(written)]
    second = write_jsonl(tmp_path / "second.jsonl", changed[100:] + papers(900)[800:])
    ids = [paper.id for paper in papers(900)]

    run_job(tmp_path, make_job(tmp_path, first, "reference"))
    after_first = contents(tmp_path, "reference", ids)
    begun = time.monotonic()
    run_job(tmp_path, make_job(tmp_path, second, "reference"))
    duration = time.monotonic() - begun
    after_second = contents(tmp_path, "reference", ids)
    assert len(after_first) == 800
    assert len(after_second) == 900

    kills, rounds, draw = 0, 0, random.Random(7)
    # Each round builds an index, updates it, and builds it anew beside itself, killed again and again on the way.
    while kills < KILLS:
        name = f"round{rounds}"
        stages = ((first, "", after_first), (second, "", after_second), (first, "fresh", after_first))
        for corpus, flag, expected in stages:
            patience = duration / 3
            while (report := _run(tmp_path, corpus, name, flag, draw.uniform(0, patience))) is None:
                kills += 1
                patience *= 1.2  # a machine that has become slower must still get to the end
            assert contents(tmp_path, name, ids) == expected
            assert report["rejected"] == report["duplicates"] == 0
        rounds += 1


def _run(folder, corpus, name, flag, seconds):
    """Return the report, or None if the process was killed after so many seconds of indexing."""
    done = _unfinished(folder, name)

    def kill(child):
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()

    report = run_in_child(folder, corpus, name, flag, meanwhile=kill)
    if report is None:
        return None
    assert report["unchanged"] >= done, "finished work was done again"
    return report


def _unfinished(folder, name):
    """How many papers an interrupted build left."""
    tables = sorted((folder / "indexes").glob(f"{name}.v*.lance"), key=lambda path: int(path.stem.rpartition("v")[2]))
    alias = folder / "indexes" / f"{name}.json"
    published = json.loads(alias.read_text()) if alias.exists() else {"current": 0}
    if not tables or int(tables[-1].stem.rpartition("v")[2]) <= published["current"]:
        return 0
    return lancedb.connect(folder / "indexes").open_table(tables[-1].stem).count_rows()
