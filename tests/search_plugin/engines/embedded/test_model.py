"""The store against a dictionary: whatever is written, killed, reopened and searched, both hold the same."""

from __future__ import annotations

import os
import signal
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from search_plugin.contract.legs import Sort, closeness
from search_plugin.contract.plan import Counting, Plan, VectorClause
from search_plugin.engines.embedded import files, words
from search_plugin.filters.matching import matches
from tests.search_plugin.engines.embedded.small import DIMENSION, SCHEMA, WORDS, document, lower, make
from tests.search_plugin.filters.filtered import exact_filter

IDS = st.sampled_from([f"p{number}" for number in range(12)] + ["a b", "nul\0", "病毒"])
SEEDS = st.integers(0, 9)
BATCHES = st.lists(st.tuples(IDS, SEEDS), min_size=1, max_size=6)
FILTERS = st.sampled_from(
    [
        "year>=2002",
        "not year=2001",
        "author=A",
        "author=A and not author=B",
        "origin exists",
        "id in (p1, p3, p5)",
        "seen>2020-03",
        "seen=2020-03-01",
        "not seen exists",
        "score>=1.5 or open=true",
        "tags=x",
        "not shelf=y",
        "score<0.7",
        "score in (0.5, 2)",
        "title says virus",
        "not text says star",
        "text says virus star or text says cell gene",
        "not (title says lung and text says star) and year>=2001",
    ]
)
COUNTED = ["authors", "year", "origins", "tags", "seen", "score", "open", "id"]
APPENDED = 6
"""Files that a batch of papers is appended to, the log last."""

_HANGING = 20
"""Seconds after which a forked process ends: it may have inherited a lock of a thread that only its parent has."""


SORTS = [Sort(name, descending) for name in ("year", "title", "seen", "score") for descending in (False, True)]


def _place(paper, order, id_):
    """Where a paper stands in an order, by the formula; titles are of small ASCII words here."""
    value = paper.value(order.field)
    if value is None:
        return 1, 0, id_
    if isinstance(value, str):
        text = value if order.field == "title" else (value + "-01-01")[:10]
        value = int.from_bytes(text.encode().ljust(40, b"\0"), "big")
    return 0, -value if order.descending else value, id_


