"""Progress on standard error: a live bar on a terminal, otherwise a plain line from time to time."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TaskID, TextColumn
from rich.progress import Progress as Bars

from corpora.outgoing import in_a_line
from corpora.progress import Progress
from ses.terminal.results import tell

if TYPE_CHECKING:
    from training.preparing import Say

FIRST = 2.0
"""The first plain line of a stage comes after this many seconds, with the first batch."""

EVERY = 10.0
"""Seconds between plain lines."""

WINDOW = 60.0
"""The rate is that of the last seconds, since other programs may begin and end meanwhile."""

MARKS = 4096
"""Most batches that are remembered for the rate."""


@contextmanager
def progress_on_stderr() -> Iterator[Progress]:
    """Provide a `Progress` that suits standard error."""
    if not sys.stderr.isatty():
        yield Lines()
        return
    with _bars() as bars:
        yield _Live(bars)


def _bars() -> Bars:
    """Return bars on standard error; the field `facts` of a task is shown after its count."""
    texts = TextColumn("{task.description}"), TextColumn("{task.fields[facts]}")
    return Bars(SpinnerColumn(), texts[0], BarColumn(), MofNCompleteColumn(), texts[1], console=Console(stderr=True))


class Counts:
    """The counts of a stage, its rate and the time that is left; threads may share it.

    The time that is left is that of what costs: papers that are encoded, weighted by their length. Papers from the
    cache count as done, but not for the rate. Nor does the loading of the model.

    Args:
        name: Name of the stage.
        total: Number of papers, if it is known.
    """

    def __init__(self, name: str, total: int | None) -> None:
        self.name, self.total = in_a_line(name), total
        self.papers, self.rejected, self.cached = 0.0, 0, 0.0
        self.begun = time.monotonic()
        # When so many papers had been worked on, and their cost.
        self._marks: deque[tuple[float, float, float]] = deque(maxlen=MARKS)
        self._worked = self._spent = 0.0
        self._looked_up = self._in_block = self._hits = 0.0
        self._lock = threading.Lock()

    def add(self, papers: float, rejected: int, *, block: float = 0.0, cost: float = 1.0) -> None:
        """Count papers; arguments as of `Progress.advance`."""
        with self._lock:
            self.papers += papers
            self.rejected += rejected
            if block:
                # A run that was stopped resumes with blocks from the cache; then all others are new.
                resumes = 0 < self.cached == self.papers - papers and papers < block
                self._hits = 0.0 if resumes else papers / block
                self.cached += papers
                self._looked_up += block * cost
                self._in_block = (block - papers) * cost
            elif papers:
                self._worked += papers
                self._spent += papers * cost
                self._in_block = max(0.0, self._in_block - papers * cost)
                self._marks.append((time.monotonic(), self._worked, self._spent))

    @property
    def whole(self) -> int:
        """Whole papers; their parts don't add up exactly."""
        return int(self.papers + 1e-6)

    @property
    def rate(self) -> float:
        """Papers per second that were worked on lately; 0 before there are two batches."""
        return self._rates()[0]

    @property
    def left(self) -> float | None:
        """Seconds that are left; None before there are two batches."""
        spending = self._rates()[1]
        if not spending or not self.total:
            return None
        with self._lock:
            ahead = (self.total - self._looked_up) * (1 - self._hits) if self._looked_up else self.total - self.papers
            return max(0.0, self._in_block + max(0.0, ahead)) / spending

    def _rates(self) -> tuple[float, float]:
        """Return papers, and their cost, per second in the later half of the last minute: a processor may warm up."""
        with self._lock:
            marks = [mark for mark in self._marks if self._marks[-1][0] - mark[0] <= WINDOW]
            marks = marks[(len(marks) - 1) // 2 :] if len(marks) > 2 else list(self._marks)[-2:]
        if len(marks) < 2:
            return 0.0, 0.0
        (begun, *before), (now, *after) = marks[0], marks[-1]
        first, second = ((late - early) / max(now - begun, 1e-9) for early, late in zip(before, after, strict=True))
        return first, second

    def __str__(self) -> str:
        """Return papers from the cache, rate, rejected records and the time that is left."""
        rate, left = self.rate, self.left
        parts = [f"{self.cached:,.0f} from the cache"] if self.cached >= 1 else []
        parts += [f"{rate:,.0f} papers/s" if rate >= 10 else f"{rate:,.1f} papers/s"] if rate else []
        parts += [f"{self.rejected:,} rejected"] if self.rejected else []
        if left is not None:
            parts.append(f"{duration(left)} left")
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
        tell(f"{name}: {total:,} papers" if total is not None else name, err=True)

    def advance(self, papers: float, rejected: int = 0, *, block: float = 0.0, cost: float = 1.0) -> None:
        """Count papers, and print a line if it is time."""
        counts = self._counts
        counts.add(papers, rejected, block=block, cost=cost)
        if not (papers or rejected) or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + EVERY
        of = f" of {counts.total:,}" if counts.total else ""
        tell(", ".join(filter(None, (f"{counts.name}: {counts.whole:,}{of}", str(counts)))), err=True)


class _Live:
    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._counts = Counts("", None)
        self._task: TaskID | None = None

    def stage(self, name: str, total: int | None) -> None:
        if self._task is not None:
            self._bars.update(self._task, total=self._counts.whole, completed=self._counts.whole)
        self._counts = Counts(name, total)
        self._task = self._bars.add_task(self._counts.name, total=total, facts="")

    def advance(self, papers: float, rejected: int = 0, *, block: float = 0.0, cost: float = 1.0) -> None:
        counts = self._counts
        counts.add(papers, rejected, block=block, cost=cost)
        if self._task is not None:
            self._bars.update(self._task, completed=counts.whole, facts=str(counts))


@contextmanager
def training_progress(name: str, *, quiet: bool) -> Iterator[Say]:
    """Provide a function for the reports of `training.train.train`, in a form that suits standard error.

    The name of the variant may be empty; if quiet, nothing is reported.
    """
    left = _seconds_left()
    if quiet:
        yield lambda _: None
    elif not sys.stderr.isatty():
        yield _step_lines(f"{name}: " if name else "", left)
    else:
        with _bars() as bars:
            bar = bars.add_task(name or "training", total=None, facts="")

            def say(entry: Mapping[str, Any]) -> None:
                if "step" not in entry:
                    bars.console.print(_prepared(entry), highlight=False, markup=False)
                    return
                now = _results(entry, left(entry))
                bars.update(bar, completed=entry["step"], total=entry["total"], facts=now)
                if "validation" in entry:
                    bars.console.print(f"step {entry['step']:,}: {now}", highlight=False, markup=False)

            yield say


@contextmanager
def table_progress(*, quiet: bool) -> Iterator[Say]:
    """Provide a function that reports how a table for queries is made, a line for each tenth of the work."""
    shown = set[tuple[str, int]]()

    def say(entry: Mapping[str, Any]) -> None:
        for name, facts in entry.items():
            done, of = facts.get("texts", facts.get("number")), facts["of"]
            if not quiet and (name, tenth := 10 * done // of) not in shown:
                shown.add((name, tenth))
                loss = f": loss {facts['loss']:.4f}" if "loss" in facts else ""
                tell(f"{name} {done:,} of {of:,}{loss}", err=True)

    yield say


def _seconds_left() -> Callable[[Mapping[str, Any]], float]:
    """Return a function that estimates the time of the remaining steps, from the steps of this process so far."""
    begun: tuple[float, int] | None = None

    def left(entry: Mapping[str, Any]) -> float:
        nonlocal begun
        now = time.monotonic()
        # The first step's own time is in its entry.
        begun = begun or (now - entry["seconds"], entry["step"] - 1)
        since, before = begun
        share: float = (entry["total"] - entry["step"]) / (entry["step"] - before)
        return share * (now - since)

    return left


def _step_lines(prefix: str, left: Callable[[Mapping[str, Any]], float]) -> Say:
    """Return a function that prints a line for each validation, and for other steps from time to time."""
    printed = -EVERY

    def say(entry: Mapping[str, Any]) -> None:
        nonlocal printed
        if "step" not in entry:
            tell(f"{prefix}{_prepared(entry)}", err=True)
            return
        seconds, now = left(entry), time.monotonic()
        if "validation" in entry or now - printed >= EVERY:
            printed = now
            tell(f"{prefix}step {entry['step']:,} of {entry['total']:,}: {_results(entry, seconds)}", err=True)

    return say


def _prepared(entry: Mapping[str, Any]) -> str:
    """Return the report on the data before the first step, or after the last one."""
    if "measured" in entry:
        return "measuring: " + ", ".join(f"{name} {count:,}" for name, count in entry["measured"].items())
    if "built" in entry:
        counts = {f"{part} records": count for part, count in entry["records"].items()} | entry["papers"]
        return f"{entry['built']}: " + ", ".join(f"{name} {count:,}" for name, count in counts.items())
    kept = entry["states"]
    size = f"{kept['bytes'] / 1e6:,.0f} MB, {kept['new']:,} texts to compute"
    return f"states of {kept['texts']:,} texts after {kept['layers']} layers: {size}"


def _results(entry: Mapping[str, Any], seconds: float) -> str:
    """Return loss and measures of a step, and the time that is left."""
    measures = "".join(f", {name} {value:.4f}" for name, value in entry.get("validation", {}).items())
    return f"loss {entry['loss']:.4f}{measures}, {duration(seconds)} left"
