"""The lines and figures of progress."""

from __future__ import annotations

import itertools
import random
import statistics
import threading

import pytest

from ses.terminal import progress
from ses.terminal.progress import Counts, Lines, duration


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
    lines.advance(0, block=512)  # what the cache held
    assert capsys.readouterr().err == ""
    clock[0] += 1
    lines.advance(8)
    assert capsys.readouterr().err == "indexing: 8 of 1,000\n"
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
    counts.add(5_000, 0, block=10_000)  # from the cache, at once
    assert (counts.rate, counts.left) == (0.0, None)
    for seconds in (5, *[1] * 120):
        clock[0] += seconds
        counts.add(2, 0)
    assert counts.rate == pytest.approx(2)
    assert counts.whole == 5_242
    assert str(counts) == "5,000 from the cache, 2.0 papers/s, 40 min left"


def test_vectors_from_the_cache_have_no_rate(clock):
    counts = Counts("indexing", 569)
    counts.add(511, 0, block=512)
    clock[0] += 119
    assert str(counts) == "511 from the cache"
    counts.add(1, 0)
    counts.add(57, 0, block=57)
    assert str(counts) == "568 from the cache"


BLOCK, BATCH = 512, 8


def seconds_of(batch):
    """Return what a batch takes: in proportion to its tokens."""
    return sum(batch) / 5_000


def profiles():
    """Return runs: the tokens of each paper, 0 if the cache holds it, and how much slower the first seconds are."""
    draw = random.Random(4)
    lengths = [draw.randint(40, 500) for _ in range(4_000)]
    half = len(lengths) // 2
    return {
        "even": ([200] * 4_000, 1.0),
        "mixed lengths": (lengths, 1.0),
        "shortest first": (sorted(lengths), 1.0),
        "longest first": (sorted(lengths, reverse=True), 1.0),
        "slow at first": (lengths, 3.0),
        "a third cached": ([length * (draw.random() > 0.33) for length in lengths], 1.0),
        "nine of ten cached": ([length * (draw.random() > 0.9) for length in lengths], 1.0),
        "resumed": ([0] * half + lengths[half:], 1.0),
        "resumed within a block": ([0] * 2_400 + lengths[:600], 1.0),
        "one block": (lengths[:400], 1.0),
    }


@pytest.mark.parametrize("name", profiles())
def test_the_time_that_is_left_is_right_after_a_tenth_of_the_work(name, clock):
    tokens, slower = profiles()[name]
    size = {place: length or 270 for place, length in enumerate(tokens)}
    mean = statistics.mean(size.values())
    counts, told, spent = Counts("indexing", len(tokens)), [], 0.0
    begun = clock[0]
    clock[0] += 20  # the model is loaded
    for start in range(0, len(tokens), BLOCK):
        block = range(start, min(start + BLOCK, len(tokens)))
        missing = sorted((tokens[place] for place in block if tokens[place]), reverse=True)
        cost = statistics.mean(size[place] for place in block) / mean
        counts.add(len(block) - len(missing), 0, block=len(block), cost=cost)
        for first in range(0, len(missing), BATCH):
            batch = missing[first : first + BATCH]
            took = seconds_of(batch) * (slower if spent < 10 else 1.0)
            clock[0] += took
            spent += took
            counts.add(sum(batch) / sum(missing) * len(missing), 0, cost=cost)
            told.append((clock[0], counts.left))
    end = clock[0]
    after = [(end - now, left) for now, left in told if now - begun - 20 >= spent / 10 and end - now > 1]
    assert counts.whole == len(tokens)
    assert len(after) > 10
    wrong = [abs(left / right - 1) for right, left in after[: len(after) // 2]]
    assert max(wrong) <= 0.25, f"after a tenth {wrong[0]:.2f}, at most {max(wrong):.2f}"


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
