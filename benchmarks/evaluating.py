"""Speed of evaluation: exact scoring, a run of a million lines, probes with cross-validation.

It is compared with pytrec_eval, on dictionaries that a plain loop reads, and with scikit-learn's own grid search. The
data are random, and all are timed in turn in one run.
Run: python -m benchmarks.evaluating [PAPERS]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pytrec_eval
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from benchmarks.common import interleaved, seconds
from eval.embedder import Vectors
from eval.measures.metrics import evaluate
from eval.probes.linear import CLASSIFIER_GRID, classify
from eval.retrieval.exact import exact_rankings
from eval.trec.judgments import read_qrels
from eval.trec.runs import read_run

QUERIES, DEPTH = 1_000, 1_000
PAPERS, WIDTH, CLASSES = 10_000, 384, 4
ROUNDS = 3


def main() -> None:
    papers = int(sys.argv[1]) if len(sys.argv) > 1 else PAPERS
    draw = np.random.default_rng(0)
    documents, queries = (_vectors(draw, count) for count in (5_183, 300))
    taken = seconds(lambda: list(exact_rankings(documents, queries, "cosine", 100)))
    print(f"exact scoring of 5,183 documents for 300 queries: {taken:.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        run, qrels = _write(draw, Path(folder))
        contenders = {"ses": lambda: _ours(run, qrels), "pytrec_eval": lambda: _peer(run, qrels)}
        found = interleaved(contenders, ROUNDS)
    ratio = found["ses"] / found["pytrec_eval"]
    print(f"a run of {QUERIES * DEPTH:,} lines: {found['ses']:.2f} s, {ratio:.2f} x pytrec_eval")
    labels = draw.integers(CLASSES, size=papers)
    rows = (draw.standard_normal((papers, WIDTH)) + 0.3 * labels[:, None] * draw.standard_normal(WIDTH)).astype(
        np.float32
    )

    def bare() -> None:
        search = GridSearchCV(LinearSVC(random_state=42), {"C": list(CLASSIFIER_GRID)}, cv=3, n_jobs=-1)
        search.fit(rows, labels).predict(rows[:1_000])

    bare()  # starts the processes that both use
    found = interleaved({"ses": lambda: classify(rows, labels, rows[:1_000]), "bare": bare}, ROUNDS)
    print(
        f"probe of {papers:,} x {WIDTH}: {found['ses']:.1f} s, {found['ses'] / found['bare']:.2f} x bare scikit-learn"
    )


def _vectors(draw: np.random.Generator, count: int) -> Vectors:
    matrix = draw.standard_normal((count, WIDTH)).astype(np.float32)
    return Vectors({str(row): row for row in range(count)}, matrix)


def _write(draw: np.random.Generator, folder: Path) -> tuple[Path, Path]:
    run, qrels = folder / "run.trec", folder / "qrels.txt"
    with run.open("w") as out, qrels.open("w") as judged:
        for query in range(QUERIES):
            scores = np.sort(draw.random(DEPTH))[::-1]
            names = draw.permutation(100_000)[:DEPTH]
            out.writelines(
                f"q{query} Q0 d{name} {rank} {score:.6f} bench\n"
                for rank, (name, score) in enumerate(zip(names, scores, strict=True), start=1)
            )
            judged.writelines(f"q{query} 0 d{name} {number % 3}\n" for number, name in enumerate(names[::20]))
    return run, qrels


def _ours(run: Path, qrels: Path) -> None:
    evaluate(read_run(run), read_qrels(qrels), ["nDCG@10", "MAP", "Recall@100"])


def _peer(run: Path, qrels: Path) -> None:
    with qrels.open() as file:
        gains = pytrec_eval.parse_qrel(file)
    with run.open() as file:
        scores = pytrec_eval.parse_run(file)
    pytrec_eval.RelevanceEvaluator(gains, {"ndcg_cut.10", "map", "recall.100"}).evaluate(scores)


if __name__ == "__main__":
    main()
