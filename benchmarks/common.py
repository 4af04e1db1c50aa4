"""What the benchmarks share."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path


def data_dir() -> Path:
    """The folder of real papers that SES_TEST_DATA names; without it there is nothing to measure on."""
    folder = os.environ.get("SES_TEST_DATA")
    if not folder:
        sys.exit("Set SES_TEST_DATA to the folder of real papers, with eval/scifact and train/pubmed.jsonl.xz in it.")
    return Path(folder)


def seconds(work: Callable[[], object]) -> float:
    """Time one call."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def interleaved(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Run all contenders in turn, some rounds long, and return each one's median seconds.

    Taking turns spreads whatever else the machine does over all of them.
    """
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, work in contenders.items():
            taken[name].append(seconds(work))
    return {name: statistics.median(values) for name, values in taken.items()}


def percentile(values: Sequence[float], share: float) -> float:
    """The value that a share of the others does not exceed."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]
