"""Whole batches of one task, in random order (SciMult's and UniPR's code): each contrast stays within one task.

A task gets batches by its number of examples. The original drops the examples that fill no batch; here they come last,
one task after another.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from training.samplers.base import Item


def sample(sizes: Sequence[int], batch_size: int, chance: random.Random) -> Iterator[Item]:
    """Yield the tasks' whole batches shuffled, then what is left of each."""
    tasks = [task for task, size in enumerate(sizes) for _ in range(size // batch_size)]
    chance.shuffle(tasks)
    live = [iter(range(size)) for size in sizes]
    for task in tasks:
        yield from ((task, next(live[task])) for _ in range(batch_size))
    for task, rest in enumerate(live):
        yield from ((task, position) for position in rest)
