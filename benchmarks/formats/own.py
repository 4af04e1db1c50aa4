"""What training a format of one's own brings beside linear models on the base, by the number of labelled papers.

Four collections, each with its 60 commonest labels. 1,500 papers only measure. Each run takes MINUTES on the threads
that SES_THREADS and OMP_NUM_THREADS allow, without the linear models. FOLDER keeps the base's vectors and the rows of
finished runs, so a second call resumes. Needs SES_TEST_DATA and the extras train and eval.
Run: python -m benchmarks.formats.own FOLDER MINUTES [COLLECTION ...]
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.formats.__main__ import shown
from benchmarks.formats.sets import Row
from benchmarks.tags.papers import rows_of, vectors
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.registry import find_model
from products.trained import TrainedVectors
from training.own.papers import LABEL, PAPERS, TEST, FieldPapers, FieldTask
from training.own.run import fitted, together
from training.own.worth import FormatWorth, LabelledVectors, measured_worth, said_by, truth_of

BASE = "all-MiniLM-L6-v2"
SIZES = (500, 2_000, 6_000)
LABELS, TESTED = 60, 1_500
COLLECTIONS: dict[str, tuple[str, FieldTask, Callable[[Row], Any]]] = {
    "journals": ("pubmed", "label", lambda row: row["journal"]),
    "categories": ("arxiv", "labels", lambda row: row["categories"]),
    "classes": ("ohsumed", "label", lambda row: row["label"]),
    "venues": ("conf", "label", lambda row: row["venue"]),
}


def main() -> None:
    folder, minutes, chosen = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:] or list(COLLECTIONS)
    print("| labels | papers | macro F1: base, the better model | ses tags on the base | the new format | gain |")
    print("| --- | ---: | --- | --- | --- | --- |")
    for name in chosen:
        source, task, label_of = COLLECTIONS[name]
        rows, labels = labelled(source, label_of)
        rows = rows[: TESTED + SIZES[-1]]
        base = base_vectors(folder / f"{name}.npz", rows)
        for size in sorted({min(size, len(rows) - TESTED) for size in SIZES}):
            run = folder / f"{name}-{size}"
            done = run / "row.md"
            if not done.exists():
                worth = measured(run, name, task, rows[: TESTED + size], labels, base, minutes)
                done.write_text(f"| {name} | {size:,} | {cells(worth)} | {shown(worth.gain)} |", encoding="utf-8")
            print(done.read_text(encoding="utf-8"), flush=True)


def labelled(source: str, label_of: Callable[[Row], Any]) -> tuple[list[Row], list[str]]:
    """Return the papers that have a common label, in an order that is drawn, and the labels."""
    rows = [
        {"id": row["id"], "title": row["title"], "abstract": row["abstract"], LABEL: label_of(row)}
        for row in {row["title"]: row for row in rows_of(source) if row["title"] and row["abstract"]}.values()
    ]
    rows = [row for row in rows if row[LABEL]]
    counts = Counter(label for row in rows for label in _all(row[LABEL]))
    labels = sorted(label for label, _ in counts.most_common(LABELS))
    rows = [row for row in rows if set(_all(row[LABEL])) & set(labels)]
    random.Random(0).shuffle(rows)
    return rows, labels


def _all(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def base_vectors(file: Path, rows: list[Row]) -> np.ndarray:
    """Return the base's vectors of papers, computed now or before."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(file, vectors(BASE, "prx", rows)[1])
    found: np.ndarray = np.load(file)["arr_0"]
    return found


def measured(
    folder: Path,
    name: str,
    task: FieldTask,
    rows: list[Row],
    labels: list[str],
    base: np.ndarray,
    minutes: float,
) -> FormatWorth:
    """Train a format by all papers after the first ones, and compare linear models on the first ones."""
    parts = {TEST: slice(0, TESTED), PAPERS: slice(TESTED, len(rows))}
    folder.mkdir(parents=True, exist_ok=True)
    for part, of in parts.items():
        (folder / part).write_text("".join(json.dumps(row) + "\n" for row in rows[of]), encoding="utf-8")
    model = find_model(BASE)
    papers = FieldPapers(name, task, Format.CLF, len(rows) - TESTED, TESTED, 0)
    runs, read = fitted(name, papers, model, folder, 60 * minutes)
    encoder = load_encoder(together(model, Format.CLF, runs, folder / "together"), cache_dir=folder)
    source = TrainedVectors(BASE, model.card.fingerprint, Format.PRX)
    made: dict[str, list[LabelledVectors]] = {}
    for part, of in parts.items():
        most = None if part == TEST else read
        known = rows[of][:most]
        texts = [encoder.card.text(row["title"], row["abstract"]) for row in known]
        vectors_of = [base[of][:most], *encoder.encode_formats(texts, tuple(Format)[: len(runs)]).values()]
        truth = truth_of([row[LABEL] for row in known], task, labels)
        made[part] = [LabelledVectors(truth, one, one) for one in vectors_of]
    said = [said_by(*both, task, source) for both in zip(made[PAPERS], made[TEST], strict=True)]
    print(
        f"{name}: {read:,} of {len(rows) - TESTED:,} papers, {len(runs)} runs, steps {[one.chosen for one in runs]}",
        file=sys.stderr,
        flush=True,
    )
    return measured_worth(made[TEST][0].truth, said[0], said[1:], read)


def cells(worth: FormatWorth) -> str:
    """Return the scores of the better model on the base, the tagger on it, and the better model on the new format."""
    scores = {name: f"{score.mean:.3f}" for name, score in worth.scores.items()}
    tags = next(score for name, score in scores.items() if name.startswith("ses tags") and "index" in name)
    return f"{scores[worth.other]} ({worth.other}) | {tags} | {scores[worth.own]}"


if __name__ == "__main__":
    main()
