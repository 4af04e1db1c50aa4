"""Finds the fastest session for the same work, on a machine with other load."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from encoders.runtimes.base import Session

TokenBatch = tuple["np.ndarray", "np.ndarray"]
"""Token ids and mask of a batch."""

_BEHIND = 2.0


def race(sessions: Mapping[str, Session], work: TokenBatch, rounds: int) -> dict[str, float]:
    """Time sessions on the same work.

    They take turns, so that other load is spread over all of them. A session that is twice as slow as the best after a
    round leaves, as most of the time would go to the slowest.

    Args:
        sessions: By name; all have run this batch before, as some compile for its shape then.
        work: What each of them runs.
        rounds: At most so many.

    Returns:
        The median seconds of each, the fastest first, and last those who left.
    """
    taken: dict[str, list[float]] = {name: [] for name in sessions}
    medians: dict[str, float] = {}
    running = list(sessions)
    for _ in range(rounds):
        for name in running:
            taken[name].append(_seconds(sessions[name], work))
        medians = {name: statistics.median(values) for name, values in taken.items()}
        running.sort(key=medians.__getitem__)
        running = [name for name in running if medians[name] < _BEHIND * medians[running[0]]]
    # Their only measurement may be from a quieter moment than all later ones.
    left = sorted(set(sessions) - set(running), key=medians.__getitem__)
    return {name: medians[name] for name in (*running, *left)}


def _seconds(session: Session, work: TokenBatch) -> float:
    ids, mask = work
    session(ids[:1, :2], mask[:1, :2])  # threads of the one before may still spin
    begun = time.perf_counter()
    session(ids, mask)
    return time.perf_counter() - begun
