"""What a suite is made of, and how it is run."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from corpora.errors import InputError
from encoders.text_encoder import TextEncoder
from eval.embedder import Embedder
from eval.outcome import Outcome
from eval.reports.provenance import data_hash
from eval.statistics.interval import Interval

VERSION = 3
"""Raised when an entry's meaning changes, so that what was found before is not shown for it."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What an entry is run with.

    Attributes:
        data: The folder of the suite's data.
        encoder: The model.
        embed: The same, as protocols take it.
        work: A folder for indexes.
    """

    data: Path
    encoder: TextEncoder
    embed: Embedder
    work: Path


@dataclass(frozen=True, slots=True)
class Entry:
    """One protocol on one data set.

    Attributes:
        name: As the table shows it.
        measure: The one that the table shows.
        files: What it reads, from the data folder: files, or folders read whole.
        by_vectors: Runs it with the model.
        by_words: Runs it by BM25 alone, where that can be done.
        tested: Ids of the papers that it tests on, from the data folder, where its first file also serves training.
        options: What else tells its results apart from those of an entry of the same name.
    """

    name: str
    measure: str
    files: tuple[str, ...]
    by_vectors: Callable[[Bench], Outcome]
    by_words: Callable[[Bench], Outcome] | None = None
    tested: Callable[[Path], Collection[str]] | None = None
    options: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What an entry came to.

    Attributes:
        entry: Which one.
        outcome: Its result.
        seconds: How long it took, when it was run.
        cached: Whether it was run before.
    """

    entry: Entry
    outcome: Outcome
    seconds: float
    cached: bool


WORDS = "BM25"
"""The system of the entries that are run by words."""


def run_suite(entries: Sequence[Entry], bench: Bench, system: str, cache: Path) -> Iterator[Found]:
    """Run entries in turn; those that were run before on the same data by the same system are taken from the cache.

    Args:
        entries: What to run.
        bench: What to run it with.
        system: `WORDS` to run what can be run by words; otherwise the model's fingerprint and what runs it.
        cache: A folder for results.

    Yields:
        What each came to.

    Raises:
        InputError: If data is missing.
    """
    # That data is missing is found before hours go into the entries that have theirs.
    asked = [
        (entry, run, cache / f"{_key(entry, bench.data, system)}.json")
        for entry in entries
        if (run := entry.by_words if system == WORDS else entry.by_vectors)
    ]
    for entry, run, path in asked:
        known = _read(path)
        if known:
            yield Found(entry, *known, cached=True)
            continue
        begun = time.perf_counter()
        outcome = run(bench)
        seconds = time.perf_counter() - begun
        _write(path, outcome, seconds)
        yield Found(entry, outcome, seconds, cached=False)


def _key(entry: Entry, data: Path, system: str) -> str:
    for name in entry.files:
        if not (data / name).exists():
            raise InputError(f"The suite needs {data / name}, which is not there", "give its folder with <data>")
    facts = (VERSION, entry.name, [(name, data_hash(data / name)) for name in entry.files], system)
    return hashlib.sha256(f"{facts!r}{entry.options}".encode()).hexdigest()[:24]


def _read(path: Path) -> tuple[Outcome, float] | None:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        cells = {
            name: Interval(**cell) if isinstance(cell, dict) else float(cell) for name, cell in content["cells"].items()
        }
        return Outcome(cells, content["per_unit"], content["counts"]), float(content["seconds"])
    except (OSError, ValueError, LookupError, TypeError):  # not there, or of an older version: it is only a cache
        return None


def _write(path: Path, outcome: Outcome, seconds: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps({**asdict(outcome), "seconds": seconds}), encoding="utf-8")
    part.replace(path)
