"""Batches: which examples they have, and how their texts are padded."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.batches import examples_of, padded
from training.samplers.registry import SAMPLERS

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
    recipe = SimpleNamespace(seed=seed, tasks=[SimpleNamespace(rate=1.0)] * len(SIZES), **settings)
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
