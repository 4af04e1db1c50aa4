"""Papers of the training data, and their vectors."""

from __future__ import annotations

import json
import lzma
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

import ses
from benchmarks.common import data_dir
from encoders.models.formats import Format
from eval.frozen import read_frozen, title_key
from products.tags.hierarchy import Concept, Hierarchy, make_hierarchy
from products.trained import TrainedVectors

PAPERS = 6_000


def rows_of(name: str) -> Iterator[dict[str, Any]]:
    with lzma.open(data_dir() / "train" / f"{name}.jsonl.xz", "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def drawn(rows: list[dict[str, Any]], count: int = PAPERS) -> list[dict[str, Any]]:
    random.Random(0).shuffle(rows)
    return rows[:count]


def arxiv_papers() -> tuple[list[dict[str, Any]], list[dict[str, Any]], Hierarchy]:
    """Return the frozen papers, 7,000 others, and the archives of their categories."""
    frozen = read_frozen().titles
    rows = list({row["id"]: row for row in rows_of("arxiv")}.values())
    held = [row for row in rows if title_key(row["title"]) in frozen]
    rest = drawn([row for row in rows if title_key(row["title"]) not in frozen], 7_000)
    names = {name for row in (*held, *rest) for name in row["categories"] if "." in name}
    return held, rest, make_hierarchy(Concept(name, (name.partition(".")[0],)) for name in sorted(names))


def vectors(model: str, task_format: str, rows: list[dict[str, Any]]) -> tuple[TrainedVectors, np.ndarray]:
    loaded = ses.load_model(model)
    texts = [loaded.card.text(row["title"], row["abstract"] or "") for row in rows]
    source = TrainedVectors(loaded.card.name, loaded.card.fingerprint, Format(task_format))
    return source, np.concatenate(
        [loaded.encode(texts[at : at + 512], task_format) for at in range(0, len(texts), 512)]
    )