class Store(RuleBasedStateMachine):
    """Every rule changes the index and the dictionary alike; the invariant compares them."""

    @initialize()
    def make(self):
        self.patch = pytest.MonkeyPatch()
        lower(self.patch)
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.engine, self.index = make(Path(self.folder.name))
        self.held = {}

    def teardown(self):
        if hasattr(self, "folder"):
            self.patch.undo()
            self.folder.cleanup()

    @rule(batch=BATCHES)
    def upsert(self, batch):
        self.index.upsert([document(id_, seed) for id_, seed in batch])
        self._note(batch)

    @rule(ids=st.lists(IDS, max_size=4))
    def delete(self, ids):
        self.index.delete(ids)
        self.held = {id_: held for id_, held in self.held.items() if id_ not in ids}

    @rule(
        ids=st.lists(IDS, max_size=4),
        change=st.sampled_from(
            [{"origins": ("one",)}, {"tags": ("x", "y"), "shelf": "y"}, {"tags": None, "score": 7, "origins": None}]
        ),
    )
    def update(self, ids, change):
        missing = self.index.update(dict.fromkeys(ids, change))
        assert set(missing) == set(ids) - self.held.keys()
        for id_ in self.held.keys() & set(ids):
            held = self.held[id_]
            extra = {**held.paper.extra, **{name: value for name, value in change.items() if name != "origins"}}
            paper = replace(held.paper, extra={name: value for name, value in extra.items() if value is not None})
            if "origins" in change:
                paper = replace(paper, origins=change["origins"] or ())
            self.held[id_] = replace(held, paper=paper)

    @rule()
    def finish(self):
        self.index.finish()

    @rule()
    def reopen(self):
        self.index = self.engine.open("papers")

    @rule()
    def read_by_another(self):
        """A second index object, as of another process, sees what this one wrote."""
        assert set(self.engine.open("papers").ids()) == self.held.keys()

    @rule(batch=BATCHES, moment=st.integers(0, 2 * APPENDED + 1))
    def be_killed(self, batch, moment):
        """Write in a process that is killed before, or half way through, one of its appends, or around the commit."""
        if (child := os.fork()) == 0:
            signal.alarm(_HANGING)
            with suppress(BaseException):
                self._write_and_die(batch, moment)
            os._exit(1)
        _, status = os.waitpid(child, 0)
        if os.WTERMSIG(status) == signal.SIGALRM:  # it never came to its commit
            return
        assert os.WTERMSIG(status) == signal.SIGKILL
        if moment == 2 * APPENDED + 1:
            self._note(batch)

    def _write_and_die(self, batch, moment):
        appended, committing = 0, words.Words.committing
        put = files._put

        def dying_put(path, at, part):
            nonlocal appended
            if appended == moment // 2 < APPENDED:
                if moment % 2:
                    put(path, at, part[: len(part) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            appended += 1
            put(path, at, part)

        @contextmanager
        def dying_commit(*args):
            with committing(*args):
                yield
                if moment < 2 * APPENDED + 1:
                    os.kill(os.getpid(), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)

        self.patch.setattr(files, "_put", dying_put)
        self.patch.setattr(words.Words, "committing", dying_commit)
        self.index.upsert([document(id_, seed) for id_, seed in batch])

    @precondition(lambda self: len(self.held) > 1)
    @rule(text=FILTERS, seed=SEEDS)
    def search_with_filter(self, text, seed):
        where = exact_filter(text, SCHEMA.fields)
        passing = {id_ for id_, held in self.held.items() if matches(where, held.paper, SCHEMA.fields)}
        query = np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
        legs = self.index.search(Plan(" ".join((*WORDS, "star")), (VectorClause("prx", query),), where, 50))
        assert {hit.id for hit in legs["lexical"]} == passing
        assert {hit.id for hit in legs["prx"]} == passing
        assert set(self.index.ids(where)) == passing
        counted = self.index.fetch([], Counting(Plan("virus", (), where, 5), passing, COUNTED, 9))[1]
        assert counted.matches == len(passing)
        for field in COUNTED:
            said = [value for id_ in passing if (value := self.held[id_].paper.value(field)) is not None]
            said = [int(value[:4]) for value in said] if field == "seen" else said
            said = [value for one in said for value in (set(one) if isinstance(one, tuple) else [one])]
            counts = {str(v).lower() if v is True else v: said.count(v) for v in said}
            assert list(counted.counts[field]) == sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:9]

    @rule(text=st.none() | FILTERS, order=st.sampled_from(SORTS), size=st.integers(0, 20))
    def list_in_order(self, text, order, size):
        where = exact_filter(text, SCHEMA.fields) if text else None
        passing = {i: h for i, h in self.held.items() if where is None or matches(where, h.paper, SCHEMA.fields)}
        listing = self.index.listed(where, order, size)
        expected = sorted(passing, key=lambda id_: _place(passing[id_].paper, order, id_))
        assert (list(listing.ids), listing.matches) == (expected[:size], len(passing))

    @invariant()
    def same(self):
        if not hasattr(self, "held"):
            return
        index, ids = self.index, list(self.held)
        assert index.count() == index.count("prx") == index.count("rgn") == len(ids)
        assert sorted(index.ids()) == sorted(ids)
        assert index.papers([*ids, "none"]) == {id_: held.paper for id_, held in self.held.items()}
        assert index.hashes(ids) == {id_: held.content_hash for id_, held in self.held.items()}
        for field in ("prx", "clf", "rgn"):
            stored = index.vectors(ids, field)
            assert all(np.array_equal(stored[id_], held.vectors[field]) for id_, held in self.held.items())
        self._searched(index)

    def _searched(self, index):
        query = np.linspace(-1, 1, DIMENSION).astype(np.float32)
        plan = Plan(
            "star",
            (VectorClause("prx", query), VectorClause("clf", query[:3]), VectorClause("rgn", query[:4])),
            None,
            50,
        )
        for legs in (index.search(plan), index.search(replace(plan, exact=True))):
            assert {hit.id for hit in legs["lexical"]} == {i for i, h in self.held.items() if h.paper.abstract}
            for field in SCHEMA.vectors:
                expected = {
                    id_: closeness(
                        held.vectors[field.format].reshape(-1, field.dimension),
                        query[: field.dimension],
                        field.similarity,
                    ).max()
                    for id_, held in self.held.items()
                }
                found = {hit.id: hit.score for hit in legs[field.format]}
                assert found == pytest.approx(expected, abs=1e-5)
                assert list(found.values()) == sorted(found.values(), reverse=True)

    def _note(self, batch):
        self.held |= {id_: document(id_, seed) for id_, seed in batch}


TestStore = pytest.mark.slow(Store.TestCase)
TestStore.settings = settings(stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck))
