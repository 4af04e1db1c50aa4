"""Queries with candidates that teachers scored: BM25 and models, fused as a hybrid search fuses them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corpora.errors import InputError
from corpora.lazy import np
from search_plugin.contract.legs import Scored, ranked
from search_plugin.fusion.fusions import get_fusion
from training.data.builders.base import Builder, BuilderOptions, BuilderSource, Made, drawn
from training.data.pool import PoolQuery, best, judged, judges_of, read_pool
from training.data.queries import OPTIONS


def build(source: BuilderSource, options: BuilderOptions) -> Iterator[Made]:
    """Score candidates of each query; yield it with their fused scores, its answer first.

    The source holds papers, of which queries are made, or judged queries (types `ir` and `triplet`). Options: those of
    `pseudo-queries`; `teachers` names who scores: `bm25`, `base`, or `model:` and a model's name; `weights` has a
    number for each, separated by spaces; empty for equal weights. Each teacher's scores are fused by `fusion` over the
    best `depth` papers of every teacher. A query gets `candidates`: its answer first, then the `top` best others, then
    others of those papers, drawn. `InputError` if an option is wrong.
    """
    fuse, count = get_fusion(options["fusion"]), int(options["candidates"])
    pool = read_pool(source, options)
    teachers = judges_of(options["teachers"], source, pool)
    weights = _weights(str(options["weights"]), len(teachers))
    for query, scores in judged(pool, teachers):
        answer = query.answers[0]
        rows = sorted({answer}.union(*(best(of_teacher, int(options["depth"])) for of_teacher in scores)))
        legs = {str(number): leg_of(of_teacher, rows) for number, of_teacher in enumerate(scores)}
        fused = {int(one.id): one.score for one in fuse(legs, weights)}
        chosen = _chosen(query, [row for row in fused if row not in query.answers], count - 1, options, source.seed)
        if len(chosen) < count - 1:
            source.left_out["too few candidates"] += 1
            continue
        yield pool.made(query, {row: fused[row] for row in (answer, *chosen)})


def leg_of(scores: np.ndarray, rows: Sequence[int]) -> list[Scored]:
    """Return some papers of a teacher, best first."""
    return ranked(Scored(str(row), float(scores[row])) for row in rows)


def _chosen(query: PoolQuery, others: Sequence[int], count: int, options: BuilderOptions, seed: int) -> list[int]:
    """Return the best others, and some of the rest, in the order of their scores."""
    top = int(options["top"])
    rest = sorted(others[top:], key=lambda row: drawn(seed, f"{query.key}\t{row}"))
    taken = {*others[:top], *rest[: max(0, count - top)]}
    return [row for row in others if row in taken][:count]


def _weights(given: str, teachers: int) -> dict[str, float]:
    try:
        numbers = [float(one) for one in given.split()] or [1.0] * teachers
    except ValueError:
        numbers = []
    if len(numbers) != teachers or min(numbers, default=-1) < 0 or not sum(numbers):
        raise InputError(
            f"The builder distilled has the weights {given!r}; give each of its {teachers} teachers one number, not "
            "below 0."
        )
    return {str(number): weight for number, weight in enumerate(numbers)}


BUILDER = Builder(
    "ranked",
    {**OPTIONS, "teachers": "bm25 base", "weights": "", "fusion": "minmax", "depth": 60, "candidates": 8, "top": 3},
    build,
)
