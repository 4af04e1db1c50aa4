"""`kill -9` of ses, or of the server, at random moments of loads: nothing is lost, doubled, or done again."""

from __future__ import annotations

import sys
import time
from collections import Counter
from queue import SimpleQueue

import pytest

from corpora.errors import UnavailableError
from indexer.pipeline import index_corpus
from search_plugin.contract.connection import Connection
from search_plugin.engines.registry import connect
from tests.chance import drawn, kills
from tests.conftest import SERVERS
from tests.engines.conftest import empty
from tests.engines.killing import IDS, draw_moment, held, make_home, own_servers, strike
from tests.faults import FaultProxy
from tests.indexer.jobs import contents, make_job, run_in_child

STAGES = (("first", ""), ("second", ""), ("first", "fresh"))
"""An index is built, updated, and built anew beside itself."""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return make_home(tmp_path_factory.mktemp("home"))


def uninterrupted(home, server):
    """Run all stages; return of each the requests it made and what the index then holds."""
    found = []
    for corpus, flag in STAGES:
        with FaultProxy(server.url) as proxy:
            index_corpus(make_job(home.folder, getattr(home, corpus), fresh=bool(flag)), connect(proxy.url))
            found.append((proxy.requests, contents(home.folder, "papers", IDS, server.url)))
    assert [len(contained) for _, contained in found] == [200, 220, 200]
    empty(server)
    return found


def rounds(home, server, count, run):
    """Kill until `count` kills have come; `run` runs a stage with a kill at a moment.

    It returns whether the kill came before the run was over, and the report of a run that ended.
    """
    draw, came = drawn(), Counter()
    expected = uninterrupted(home, server)
    while came.total() < count:
        for (corpus, flag), (load, contained) in zip(STAGES, expected, strict=True):
            report = None
            while report is None:
                moment = draw_moment(draw, load)
                done = held(server)
                killed, report = run(draw, getattr(home, corpus), flag, moment)
                sys.stdout.write(f"{corpus} {flag} {'killed' if killed else 'over before'} {moment}\n")
                came[moment.kind] += killed
                if report:
                    assert report["unchanged"] >= done, "finished work was done again"
                    assert report["rejected"] == report["duplicates"] == 0
            assert contents(home.folder, "papers", IDS, server.url) == contained
        empty(server)
    sys.stdout.write(f"{came.total()} kills: {dict(came)}\n")


def test_killed_runs_end_in_the_index_of_an_uninterrupted_one(server, home):
    def run(draw, corpus, flag, moment):
        victims = SimpleQueue()

        def kill():
            victim = victims.get()
            victim.kill()
            victim.wait()

        with FaultProxy(server.url) as proxy:
            killed = strike(proxy, moment, kill)
            begun = time.monotonic()
            report = run_in_child(home.folder, corpus, "papers", flag, proxy.url, meanwhile=victims.put)
        assert time.monotonic() - begun < 60, "the lease of the dead was waited for"
        assert killed.is_set() == (report is None)
        return killed.is_set(), report

    rounds(home, server, kills(3, 3, 20), run)


@pytest.mark.engines_cli
@own_servers("opensearch", *(pytest.param(one, marks=pytest.mark.long) for one in SERVERS if one != "opensearch"))
def test_killed_servers_end_with_the_index_of_an_uninterrupted_run(own, home):

    def run(draw, corpus, flag, moment):
        """Load with patience enough, or not, for the server to come back meanwhile."""
        connection = Connection(patience=draw.choice([1.0, 200.0]), timeout=200)
        with FaultProxy(own.url) as proxy:
            killed = strike(proxy, moment, own.crash)
            try:
                report = index_corpus(make_job(home.folder, corpus, fresh=bool(flag)), connect(proxy.url, connection))
            except UnavailableError:
                assert killed.is_set()
                report = None
        own.wait()
        return killed.is_set(), report and report.to_dict()

    rounds(home, connect(own.url), kills(3, 3, 20), run)
