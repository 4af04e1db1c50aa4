"""The lines and figures of progress."""

from __future__ import annotations

import itertools
import threading

import pytest

from ses import progress
from ses.progress import Counts, Lines, duration


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_the_first_line_comes_with_the_first_batch_after_two_seconds(clock, capsys):
    lines = Lines()
    lines.stage("indexing", 1_000)
    assert capsys.readouterr().err == "indexing: 1,000 papers\n"
    clock[0] += 5
    lines.advance(0)  # what the cache held
    assert capsys.readouterr().err == ""
    clock[0] += 1
    lines.advance(8)
    assert capsys.readouterr().err == "indexing: 8 of 1,000, 8.0 papers/s, 2 min left\n"
    for _ in range(9):
        clock[0] += 1
        lines.advance(8)
    assert capsys.readouterr().err == ""
    clock[0] += 1
    lines.advance(8, 3)
    assert capsys.readouterr().err == "indexing: 88 of 1,000, 8.0 papers/s, 3 rejected, 2 min left\n"


def test_a_stage_of_unknown_length_tells_no_time(clock, capsys):
    lines = Lines()
    lines.stage("reading", None)
    lines.advance(1_000)
    clock[0] += 2
    lines.advance(1_000)
    assert capsys.readouterr().err == "reading\nreading: 2,000, 500 papers/s\n"


def test_the_rate_is_that_of_the_last_minute(clock):
    counts = Counts("indexing", 10_000)
    assert counts.rate == 0.0
    counts.add(0, 0)
    counts.add(5_000, 0)  # from the cache, at once
    for _ in range(120):
        clock[0] += 1
        counts.add(2, 0)
    assert counts.rate == pytest.approx(2)
    assert counts.whole == 5_240


def test_parts_of_papers_add_up(clock):
    counts = Counts("indexing", 30)
    for _ in range(90):
        counts.add(1 / 3, 0)
    assert counts.whole == 30


def test_threads_may_share_the_counts():
    counts = Counts("indexing", None)
    threads = [threading.Thread(target=lambda: [counts.add(1, 1) for _ in range(2_000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (counts.whole, counts.rejected) == (8_000, 8_000)


@pytest.mark.parametrize(
    ("seconds", "expected"), [(3.2, "3 s"), (59.4, "59 s"), (61, "1 min"), (3_540, "59 min"), (4_800, "1 h 20 min")]
)
def test_durations(seconds, expected):
    assert duration(seconds) == expected


def test_durations_never_have_sixty_minutes():
    for seconds in itertools.chain(range(3_500, 3_700), range(7_100, 7_300)):
        assert "60 min" not in duration(seconds)
