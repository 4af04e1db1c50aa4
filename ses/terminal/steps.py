"""Progress of training on standard error: a live bar on a terminal, otherwise a plain line from time to time."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from ses.terminal.results import tell

if TYPE_CHECKING:
    from training.preparing import Say

_EVERY = 10.0  # seconds between plain lines


@contextmanager
def telling(name: str, *, quiet: bool) -> Iterator[Say]:
    """Provide a function that reports each step in a form that suits standard error.

    Args:
        name: Of the variant, or empty.
        quiet: Report nothing.

    Yields:
        A function for the reports of `training.train.train`.
    """
    if quiet:
        yield lambda _: None
        return
    left = _Left()
    if not sys.stderr.isatty():
        yield _Lines(name, left)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[told]}"))
    with Progress(*columns, console=Console(stderr=True)) as bars:
        bar = bars.add_task(name or "training", total=None, told="")

        def say(entry: Mapping[str, Any]) -> None:
            if "step" not in entry:
                bars.console.print(_prepared(entry), highlight=False, markup=False)
                return
            seconds = left(entry)
            bars.update(bar, completed=entry["step"], total=entry["total"], told=_told(entry, seconds))
            if "validation" in entry:
                bars.console.print(f"step {entry['step']:,}: {_told(entry, seconds)}", highlight=False, markup=False)

        yield say


class _Left:
    """Estimate how many seconds the remaining steps will take, from the steps of this process so far."""

    def __init__(self) -> None:
        self._begun: tuple[float, int] | None = None

    def __call__(self, entry: Mapping[str, Any]) -> float:
        now = time.monotonic()
        # The first step's own time is in its entry.
        self._begun = self._begun or (now - entry["seconds"], entry["step"] - 1)
        begun, before = self._begun
        share: float = (entry["total"] - entry["step"]) / (entry["step"] - before)
        return share * (now - begun)


class _Lines:
    def __init__(self, name: str, left: _Left) -> None:
        self._name, self._left = f"{name}: " if name else "", left
        self._told = -_EVERY

    def __call__(self, entry: Mapping[str, Any]) -> None:
        if "step" not in entry:
            tell(f"{self._name}{_prepared(entry)}", err=True)
            return
        seconds, now = self._left(entry), time.monotonic()
        if "validation" not in entry and now - self._told < _EVERY:
            return
        self._told = now
        tell(f"{self._name}step {entry['step']:,} of {entry['total']:,}: {_told(entry, seconds)}", err=True)


def _prepared(entry: Mapping[str, Any]) -> str:
    """Return the report on the data before the first step."""
    if "built" in entry:
        counts = {f"{part} records": count for part, count in entry["records"].items()} | entry["papers"]
        return f"{entry['built']}: " + ", ".join(f"{name} {count:,}" for name, count in counts.items())
    kept = entry["states"]
    size = f"{kept['bytes'] / 1e6:,.0f} MB, {kept['new']:,} texts to compute"
    return f"states of {kept['texts']:,} texts after {kept['layers']} layers: {size}"


def _told(entry: Mapping[str, Any], seconds: float) -> str:
    measures = "".join(f", {name} {value:.4f}" for name, value in entry.get("validation", {}).items())
    return f"loss {entry['loss']:.4f}{measures}, {shown(seconds)} left"


def shown(seconds: float) -> str:
    """Return a duration as text."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
