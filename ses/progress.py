"""Progress on standard error: a live bar on a terminal, otherwise a plain line from time to time."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import rich_click as click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from indexer.report import Progress

_EVERY = 10.0  # seconds between plain lines


@contextmanager
def progress_on_stderr() -> Iterator[Progress]:
    """Provide a `Progress` that suits standard error."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]:,.0f} papers/s, {task.fields[rejected]} rejected, left"),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=Console(stderr=True), speed_estimate_period=60) as bars:
        yield _Live(bars)


class _Counts:
    """The state of a stage."""

    def __init__(self, name: str, total: int | None) -> None:
        self.name, self.total = name, total
        self.papers = self.rejected = 0
        self.begun = time.monotonic()

    @property
    def rate(self) -> float:
        """Papers per second since the stage began."""
        return self.papers / max(time.monotonic() - self.begun, 1e-9)


class _Lines:
    def __init__(self) -> None:
        self._counts = _Counts("", None)
        self._told = 0.0

    def stage(self, name: str, total: int | None) -> None:
        self._counts = _Counts(name, total)
        self._told = time.monotonic()
        click.echo(f"{name}: {total:,} papers" if total is not None else name, err=True)

    def advance(self, papers: int, rejected: int = 0) -> None:
        counts = self._counts
        counts.papers += papers
        counts.rejected += rejected
        if time.monotonic() - self._told < _EVERY:
            return
        self._told = time.monotonic()
        of = f" of {counts.total:,}, {(counts.total - counts.papers) / counts.rate:.0f} s left" if counts.total else ""
        done = f"{counts.name}: {counts.papers:,}{of}"
        click.echo(f"{done}, {counts.rate:.0f} papers/s, {counts.rejected:,} rejected", err=True)


class _Live:
    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._counts = _Counts("", None)
        self._task: TaskID | None = None

    def stage(self, name: str, total: int | None) -> None:
        if self._task is not None:
            self._bars.update(self._task, total=self._counts.papers, completed=self._counts.papers)
        self._counts = _Counts(name, total)
        self._task = self._bars.add_task(name, total=total, rate=0.0, rejected=0)

    def advance(self, papers: int, rejected: int = 0) -> None:
        counts = self._counts
        counts.papers += papers
        counts.rejected += rejected
        if self._task is not None:
            self._bars.update(self._task, completed=counts.papers, rate=counts.rate, rejected=counts.rejected)
