"""In which order the examples of several tasks come: SciRepEval's four strategies, and SciMult's."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence

Item = tuple[int, int]
"""The number of a task, and the position of an example in the task's order."""

Sampler = Callable[[Sequence[int], int, random.Random], Iterator[Item]]
"""Yields every example once. It receives the number of examples of each task, the batch size and a random generator."""


def sequential(sizes: Sequence[int], batch_size: int, chance: random.Random) -> Iterator[Item]:  # noqa: ARG001
    """Yield all examples of the first task, then of the second, and so on."""
    for task, size in enumerate(sizes):
        yield from ((task, position) for position in range(size))


def mixed_random(sizes: Sequence[int], batch_size: int, chance: random.Random) -> Iterator[Item]:  # noqa: ARG001
    """Yield examples of randomly drawn tasks; all tasks with examples left are equally likely."""
    live = [iter([(task, position) for position in range(size)]) for task, size in enumerate(sizes)]
    while live:
        drawn = chance.choice(live)
        item = next(drawn, None)
        if item is None:
            live.remove(drawn)
        else:
            yield item


def mixed_proportional(sizes: Sequence[int], batch_size: int, chance: random.Random) -> Iterator[Item]:  # noqa: ARG001
    """Yield an equal share of a batch from each task in turn: what SciRepEval's models were trained with."""
    return _turns(sizes, lambda left: round(batch_size / left))


def task_per_batch(sizes: Sequence[int], batch_size: int, chance: random.Random) -> Iterator[Item]:  # noqa: ARG001
    """Yield whole batches of one task in turn."""
    return _turns(sizes, lambda left: batch_size)  # noqa: ARG005 - however many are left


def shuffled_batches(sizes: Sequence[int], batch_size: int, chance: random.Random) -> Iterator[Item]:
    """Yield whole batches of one task in random order (SciMult's and UniPR's code): each contrast stays in one task.

    A task gets batches by its number of examples. The original drops the examples that fill no batch; here they come
    last, one task after another.
    """
    tasks = [task for task, size in enumerate(sizes) for _ in range(size // batch_size)]
    chance.shuffle(tasks)
    live = [iter(range(size)) for size in sizes]
    for task in tasks:
        yield from ((task, next(live[task])) for _ in range(batch_size))
    for task, rest in enumerate(live):
        yield from ((task, position) for position in rest)


def _turns(sizes: Sequence[int], share: Callable[[int], int]) -> Iterator[Item]:
    """Let the tasks take turns; `share` gives the examples of a turn by the number of tasks with examples left."""
    live, at = [(task, iter(range(size))) for task, size in enumerate(sizes)], 0
    while live:
        task, positions = live[at]
        # More tasks than a batch has examples still get one each; the original would never end.
        for _ in range(max(1, share(len(live)))):
            position = next(positions, None)
            if position is None:
                # The next task takes the place and gets a whole turn, as in the original.
                live.pop(at)
                at = at if at < len(live) else 0
                break
            yield task, position
        else:
            at = (at + 1) % len(live)


SAMPLERS: Mapping[str, Sampler] = {
    "sequential": sequential,
    "mixed-random": mixed_random,
    "mixed-proportional": mixed_proportional,
    "task-per-batch": task_per_batch,
    "shuffled-batches": shuffled_batches,
}
"""All samplers by name. A new one needs a function here and its line."""
