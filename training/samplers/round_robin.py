"""Tasks take turns. A turn is a whole batch, or an equal share of a batch for every task left."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from training.samplers.base import Item


def mixed_proportional(sizes: Sequence[int], batch_size: int, chance: random.Random) -> Iterator[Item]:  # noqa: ARG001
    """Yield an equal share of a batch from each task in turn: what SciRepEval's models were trained with."""
    return _turns(sizes, lambda left: round(batch_size / left))


def task_per_batch(sizes: Sequence[int], batch_size: int, chance: random.Random) -> Iterator[Item]:  # noqa: ARG001
    """Yield whole batches of one task in turn."""
    return _turns(sizes, lambda left: batch_size)  # noqa: ARG005 - however many are left


def _turns(sizes: Sequence[int], share: Callable[[int], int]) -> Iterator[Item]:
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
