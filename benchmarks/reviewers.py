"""Reviewer matching at the size of a venue: scores, assignment, and peak memory, on made-up vectors.

Submissions and reviewers have topics, and vectors near them, as only the size matters here: 20 papers of each reviewer,
384 numbers, 1 % of all pairs in conflict, 3 reviewers of a submission and at most 6 submissions of a reviewer. Encoding
and reading an index are not part of it. Each size runs in a process of its own.
Run: python -m benchmarks.reviewers [SIZE ...], such as 1000 2000 5000
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.common import seconds
from corpora.paper import Paper
from products.reviewers.assignment import assign
from products.reviewers.factors import VectorsBuilder, stored
from products.reviewers.fairness import assign_fairly, sums_of
from products.reviewers.pool import ReviewerPool, make_pool
from products.reviewers.scoring import VenueScores, score_venue
from search_plugin.engines.base import Document

PAPERS, DIMENSION, TOPICS = 20, 384, 100
PER_PAPER, CAPACITY = 3, 6
BLOCK = 50
"""Reviewers whose papers are made at once."""


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        measure(int(sys.argv[2]))
        return
    print("submissions = reviewers  factors  scores  assignment  fair assignment  peak memory")
    for size in sys.argv[1:] or ["1000", "2000", "5000"]:
        subprocess.run([sys.executable, "-m", "benchmarks.reviewers", "--one", size], check=True)


def measure(size: int) -> None:
    draw = np.random.default_rng(0)
    centres = draw.normal(size=(TOPICS, DIMENSION)).astype(np.float32)
    pool = make_pool({f"r{n:05}": tuple(f"r{n:05}.{k}" for k in range(PAPERS)) for n in range(size)})
    conflicts = {row: set(draw.choice(size, size // 100, replace=False).tolist()) for row in range(size)}
    with tempfile.TemporaryDirectory() as name:
        folder, scores = Path(name), list[VenueScores]()
        builders = {factor: made(factor, size, pool, centres, draw, folder) for factor in ("semantic", "topic")}
        factors = {factor: builder.factor() for factor, builder in builders.items()}
        scoring = seconds(lambda: scores.append(score_venue(factors, pool, size, folder, conflicts=conflicts)))
        spool, room, pairs = scores[0].combined, [CAPACITY] * size, list[np.ndarray]()
        assigning = seconds(lambda: pairs.append(assign(spool, PER_PAPER, room)))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        told = "not measured"
        if size <= 1000:
            fair = seconds(lambda: pairs.append(assign_fairly(spool, PER_PAPER, room)))
            sums = [sums_of(spool, found) for found in pairs]
            told = f"{fair:.1f} s (worst {sums[0].min():.2f} to {sums[1].min():.2f})"
    print(f"{size:,}  {len(factors)}  {scoring:.1f} s  {assigning:.1f} s  {told}  {peak:,.0f} MiB", flush=True)


def made(
    factor: str, size: int, pool: ReviewerPool, centres: np.ndarray, draw: np.random.Generator, folder: Path
) -> VectorsBuilder:
    """Return a factor's vectors; each reviewer has a topic of their own and writes about another too."""

    def near(topics: np.ndarray) -> np.ndarray:
        noise = draw.normal(size=(len(topics), DIMENSION)).astype(np.float32)
        return centres[topics] + 2 * noise

    builder = VectorsBuilder(near(draw.integers(TOPICS, size=size)), stored("prx"), folder / factor)
    for start in range(0, size, BLOCK):
        papers = [paper for own in pool.papers[start : start + BLOCK] for paper in own]
        rows = near(np.repeat(draw.integers(TOPICS, size=len(papers) // (PAPERS // 2)), PAPERS // 2))
        builder.add(
            [Document(Paper(paper, "made up"), "", {"prx": row}) for paper, row in zip(papers, rows, strict=True)]
        )
    return builder


if __name__ == "__main__":
    main()
