"""The entries of a suite, and how they are run."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from corpora.checksums import data_hash
from corpora.errors import require
from encoders.text_encoder import TextEncoder
from eval.embedder import Embedder
from eval.files.text import write_lines
from eval.outcome import Outcome
from eval.statistics.interval import Interval

VERSION = 4
"""Increased when the meaning of an entry changes, so that older cached results are not used."""


@dataclass(frozen=True, slots=True)
class Bench:
    """The tools that an entry is run with.

    Attributes:
        data: The folder of the suite's data.
        encoder: The model.
        embed: The model as protocols take it.
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
        name: Name of the entry in the table.
        measure: Measure that the table shows.
        files: Files and folders that it reads, relative to the data folder.
        by_vectors: Function that runs it with the model.
        by_words: Function that runs it by BM25 alone, if that is possible.
        tested: Ids of the papers that it tests on, from the data folder, where its first file also serves training.
        options: Other facts that tell its results apart from those of an entry of the same name.
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
    """The result of an entry, how long the run took, and whether it is from the cache."""

    entry: Entry
    outcome: Outcome
    seconds: float
    cached: bool


WORDS = "BM25"
"""Name of the system for entries that are run by words."""


def run_suite(entries: Sequence[Entry], bench: Bench, system: str, cache: Path) -> Iterator[Found]:
    """Run entries in turn, and yield the result of each; `InputError` if data is missing.

    Earlier results of the same system on the same data are taken from the folder `cache`. The system is `WORDS`, to run
    the entries that words can do, or the model's fingerprint and runtime.
    """
    # Missing data is reported before hours are spent on other entries.
    chosen = [
        (entry, run, cache / f"{_key(entry, bench.data, system)}.json")
        for entry in entries
        if (run := entry.by_words if system == WORDS else entry.by_vectors)
    ]
    for entry, run, path in chosen:
        if known := _read(path):
            yield Found(entry, *known, cached=True)
        else:
            begun = time.perf_counter()
            outcome = run(bench)
            seconds = time.perf_counter() - begun
            _write(path, outcome, seconds)
            yield Found(entry, outcome, seconds, cached=False)


def _key(entry: Entry, data: Path, system: str) -> str:
    for name in entry.files:
        require(
            (data / name).exists(), f"The suite needs {data / name}, which is not there", "give its folder with <data>"
        )
    facts = (VERSION, entry.name, [(name, data_hash(data / name)) for name in entry.files], system)
    return hashlib.sha256(f"{facts!r}{entry.options}".encode()).hexdigest()[:24]


def _read(path: Path) -> tuple[Outcome, float] | None:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        cells = {
            name: Interval(**cell) if isinstance(cell, dict) else float(cell) for name, cell in content["cells"].items()
        }
        return Outcome(cells, content["per_unit"], content["counts"], content.get("notes", {})), float(
            content["seconds"]
        )
    except (OSError, ValueError, LookupError, TypeError):  # missing, or of an older version: it is only a cache
        return None


def _write(path: Path, outcome: Outcome, seconds: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_lines(path, [json.dumps({**asdict(outcome), "seconds": seconds})])
