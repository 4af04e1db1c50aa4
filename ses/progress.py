"""Progress on standard error: a live bar on a terminal, otherwise a plain line from time to time."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import rich_click as click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TaskID, TextColumn
from rich.progress import Progress as Bars

from indexer.report import Progress

FIRST = 2.0
"""The first plain line of a stage comes after this many seconds, with the first batch."""

EVERY = 10.0
"""Seconds between plain lines."""

WINDOW = 60.0
"""The rate is that of the last seconds, so that vectors from the cache and the loading of a model soon don't count."""


@contextmanager
def progress_on_stderr() -> Iterator[Progress]:
    """Provide a `Progress` that suits standard error."""
    if not sys.stderr.isatty():
        yield Lines()
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[told]}"),
    )
    with Bars(*columns, console=Console(stderr=True)) as bars:
        yield _Live(bars)


class Counts:
    """The counts of a stage, and its rate; threads may share it.

    Args:
        name: Of the stage.
        total: Papers of the stage, if the number is known.
    """

    def __init__(self, name: str, total: int | None) -> None:
        self.name, self.total = name, total
        self.papers, self.rejected = 0.0, 0
        self.begun = time.monotonic()
        self._marks: deque[tuple[float, float]] = deque()
        self._lock = threading.Lock()

    def add(self, papers: float, rejected: int) -> None:
        """Count papers."""
        with self._lock:
            self.papers += papers
            self.rejected += rejected
            now = time.monotonic()
            self._marks.append((now, self.papers))
            while now - self._marks[0][0] > WINDOW and len(self._marks) > 2:
                self._marks.popleft()

    @property
    def whole(self) -> int:
        """Whole papers; their parts don't add up exactly."""
        return int(self.papers + 1e-6)

    @property
    def rate(self) -> float:
        """Papers per second in the last minute; 0 before there are two batches."""
        with self._lock:
            if len(self._marks) < 2:
                return 0.0
            (begun, before), (now, papers) = self._marks[0], self._marks[-1]
        return (papers - before) / max(now - begun, 1e-9)

    def __str__(self) -> str:
        """Return rate, rejected records and the time that is left."""
        rate = self.rate
        parts = [f"{rate:,.0f} papers/s" if rate >= 10 else f"{rate:,.1f} papers/s"] if rate else []
        parts += [f"{self.rejected:,} rejected"] if self.rejected else []
        if rate and self.total:
            parts.append(f"{duration(max(self.total - self.papers, 0.0) / rate)} left")
        return ", ".join(parts)


def duration(seconds: float) -> str:
    """Return a time for people, such as `1 h 20 min`."""
    minutes = round(seconds / 60)
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class Lines:
    """Prints a line when a stage begins, one soon after, and then one from time to time."""

    def __init__(self) -> None:
        self._counts = Counts("", None)
        self._next = 0.0

    def stage(self, name: str, total: int | None) -> None:
        """Begin a stage."""
        self._counts = Counts(name, total)
        self._next = self._counts.begun + FIRST
        click.echo(f"{name}: {total:,} papers" if total is not None else name, err=True)

    def advance(self, papers: float, rejected: int = 0) -> None:
        """Count papers, and print a line if it is time."""
        counts = self._counts
        counts.add(papers, rejected)
        if not (papers or rejected) or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + EVERY
        of = f" of {counts.total:,}" if counts.total else ""
        click.echo(", ".join(filter(None, (f"{counts.name}: {counts.whole:,}{of}", str(counts)))), err=True)


class _Live:
    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._counts = Counts("", None)
        self._task: TaskID | None = None

    def stage(self, name: str, total: int | None) -> None:
        if self._task is not None:
            self._bars.update(self._task, total=self._counts.whole, completed=self._counts.whole)
        self._counts = Counts(name, total)
        self._task = self._bars.add_task(name, total=total, told="")

    def advance(self, papers: float, rejected: int = 0) -> None:
        counts = self._counts
        counts.add(papers, rejected)
        if self._task is not None:
            self._bars.update(self._task, completed=counts.whole, told=str(counts))
