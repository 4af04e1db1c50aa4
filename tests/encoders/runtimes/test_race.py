"""The order in which sessions run and come in, by a clock that the sessions move."""

from __future__ import annotations

import numpy as np
import pytest

from encoders.runtimes import race as module
from encoders.runtimes.race import race

WORK = (np.ones((4, 6), np.int64), np.zeros((4, 6), np.int64))


@pytest.fixture
def timed(monkeypatch):
    """Makes sessions that take given times, the last one for good, and notes who ran on what."""
    clock, ran = [0.0], []
    monkeypatch.setattr(module.time, "perf_counter", lambda: clock[0])

    def make(name, *times):
        left = list(times)

        def session(ids, mask):
            ran.append((name, ids.shape, mask.shape))
            whole = ids.shape == (4, 6)
            clock[0] += (left.pop(0) if len(left) > 1 else left[0]) if whole else 100
            return []

        return session

    return make, ran


def test_they_take_turns_and_who_is_twice_as_slow_leaves(timed):
    make, ran = timed
    sessions = {"slow": make("slow", 4), "even": make("even", 3), "fast": make("fast", 2), "near": make("near", 3.5)}
    assert list(race(sessions, WORK, 2).items()) == [("fast", 2), ("even", 3), ("near", 3.5), ("slow", 4)]
    turns = ["slow", "even", "fast", "near", "fast", "even", "near"]
    assert ran == [(name, shape, shape) for name in turns for shape in ((1, 2), (4, 6))]


def test_the_median_decides(timed):
    make, _ = timed
    sessions = {"bursts": make("bursts", 3, 1, 3, 1, 1), "calm": make("calm", 2)}
    assert list(race(sessions, WORK, 5).items()) == [("bursts", 1), ("calm", 2)]


def test_those_who_left_come_last_in_their_order(timed):
    make, _ = timed
    sessions = {
        "last": make("last", 9),
        "third": make("third", 8),
        "second": make("second", 3, 9),
        "first": make("first", 2),
    }
    assert list(race(sessions, WORK, 1)) == ["first", "second", "third", "last"]
    assert race(sessions, WORK, 3)["last"] == 9
