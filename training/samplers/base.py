"""What a sampler is."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

Item = tuple[int, int]
"""The number of a task, and the position of an example in the task's order."""

Sampler = Callable[[Sequence[int], int, random.Random], Iterator[Item]]
"""Yields every example once. It receives the number of examples of each task, the batch size and a random generator."""
