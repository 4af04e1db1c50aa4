"""The small sets of papers for reproducing the findings. Drawn once; some are for training, others held out."""

from __future__ import annotations

import json
import lzma
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.common import data_dir

TRAIN, HELD_OUT = "train", "held-out"
_MANY = 500
"""The least number of papers of an arXiv category, as in the suite offline."""

_SIZES = {"arxiv": (3_000, 1_200), "conf": (3_000, 1_200), "pubmed": (4_000, 600), "ohsumed": (0, 1_400)}
"""Numbers of papers for training, and held out."""

Row = Mapping[str, Any]


def write_papers(folder: Path) -> Path:
    """Write the drawn papers into a folder's `data`, unless they exist already; return it."""
    place = folder / "data"
    if (place / "done").is_file():
        return place
    kept: dict[str, Callable[[Row], bool]] = {
        "arxiv": _of_large_categories(),
        "conf": lambda row: bool(row["abstract"]) and str(row["year"]).isdigit(),
        "pubmed": lambda row: bool(row["abstract"] and row["mesh_major"]),
        "ohsumed": lambda row: bool(row["abstract"]),
    }
    for part in (TRAIN, HELD_OUT):
        (place / part).mkdir(parents=True, exist_ok=True)
    for name, (train, held_out) in _SIZES.items():
        rows = [row for row in _rows(name) if kept[name](row)]
        drawn = random.Random(0).sample(rows, train + held_out)
        _write(place / TRAIN / f"{name}.jsonl", drawn[:train])
        _write(place / HELD_OUT / f"{name}.jsonl", drawn[train:])
    # The guard refuses the reviews that citations are tested on.
    _write(place / TRAIN / "synergy.jsonl", list(_rows("synergy")))
    (place / "done").touch()
    return place


def read(path: Path) -> list[dict[str, Any]]:
    """Return the papers of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _of_large_categories() -> Callable[[Row], bool]:
    counts = Counter(row["categories"][0] for row in _rows("arxiv") if row["categories"])
    return lambda row: bool(row["abstract"] and row["categories"]) and counts[row["categories"][0]] >= _MANY


def _rows(name: str) -> Iterator[dict[str, Any]]:
    with lzma.open(data_dir() / "train" / f"{name}.jsonl.xz", "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
