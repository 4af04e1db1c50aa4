"""One task after another."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from training.samplers.base import Item


def sample(sizes: Sequence[int], batch_size: int, chance: random.Random) -> Iterator[Item]:  # noqa: ARG001
    """Yield all examples of the first task, then of the second, and so on."""
    for task, size in enumerate(sizes):
        yield from ((task, position) for position in range(size))
