"""Batches made ahead of the steps, and what waiting for them takes."""

from __future__ import annotations

import json
import threading
import time

import pytest

from tests.training.recipes import read_recipe, write_recipe
from training.feed import ahead
from training.train import train


def test_items_come_in_order_and_one_is_made_ahead():
    begun = [threading.Event() for _ in range(5)]

    def made():
        for number, event in enumerate(begun):
            event.set()
            yield number

    items = ahead(made())
    assert next(items)[1] == 0
    # The next one is being made while this one is used; the one after it waits.
    assert begun[1].wait(10)
    time.sleep(0.05)
    assert not begun[2].is_set()
    assert [item for _, item in items] == [1, 2, 3, 4]


def test_only_waiting_counts():
    def slow():
        for number in range(3):
            time.sleep(0.2)
            yield number

    waits = []
    for waited, number in ahead(slow()):
        waits.append(waited)
        time.sleep(0.4 if number == 0 else 0)
    first, used, idle = waits
    assert first > 0.15
    assert idle > 0.15
    assert used < 0.1


def test_what_fails_in_the_thread_fails_where_the_item_would_come():
    def failing():
        yield 1
        raise OSError("gone")

    items = ahead(failing())
    assert next(items)[1] == 1
    with pytest.raises(OSError, match="gone"):
        next(items)


@pytest.mark.torch
def test_the_log_tells_what_each_step_waited(tmp_path, monkeypatch):
    monkeypatch.setattr("training.steps.ahead", lambda items: ((0.25, item) for item in items))
    done = train(read_recipe(write_recipe(tmp_path, steps=3)), tmp_path / "run")
    entries = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert len(entries) == 3
    assert [entry["waited"] for entry in entries] == [0.25] * 3
    assert done.waiting == pytest.approx(0.75 / (0.75 + sum(entry["seconds"] for entry in entries)))
