"""Progress of training on standard error: a live bar on a terminal, otherwise a plain line from time to time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from ses.terminal.results import tell

if TYPE_CHECKING:
    from training.preparing import Say

_EVERY = 10.0  # seconds between plain lines


@contextmanager
def training_progress(name: str, *, quiet: bool) -> Iterator[Say]:
    """Provide a function that reports each step in a form that suits standard error.

    Args:
        name: Name of the variant, or empty.
        quiet: Whether to report nothing.

    Yields:
        A function for the reports of `training.train.train`.
    """
    left = _seconds_left()
    if quiet:
        yield lambda _: None
    elif not sys.stderr.isatty():
        yield _lines(f"{name}: " if name else "", left)
    else:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[now]}"),
        )
        with Progress(*columns, console=Console(stderr=True)) as bars:
            bar = bars.add_task(name or "training", total=None, now="")

            def say(entry: Mapping[str, Any]) -> None:
                if "step" not in entry:
                    bars.console.print(_prepared(entry), highlight=False, markup=False)
                    return
                now = _results(entry, left(entry))
                bars.update(bar, completed=entry["step"], total=entry["total"], now=now)
                if "validation" in entry:
                    bars.console.print(f"step {entry['step']:,}: {now}", highlight=False, markup=False)

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


def _lines(prefix: str, left: Callable[[Mapping[str, Any]], float]) -> Say:
    """Return a function that prints a line for each validation, and for other steps from time to time."""
    printed = -_EVERY

    def say(entry: Mapping[str, Any]) -> None:
        nonlocal printed
        if "step" not in entry:
            tell(f"{prefix}{_prepared(entry)}", err=True)
            return
        seconds, now = left(entry), time.monotonic()
        if "validation" in entry or now - printed >= _EVERY:
            printed = now
            tell(f"{prefix}step {entry['step']:,} of {entry['total']:,}: {_results(entry, seconds)}", err=True)

    return say


def _prepared(entry: Mapping[str, Any]) -> str:
    """Return the report on the data before the first step."""
    if "built" in entry:
        counts = {f"{part} records": count for part, count in entry["records"].items()} | entry["papers"]
        return f"{entry['built']}: " + ", ".join(f"{name} {count:,}" for name, count in counts.items())
    kept = entry["states"]
    size = f"{kept['bytes'] / 1e6:,.0f} MB, {kept['new']:,} texts to compute"
    return f"states of {kept['texts']:,} texts after {kept['layers']} layers: {size}"


def _results(entry: Mapping[str, Any], seconds: float) -> str:
    """Return loss and measures of a step, and the time that is left."""
    measures = "".join(f", {name} {value:.4f}" for name, value in entry.get("validation", {}).items())
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    left = f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
    return f"loss {entry['loss']:.4f}{measures}, {left} left"
