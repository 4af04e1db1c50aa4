"""The order of tasks: the values are of allenai/scirepeval (training/strategies.py), run on tasks of 7, 3 and 12.

Those of shuffled-batches are of yuzhimanhua/CoF (MultiSetDataIterator of dpr/utils/data_utils.py).
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.samplers import SAMPLERS

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


@pytest.mark.parametrize(
    ("sizes", "order"), [((20, 9, 33), "aacccabcaccbcac"), ((8, 16, 32), "bbcccaccacbcbc"), ((24, 8, 8), "aaaacbbaac")]
)
def test_whole_batches_come_in_scimults_order(sizes, order):
    drawn = list(SAMPLERS["shuffled-batches"](sizes, 4, random.Random(5)))
    batches = [drawn[start : start + 4] for start in range(0, len(drawn), 4)]
    assert "".join("abc"[batch[0][0]] for batch in batches[: len(order)]) == order
    assert all(len({task for task, _ in batch}) == 1 for batch in batches[: len(order)])
    # What fills no batch is not lost.
    assert [task for task, _ in drawn[4 * len(order) :]] == [t for t, size in enumerate(sizes) for _ in range(size % 4)]
