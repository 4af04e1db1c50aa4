"""Answers that are kept: as long as they may, as many as fit, computed once."""

import threading

import pytest

from corpora.errors import NotFoundError
from ses.service.cache import Cache

pytestmark = pytest.mark.serve


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_answers_are_kept_until_others_need_the_room_or_their_time_is_over():
    counted, clock = [], Clock()
    cache = Cache(30, len, seconds=5, counted=counted.append, clock=clock)
    assert cache.get("a", lambda: "x" * 10) == cache.get("a", lambda: "other") == "x" * 10
    cache.get("b", lambda: "y" * 20)
    cache.get("a", lambda: "other")
    cache.get("c", lambda: "z" * 20)
    assert cache.bytes == 30
    assert cache.get("a", lambda: "other") == "x" * 10
    assert cache.get("b", lambda: "new") == "new"
    assert cache.get("too large", lambda: "w" * 31) == "w" * 31
    assert cache.bytes <= 30
    clock.now = 5.0
    assert cache.get("a", lambda: "later") == "later"
    assert counted.count("hit") == 3
    assert counted.count("miss") == 6


def test_an_error_is_not_kept():
    cache = Cache(30, len)

    def fail():
        raise NotFoundError("There is none")

    with pytest.raises(NotFoundError):
        cache.get("a", fail)
    assert cache.get("a", lambda: "x") == "x"


def test_threads_that_ask_for_the_same_wait_for_one():
    counted, shared = [], threading.Semaphore(0)

    def count(result):
        counted.append(result)
        if result == "shared":
            shared.release()

    cache = Cache(30, len, counted=count)

    def make():
        for _ in range(3):
            assert shared.acquire(timeout=60)  # the others have come
        return "x"

    found = []
    threads = [threading.Thread(target=lambda: found.append(cache.get("a", make))) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == ["x"] * 4
    assert sorted(counted) == ["miss", "shared", "shared", "shared"]
