"""Draws the task of each example at random; all tasks with examples left are equally likely."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from training.samplers.base import Item


def sample(sizes: Sequence[int], batch_size: int, chance: random.Random) -> Iterator[Item]:  # noqa: ARG001
    """Yield examples of randomly drawn tasks."""
    live = [iter([(task, position) for position in range(size)]) for task, size in enumerate(sizes)]
    while live:
        drawn = chance.choice(live)
        item = next(drawn, None)
        if item is None:
            live.remove(drawn)
        else:
            yield item
