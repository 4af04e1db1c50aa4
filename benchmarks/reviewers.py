"""Reviewer matching: time and memory at the size of a venue, and the weights of factors.

Submissions and reviewers have topics, and vectors near them, as only the size matters here: 20 papers of each reviewer,
384 numbers, 1 % of all pairs in conflict, 3 reviewers of a submission and at most 6 submissions of a reviewer. Encoding
and reading an index are not part of it. Each size runs in a process of its own.

`weights` chooses the weight of each factor beside `semantic` on the gold standard (SES_TEST_DATA), leaving out one
reviewer after the other: the loss of each reviewer is by the weight that is best for all others. `topic` is measured
for a MODEL with CLF vectors of its own, which the default model has not.

Run: python -m benchmarks.reviewers [SIZE ...], such as 1000 2000 5000, or python -m benchmarks.reviewers weights
[MODEL]
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.common import data_dir, seconds
from corpora.paper import Paper
from encoders.models.formats import Format
from encoders.registry import DEFAULT_MODEL
from eval.reviewers.gold_standard import GoldStandard, pair_sums, read_gold_standard
from eval.statistics.interval import bootstrap_statistic
from products.reviewers.assignment import assign, assign_fairly, sums_of
from products.reviewers.factors import FactorBuilder, VectorsBuilder, WordsBuilder, stored
from products.reviewers.pool import ReviewerPool, make_pool
from products.reviewers.scoring import VenueScores, score_venue
from search_plugin.contract.engine import Document

PAPERS, DIMENSION, TOPICS = 20, 384, 100
PER_PAPER, CAPACITY = 3, 6
BLOCK = 50
"""Reviewers whose papers are made at once."""

GRID = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0)
"""Weights to choose from."""


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        measure(int(sys.argv[2]))
        return
    if sys.argv[1:2] == ["weights"]:
        choose_weights(*sys.argv[2:])
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
        fair_result = "not measured"
        if size <= 1000:
            fair = seconds(lambda: pairs.append(assign_fairly(spool, PER_PAPER, room)))
            sums = [sums_of(spool, found) for found in pairs]
            fair_result = f"{fair:.1f} s (worst {sums[0].min():.2f} to {sums[1].min():.2f})"
    print(f"{size:,}  {len(factors)}  {scoring:.1f} s  {assigning:.1f} s  {fair_result}  {peak:,.0f} MiB", flush=True)


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


def choose_weights(model: str = DEFAULT_MODEL) -> None:
    data = read_gold_standard(data_dir() / "eval" / "goldstandard-reviewers.tar.xz")
    rows = vectors_of(data, model)
    draws = [standard_scores(data, rows, profiles) for profiles in data.draws]
    alone = losses(data, draws, {"semantic": 1.0})
    whole = alone[:, 1]
    print(f"semantic alone: loss {alone[:, 0].sum() / whole.sum():.4f}")
    others = ("topic", "words") if "clf" in rows else ("words",)
    for beside in dict.fromkeys([*((one,) for one in others), others]):
        tried = np.array(
            [losses(data, draws, {"semantic": 1.0, **dict.fromkeys(beside, weight)})[:, 0] for weight in GRID]
        )
        best = (tried.sum(axis=1, keepdims=True) - tried).argmin(axis=0)
        held_out = tried[best, np.arange(tried.shape[1])]
        paired = bootstrap_statistic(
            lambda ours, theirs, possible: float((ours - theirs).sum() / possible.sum()), held_out, alone[:, 0], whole
        )
        chosen = ", ".join(f"{GRID[place]:g} for {count}" for place, count in Counter(best.tolist()).most_common())
        by_weight = ", ".join(
            f"{loss:.4f} at {weight:g}" for loss, weight in zip(tried.sum(axis=1) / whole.sum(), GRID, strict=True)
        )
        print(f"semantic + {' + '.join(beside)}: {by_weight}")
        print(
            f"  each reviewer left out: loss {held_out.sum() / whole.sum():.4f}, less that of semantic alone "
            f"{paired.mean:+.4f} [{paired.low:+.4f}, {paired.high:+.4f}]; weight {chosen} of {len(best)} reviewers",
            flush=True,
        )


def losses(
    data: GoldStandard, draws: Sequence[Mapping[str, Mapping[str, np.ndarray]]], weights: Mapping[str, float]
) -> np.ndarray:
    """Return loss and largest possible loss by reviewer, means over draws, float64 (reviewers, 2)."""
    papers = submissions_of(data)
    predictions = []
    for by_reviewer in draws:
        joined = {name: sum(weights[one] * scores[one] for one in weights) for name, scores in by_reviewer.items()}
        predictions.append({name: dict(zip(papers, row.tolist(), strict=True)) for name, row in joined.items()})
    return pair_sums(predictions, data.expertise)[:, :2]


def submissions_of(data: GoldStandard) -> list[str]:
    return sorted({paper for reported in data.expertise.values() for paper in reported})


def vectors_of(data: GoldStandard, name: str) -> dict[str, dict[str, np.ndarray]]:
    """Return the vectors of all papers, by format and id: those for PRX, and for CLF if they are others."""
    import ses

    model = ses.load_model(name)
    names = sorted(data.papers)
    texts = [model.card.text(data.papers[name].title, data.papers[name].abstract) for name in names]
    formats = [one.value for one in model.card.distinct([Format.PRX, Format.CLF])]
    return {task: dict(zip(names, model.encode(texts, task), strict=True)) for task in formats}


def standard_scores(
    data: GoldStandard, rows: Mapping[str, Mapping[str, np.ndarray]], profiles: Mapping[str, tuple[str, ...]]
) -> dict[str, dict[str, np.ndarray]]:
    """Return the scores of each reviewer for all submissions, in standard deviations over all pairs, by factor."""
    papers = {name: Paper(name, text.title, text.abstract or "") for name, text in data.papers.items()}
    submissions, pool = submissions_of(data), make_pool(profiles)
    own = [paper for of_reviewer in pool.papers for paper in of_reviewer]
    documents = [Document(papers[name], "", {task: of[name] for task, of in rows.items()}) for name in own]
    with tempfile.TemporaryDirectory() as folder:
        builders: dict[str, FactorBuilder] = {
            factor: VectorsBuilder(
                np.stack([rows[task][name] for name in submissions]), stored(task), Path(folder) / factor
            )
            for factor, task in zip(("semantic", "topic"), rows, strict=False)
        }
        builders["words"] = WordsBuilder([papers[name] for name in submissions])
        for builder in builders.values():
            builder.add(documents)
        factors = {factor: builder.factor() for factor, builder in builders.items()}
        scores = score_venue(factors, pool, len(submissions), Path(folder)).factors
        read = {factor: spool.read(0, len(submissions)) for factor, spool in scores.items()}
    standard = {factor: (of - of.mean()) / of.std() for factor, of in read.items()}
    return {name: {factor: of[:, at] for factor, of in standard.items()} for at, name in enumerate(pool.reviewers)}


if __name__ == "__main__":
    main()
