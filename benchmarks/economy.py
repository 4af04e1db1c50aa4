"""Quality against bytes of a vector: fewer numbers, with and without a rotation, in 32, 16, 8 and 1 bit; nDCG@10.

Every vector is compared, in arrays. The rotation is that of `ses models reduce`, fitted on some papers of each corpus.
In 8 bits, a vector has its own scale; of 1 bit, the signs of a paper's numbers are multiplied with the query's floats.
FOLDER keeps the vectors of the default model. Needs SES_TEST_DATA and the extra eval.
Run: python -m benchmarks.economy FOLDER [SET ...]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.common import data_dir
from corpora.paper import Accepted
from corpora.registry import get_corpus
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.projection import rotation
from encoders.registry import DEFAULT_MODEL
from eval.measures.metrics import evaluate
from eval.retrieval.beir import BeirFolder
from eval.trec.runs import Run

SETS = ("scifact", "cranfield", "nfcorpus-preprocessed")
DIMENSIONS = (384, 256, 192, 128, 64)
SAMPLE, DEPTH = 4_000, 100


def main() -> None:
    folder, sets_of_papers = Path(sys.argv[1]), sys.argv[2:] or SETS
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[tuple[int, str], dict[str, list[dict[str, float]]]] = {}
    for name in sets_of_papers:
        beir = BeirFolder(data_dir() / "eval" / name)
        judged = beir.judged("test")
        ids, papers, queries = _vectors(beir, dict(judged.texts), folder / name)
        for dimension in DIMENSIONS:
            cut = np.eye(dimension, papers.shape[1], dtype=np.float32)
            for turned, turn in {"cut": cut, "rotated": rotation(papers[:SAMPLE], dimension)}.items():
                own, asked = (unit(part @ turn.T) for part in (papers, queries))
                for kept, store in STORED.items():
                    scores = asked @ store(own).T
                    best = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
                    rankings = {
                        query: [(ids[at], float(scores[row, at])) for at in best[row]]
                        for row, query in enumerate(judged.texts)
                    }
                    values = evaluate(Run(kept, rankings), judged.qrels, ("nDCG@10",)).per_query["nDCG@10"]
                    found.setdefault((dimension, turned), {}).setdefault(kept, []).append(dict(values))
    columns = ["numbers", "", *sets_of_papers, *(f"{kept}, bytes" for kept in STORED)]
    print("|", " | ".join(columns), "|")
    print("|", " | ".join("---" for _ in columns), "|")
    whole = found[DIMENSIONS[0], "cut"]["fp32"]
    for (dimension, turned), by_form in found.items():
        shown = [f"{np.mean(list(values.values())):.3f}" for values in by_form["fp32"]]
        for kept, values in by_form.items():
            change, error = _change(whole, values)
            shown.append(f"{change:+.3f} ({error:.3f}), {BYTES[kept](dimension):g}")
        print("|", " | ".join([str(dimension), turned, *shown]), "|", flush=True)


def _change(before: list[dict[str, float]], after: list[dict[str, float]]) -> tuple[float, float]:
    """Return the mean change of a query, over the queries of all sets, and its standard error."""
    changes = [new[query] - old[query] for old, new in zip(before, after, strict=True) for query in old]
    return float(np.mean(changes)), float(np.std(changes, ddof=1) / len(changes) ** 0.5)


def _vectors(beir: BeirFolder, texts: dict[str, str], kept: Path) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the ids of papers, and the vectors of papers and of queries, float32 (count, dimension)."""
    papers = [one.paper for one in get_corpus("beir").read(beir.path, {}) if isinstance(one, Accepted)]
    if not kept.with_suffix(".npz").exists():
        encoder = load_encoder(DEFAULT_MODEL, cache_dir=kept.parent)
        own = encoder.encode([encoder.card.text(paper.title, paper.abstract) for paper in papers])
        np.savez(kept.with_suffix(".npz"), papers=own, queries=encoder.encode(list(texts.values()), Format.QRY))
    held = np.load(kept.with_suffix(".npz"))
    return [paper.id for paper in papers], held["papers"], held["queries"]


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def _eighths(vectors: np.ndarray) -> np.ndarray:
    scales = np.abs(vectors).max(axis=1, keepdims=True) / 127
    return np.rint(vectors / scales) * scales


STORED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "fp32": lambda vectors: vectors,
    "fp16": lambda vectors: vectors.astype(np.float16).astype(np.float32),
    "int8": _eighths,
    "1bit": lambda vectors: unit(np.where(vectors < 0, -1, 1).astype(np.float32)),
}
BYTES: dict[str, Callable[[int], float]] = {
    "fp32": lambda numbers: 4 * numbers,
    "fp16": lambda numbers: 2 * numbers,
    "int8": lambda numbers: numbers + 4,
    "1bit": lambda numbers: numbers / 8,
}


if __name__ == "__main__":
    main()
