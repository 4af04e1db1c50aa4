"""Chooses the examples of each batch, which depend on the recipe's seed alone, and pads their texts to tensors.

A resumed run skips the batches that were done, so it sees the same batches as an uninterrupted run.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from training.data.packed import Packed
from training.recipe import Recipe
from training.samplers import SAMPLERS, Item

if TYPE_CHECKING:
    import numpy as np


_POOL = 50
"""Batches whose examples are sorted by length together: enough for little padding, few for batches at random."""


def batches_an_epoch(recipe: Recipe, sizes: Sequence[int]) -> int:
    """Return how many batches hold every example as often as its task's rate says."""
    return math.ceil(sum(_taken(recipe, sizes)) / recipe.batch_size)


def examples_of(recipe: Recipe, data: Sequence[Packed], epoch: int) -> Iterator[list[Item]]:
    """Yield the examples of each batch of an epoch.

    Args:
        recipe: Gives sampler, batch size and seed, and whether examples of about the same length come together.
        data: The packed examples of every task.
        epoch: Counted from 0; each epoch shuffles the tasks again.

    Yields:
        Pairs of a task's number and an example's number.
    """
    import numpy as np

    sizes = [len(packed) for packed in data]
    taken = _taken(recipe, sizes)
    draws = [np.random.default_rng([recipe.seed, epoch, task]) for task in range(len(data))]
    orders = [
        draw.permutation(size)[np.arange(count) % size] for draw, size, count in zip(draws, sizes, taken, strict=True)
    ]
    sampler, chance = SAMPLERS[recipe.sampler], random.Random(f"{recipe.seed} {epoch}")  # noqa: S311
    batches: Iterable[list[Item]] = _cut(sampler(taken, recipe.batch_size, chance), recipe.batch_size)
    if recipe.group_by_length:
        batches = list(batches)
        counts = [Counter(task for task, _ in batch) for batch in batches]
        for task, packed in enumerate(data):
            mine = [count[task] for count in counts if task in count]
            orders[task] = _alike(orders[task], _longest(packed), mine, draws[task])
    for batch in batches:
        yield [(task, int(orders[task][position])) for task, position in batch]


def _taken(recipe: Recipe, sizes: Sequence[int]) -> list[int]:
    """Return how many examples of each task an epoch takes, some of them again where a rate is above 1."""
    return [max(1, int(size * task.rate)) for size, task in zip(sizes, recipe.tasks, strict=True)]


def _cut(items: Iterator[Item], size: int) -> Iterator[list[Item]]:
    while batch := list(islice(items, size)):
        yield batch


def _alike(order: np.ndarray, lengths: np.ndarray, counts: Sequence[int], draw: np.random.Generator) -> np.ndarray:
    """Rearrange the examples of each pool of batches so that those of one batch are of about the same length.

    Args:
        order: A task's examples in random order.
        lengths: Tokens of each example.
        counts: How many examples of the task each batch takes, for batches that take any.
        draw: Decides which batch gets which lengths.

    Returns:
        The order in which batches take them.
    """
    import numpy as np

    ends = np.cumsum(counts)
    starts, made = ends - counts, order.copy()
    for first in range(0, len(counts), _POOL):
        last = min(first + _POOL, len(counts)) - 1
        pool = order[starts[first] : ends[last]]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        for batch in first + draw.permutation(last - first + 1):
            made[starts[batch] : ends[batch]], pool = pool[: counts[batch]], pool[counts[batch] :]
    return made


def texts_of(packed: Packed, examples: Sequence[int], columns: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the network's input for some columns of some examples, column after column.

    Args:
        packed: The examples of the task.
        examples: The numbers of the examples to take.
        columns: Which of their texts to take.

    Returns:
        Token ids, int64 (columns x examples, tokens), or kept states, float16 (columns x examples, tokens, width),
        both padded with 0; and the mask, int64 (columns x examples, tokens).
    """
    values, mask = padded([packed.input(example, column) for column in columns for example in examples])
    return (values if packed.kept else values.astype("int64")), mask


def padded(texts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return texts (tokens, ...) as one array padded with 0, (texts, tokens, ...), and its mask, int64."""
    import numpy as np

    lengths = np.array([len(text) for text in texts])
    mask = np.arange(lengths.max()) < lengths[:, None]
    values = np.zeros((*mask.shape, *texts[0].shape[1:]), dtype=texts[0].dtype)
    for row, text in zip(values, texts, strict=True):
        row[: len(text)] = text
    return values, mask.astype(np.int64)


def by_task(items: Sequence[Item]) -> dict[int, list[int]]:
    """Return the examples of each task in a batch."""
    grouped: dict[int, list[int]] = {}
    for task, example in items:
        grouped.setdefault(task, []).append(example)
    return grouped


def length_grouped(packed: Packed, at_once: int) -> Iterator[list[int]]:
    """Yield all examples in groups of about the same length, longest first: for validation, where order is free."""
    import numpy as np

    order: Any = np.argsort(-_longest(packed), kind="stable").tolist()
    yield from (order[start : start + at_once] for start in range(0, len(order), at_once))


def _longest(packed: Packed) -> np.ndarray:
    """Return the tokens of each example's longest text, int64 (examples,)."""
    import numpy as np

    found: np.ndarray = np.diff(packed.starts).reshape(len(packed), packed.columns).max(axis=1)
    return found
