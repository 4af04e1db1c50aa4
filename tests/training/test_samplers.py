"""The order of tasks: the values are of allenai/scirepeval (training/strategies.py), run on tasks of 7, 3 and 12."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.samplers.registry import SAMPLERS

SIZES = (7, 3, 12)
ORIGINAL = {
    ("sequential", 8): "aaaaaaabbbcccccccccccc",
    ("mixed-random", 8): "cbcbccccabacaaacacaccc",
    ("mixed-proportional", 4): "abcabcabcaccaaccaccccc",
    ("mixed-proportional", 6): "aabbccaabcccaaaccccccc",
    ("mixed-proportional", 8): "aaabbbcccaaaccccaccccc",
    ("task-per-batch", 4): "aaaabbbccccaaacccccccc",
    ("task-per-batch", 6): "aaaaaabbbccccccacccccc",
}


@pytest.mark.parametrize(("name", "batch_size"), ORIGINAL)
def test_the_order_is_the_originals(name, batch_size):
    drawn = list(SAMPLERS[name](SIZES, batch_size, random.Random(5)))
    assert "".join("abc"[task] for task, _ in drawn) == ORIGINAL[name, batch_size]


@given(
    st.sampled_from(sorted(SAMPLERS)),
    st.lists(st.integers(0, 20), min_size=1, max_size=6),
    st.integers(1, 9),
    st.integers(0, 99),
)
def test_every_example_comes_once_and_in_its_tasks_order(name, sizes, batch_size, seed):
    drawn = list(SAMPLERS[name](sizes, batch_size, random.Random(seed)))
    for task, size in enumerate(sizes):
        assert [position for number, position in drawn if number == task] == list(range(size))
    assert len(drawn) == sum(sizes)
