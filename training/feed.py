"""Prepares the next batch while the current step computes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from encoders.models.card import ModelCard
from training.batches import by_task, texts_of
from training.data.packed import Packed, formats_of
from training.recipe import Recipe
from training.samplers import Item

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
    """The examples of one task in a batch.

    Attributes:
        task: Its number.
        texts: The texts, by head.
        targets: The targets of each example.
    """

    task: int
    texts: Sequence[HeadTexts]
    targets: Sequence[Sequence[float]]


def parts_of(recipe: Recipe, card: ModelCard, items: Sequence[Item], data: Sequence[Packed]) -> list[TaskBatch]:
    """Return the examples of a batch, ready for the network.

    Args:
        recipe: The recipe with the tasks.
        card: The model's card.
        items: The examples.
        data: The packed examples of every task.

    Returns:
        A part for each task that has examples in the batch.
    """
    return [part_of(recipe, card, task, examples, data[task]) for task, examples in by_task(items).items()]


def part_of(recipe: Recipe, card: ModelCard, task: int, examples: Sequence[int], packed: Packed) -> TaskBatch:
    """Return some examples of one task, ready for the network; arguments as of `parts_of`."""
    import torch

    heads = [card.head(task_format) for task_format in formats_of(recipe.tasks[task], packed.columns)]
    texts = []
    for head in dict.fromkeys(heads):
        columns = [column for column, of_column in enumerate(heads) if of_column == head]
        values, mask = (torch.from_numpy(array) for array in texts_of(packed, examples, columns))
        texts.append(HeadTexts(head, columns, values, mask, packed.kept.layers if packed.kept else 0))
    return TaskBatch(task, texts, [packed.numbers(example) for example in examples])


def ahead(made: Iterator[T]) -> Iterator[tuple[float, T]]:
    """Make each item in a thread while the previous one is used.

    Args:
        made: Makes the items; its exceptions are raised in place of the item.

    Yields:
        The seconds spent waiting for the item, and the item.
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
