"""Batches: which examples they have, and how their texts are padded."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.training.recipes import read_recipe, write_recipe
from training.batches import ahead, by_task, examples_of, length_grouped, padded, texts_of
from training.samplers import SAMPLERS
from training.train import train

SIZES = (700, 90, 301)


class Texts:
    """Examples of one text each: all that batches are made by is how long they are."""

    columns = 1

    def __init__(self, lengths):
        self.starts = np.concatenate([[0], np.cumsum(lengths)])

    def __len__(self):
        return len(self.starts) - 1


def made(seed=0, epoch=0, **values):
    draw = np.random.default_rng(5)
    data = [Texts(draw.integers(10, 300, size)) for size in SIZES]
    settings = {"sampler": "mixed-proportional", "batch_size": 8, "group_by_length": True} | values
    rates = settings.pop("rates", (1.0,) * len(SIZES))
    recipe = SimpleNamespace(seed=seed, tasks=[SimpleNamespace(rate=rate) for rate in rates], **settings)
    return data, list(examples_of(recipe, data, epoch))


def padding(data, batches):
    """Return the share of a batch's tokens that is padding, when each task's texts are padded together."""
    used = full = 0
    for batch in batches:
        for task in {task for task, _ in batch}:
            lengths = [np.diff(data[task].starts)[example] for number, example in batch if number == task]
            used, full = used + sum(lengths), full + len(lengths) * max(lengths)
    return 1 - used / full


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_grouped_batches_have_every_example_once_and_the_samplers_order_of_tasks(sampler):
    data, grouped = made(sampler=sampler)
    _, plain = made(sampler=sampler, group_by_length=False)
    assert [[task for task, _ in batch] for batch in grouped] == [[task for task, _ in batch] for batch in plain]
    everything = Counter((task, example) for task, size in enumerate(SIZES) for example in range(size))
    assert Counter(item for batch in grouped for item in batch) == everything
    assert padding(data, grouped) < 0.05 < 0.15 < padding(data, plain)


def test_a_rate_is_the_share_of_a_tasks_examples_that_an_epoch_takes():
    taken = Counter(item for batch in made(rates=(0.5, 2.0, 0.001))[1] for item in batch)
    assert [sum(task == number for task, _ in taken) for number in range(3)] == [350, 90, 1]
    assert {count for (task, _), count in taken.items() if task == 1} == {2}
    assert sum(taken.values()) == 350 + 180 + 1


def test_grouped_batches_come_in_random_order_and_follow_the_seed():
    data, grouped = made(sampler="sequential")
    lengths = np.diff(data[0].starts)
    means = [np.mean([lengths[example] for _, example in batch]) for batch in grouped[: 700 // 8]]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.3
    assert made(sampler="sequential")[1] == grouped
    sets = {frozenset(batch) for batch in grouped}
    for others in (made(sampler="sequential", seed=1)[1], made(sampler="sequential", epoch=1)[1]):
        assert len(sets & {frozenset(batch) for batch in others}) < 0.5 * len(sets)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=9))
def test_padded_texts_and_their_mask(lengths):
    texts = [np.arange(1, length + 1, dtype=np.int32) for length in lengths]
    values, mask = padded(texts)
    assert values.shape == mask.shape == (len(texts), max(lengths))
    for row, text in enumerate(texts):
        assert values[row][mask[row] == 1].tolist() == text.tolist()
    assert not values[mask == 0].any()


def test_a_batch_of_many_long_texts_is_one_batch():
    """Inference cuts such a batch in parts, and training did so too, and failed."""
    values, mask = padded([np.full(512, 7, np.int32)] * 9 + [np.full(3, 5, np.int32)])
    assert values.shape == mask.shape == (10, 512)


def test_inputs_of_columns_come_column_after_column():
    texts = [np.array(one, np.int32) for one in ([1], [2, 3], [4], [5, 6, 7])]
    packed = SimpleNamespace(kept=None, seconds=None, input=lambda example, column: texts[2 * example + column])
    values, mask = texts_of(packed, [1, 0], [1, 0])
    assert values.tolist() == [[5, 6, 7], [2, 3, 0], [4, 0, 0], [1, 0, 0]]
    assert mask.tolist() == [[1, 1, 1], [1, 1, 0], [1, 0, 0], [1, 0, 0]]
    assert (values.dtype, mask.dtype) == (np.int64, np.int64)
    states = [np.full((len(one), 2), 0.5, np.float16) for one in texts]
    kept = SimpleNamespace(kept=True, seconds=None, input=lambda example, column: states[2 * example + column])
    values, mask = texts_of(kept, [0], [0, 1])
    assert (values.shape, values.dtype, mask.tolist()) == ((2, 2, 2), np.float16, [[1, 0], [1, 1]])
    assert by_task([(2, 5), (0, 1), (2, 3)]) == {2: [5, 3], 0: [1]}


def test_validation_takes_the_longest_first():
    groups = list(length_grouped(Texts([3, 9, 5, 9, 1]), 2))
    assert groups == [[1, 3], [2, 0], [4]]


class Pairs(Texts):
    """Examples of two texts each."""

    columns = 2

    def __len__(self):
        return len(self.starts) // 2


def test_an_example_is_as_long_as_its_longest_text():
    assert list(length_grouped(Pairs([3, 9, 5, 1, 1, 20]), 5)) == [[2, 0, 1]]


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
