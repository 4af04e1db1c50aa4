"""What a sampler is."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

Item = tuple[int, int]
"""A task's number, and the position of an example in its order."""

Sampler = Callable[[Sequence[int], int, random.Random], Iterator[Item]]
"""From the number of examples of each task, the examples a batch and a source of chance, to every example once."""
