"""Queries with hard negatives: papers that BM25 and the recipe's base rank high, without probable answers.

A candidate that scores about as well as the answer is probably another answer. So negatives score clearly below it,
as in NV-Retriever's positive-aware mining (de Souza P. Moreira et al. 2024, arXiv:2407.15831, section 3.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest

from corpora.errors import InputError
from corpora.lazy import np
from eval.measures.similarity import SIMILARITIES
from training.data.builders.base import Builder, BuilderOptions, BuilderSource, Made, drawn
from training.data.pool import PoolQuery, best, by_vectors, judged, judges_of, read_pool
from training.data.queries import OPTIONS


def build(source: BuilderSource, options: BuilderOptions) -> Iterator[Made]:
    """Find hard negatives for each query; yield it with its answers, scored 1, and its negatives, scored 0.

    The source holds papers, of which queries are made, or judged queries (types `ir` and `triplet`). Options: those of
    `pseudo-queries`; `by` names who ranks the papers: `bm25`, `base`, or `model:` and a model's name. From each, the
    ranks `first` to `last` among the papers that pass as wrong are candidates, and `negatives` of them are drawn, or
    the `hardest` taken. A paper passes if each judge scores it at most `most_score` times the answer, and its vector's
    cosine to the answer's is at most `most_alike` (1 asks nothing). `InputError` if an option is wrong.
    """
    if not 1 <= options["first"] <= options["last"]:
        raise InputError("The builder mined takes the ranks from first to last: first must be 1 or more, last no less.")
    pool = read_pool(source, options)
    judges = judges_of(options["by"], source, pool)
    vectors = next((judge.vectors for judge in judges if judge.vectors is not None), None)
    if options["most_alike"] < 1 and vectors is None:
        vectors = by_vectors(source.model(), pool).vectors
    for query, scores in judged(pool, judges):
        passing = _wrong(query, scores, vectors, options)
        negatives = _negatives(query, scores, passing, options, source.seed)
        if not negatives:
            source.left_out["no paper passes as wrong"] += 1
            continue
        yield pool.made(query, dict.fromkeys(query.answers, 1) | dict.fromkeys(negatives, 0))


def _wrong(
    query: PoolQuery, scores: Sequence[np.ndarray], vectors: np.ndarray | None, options: BuilderOptions
) -> np.ndarray:
    """Return which papers are probably no answers, bool (papers,)."""
    answers = list(query.answers)
    passing = np.ones(len(scores[0]), dtype=bool)
    for of_judge in scores:
        least = of_judge[answers].min()
        # Distances are negative scores: there, too, a share below 1 must give a score below the answer's.
        passing &= of_judge <= least - (1 - options["most_score"]) * abs(least)
    if options["most_alike"] < 1 and vectors is not None:
        passing &= SIMILARITIES["cosine"](vectors[answers], vectors).max(axis=0) <= options["most_alike"]
    passing[answers] = False
    return passing


def _negatives(
    query: PoolQuery, scores: Sequence[np.ndarray], passing: np.ndarray, options: BuilderOptions, seed: int
) -> list[int]:
    first, last = int(options["first"]) - 1, int(options["last"])
    ranked = [best(np.where(passing, of_judge, -np.inf), last)[first:] for of_judge in scores]
    found = [row for row in dict.fromkeys(chain.from_iterable(zip_longest(*ranked))) if row is not None]
    if not options["hardest"]:
        found.sort(key=lambda row: drawn(seed, f"{query.key}\t{row}"))
    return found[: int(options["negatives"])]


BUILDER = Builder(
    "ir",
    {
        **OPTIONS,
        "by": "bm25 base",
        "first": 1,
        "last": 50,
        "negatives": 1,
        "hardest": False,
        "most_score": 0.95,
        "most_alike": 0.7,
    },
    build,
)
