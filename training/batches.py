"""Chooses the examples of each batch, pads their texts to tensors, and prepares a batch while another computes.

The examples depend on the recipe's seed alone. A resumed run skips the batches that were done, so it sees the same
batches as an uninterrupted run.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from corpora.lazy import np, torch
from encoders.models.card import ModelCard
from training.data.packed import Packed, formats_of
from training.recipe import Recipe
from training.samplers import SAMPLERS, Item

_POOL = 50
"""Batches whose examples are sorted by length together: enough for little padding, few for batches at random."""


def batches_an_epoch(recipe: Recipe, sizes: Sequence[int]) -> int:
    """Return how many batches hold every example as often as its task's rate says."""
    return math.ceil(sum(_taken(recipe, sizes)) / recipe.batch_size)


def examples_of(recipe: Recipe, data: Sequence[Packed], epoch: int) -> Iterator[list[Item]]:
    """Yield the examples of each batch of an epoch, as pairs of a task's number and an example's number.

    Epochs count from 0, and each shuffles the examples of the tasks again.
    """
    sizes = [len(packed) for packed in data]
    taken = _taken(recipe, sizes)
    draws = [np.random.default_rng([recipe.seed, epoch, task]) for task in range(len(data))]
    orders = [
        draw.permutation(size)[np.arange(count) % size] for draw, size, count in zip(draws, sizes, taken, strict=True)
    ]
    sampler, chance = SAMPLERS[recipe.sampler], random.Random(f"{recipe.seed} {epoch}")  # noqa: S311
    items = sampler(taken, recipe.batch_size, chance)
    batches: Iterable[list[Item]] = iter(lambda: list(islice(items, recipe.batch_size)), [])
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


def _alike(order: np.ndarray, lengths: np.ndarray, counts: Sequence[int], draw: np.random.Generator) -> np.ndarray:
    """Rearrange the examples of each pool of batches so that those of one batch are of about the same length.

    `order` has a task's examples at random, `lengths` the tokens of each example, and `counts` how many examples of the
    task each batch takes, for batches that take any. Which batch gets which lengths is drawn. Returns int64
    (examples,).
    """
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

    Token ids, int64 (columns x examples, tokens), or kept states, float16 (columns x examples, tokens, width), padded
    with 0; and the mask, int64 (columns x examples, tokens), 2 for the second text of a pair.
    """
    values, mask = padded([packed.input(example, column) for column in columns for example in examples])
    if packed.seconds is not None:
        seconds = [packed.second(example, column) for column in columns for example in examples]
        for row, second in zip(mask, seconds, strict=True):
            row[second:] *= 2
    return (values if packed.kept else values.astype("int64")), mask


def padded(texts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return texts (tokens, ...) as one array padded with 0, (texts, tokens, ...), and its mask, int64."""
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
    order: Any = np.argsort(-_longest(packed), kind="stable").tolist()
    yield from (order[start : start + at_once] for start in range(0, len(order), at_once))


def _longest(packed: Packed) -> np.ndarray:
    """Return the tokens of each example's longest text, int64 (examples,)."""
    found: np.ndarray = np.diff(packed.starts).reshape(len(packed), packed.columns).max(axis=1)
    return found


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HeadTexts:
    """Texts of some examples that go through the network together, because they need vectors of the same head.

    Attributes:
        head: The head whose vectors are needed.
        columns: Columns of the examples; the texts are in this order, column after column.
        values: Token ids, int64 (texts, tokens), or kept states, float16 (texts, tokens, width): torch tensors.
        mask: int64 (texts, tokens).
        layers: How many layers computed the states; 0 for token ids.
    """

    head: str
    columns: Sequence[int]
    values: Any
    mask: Any
    layers: int


@dataclass(frozen=True, slots=True)
class TaskBatch:
    """The examples of one task in a batch: the task's number, the texts by head, and the targets of each example."""

    task: int
    texts: Sequence[HeadTexts]
    targets: Sequence[Sequence[float]]


def parts_of(recipe: Recipe, card: ModelCard, items: Sequence[Item], data: Sequence[Packed]) -> list[TaskBatch]:
    """Return the examples of a batch, ready for the network: a part for each task that has examples in it."""
    return [part_of(recipe, card, task, examples, data[task]) for task, examples in by_task(items).items()]


def part_of(recipe: Recipe, card: ModelCard, task: int, examples: Sequence[int], packed: Packed) -> TaskBatch:
    """Return some examples of one task, ready for the network."""
    heads = [card.head(task_format) for task_format in formats_of(recipe.tasks[task], packed.columns)]
    texts = []
    for head in dict.fromkeys(heads):
        columns = [column for column, of_column in enumerate(heads) if of_column == head]
        values, mask = (torch.from_numpy(array) for array in texts_of(packed, examples, columns))
        texts.append(HeadTexts(head, columns, values, mask, packed.kept.layers if packed.kept else 0))
    return TaskBatch(task, texts, [packed.numbers(example) for example in examples])


def ahead(made: Iterator[T]) -> Iterator[tuple[float, T]]:
    """Make each item in a thread while the previous one is used; yield the seconds spent waiting for it, and the item.

    Exceptions of `made` are raised in place of the item.
    """
    with ThreadPoolExecutor(1) as maker:
        coming = maker.submit(next, made, None)
        while True:
            begun = time.perf_counter()
            item = coming.result()
            if item is None:
                return
            coming = maker.submit(next, made, None)
            yield time.perf_counter() - begun, item
