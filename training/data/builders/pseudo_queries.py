"""Queries made of papers without judged data, each with its paper and papers drawn at random."""

from __future__ import annotations

from collections.abc import Iterator

from training.data.builders.base import Builder, BuilderOptions, BuilderSource, Made, drawn
from training.data.pool import read_pool
from training.data.queries import OPTIONS


def build(source: BuilderSource, options: BuilderOptions) -> Iterator[Made]:
    """Make one query of each paper that can give one; yield it with its candidates, of which the first has the score 1.

    Options: `titles`, `conclusions`, `keywords` and `citations` are the shares of the kinds of queries: a title,
    answered by the abstract; the concluding sentence, by title and the rest of the abstract; two to four keywords, of
    the first of `keyword_fields` that has two; a sentence that cites the paper, under `citation_field`. A query has
    from `shortest` to `longest` words, its answer `least` or more. `negatives` papers are drawn at random; objectives
    that contrast within the batch need one.
    """
    pool = read_pool(source, options)
    for query in pool.queries:
        without = {*query.answers, *pool.barred(query)}
        others = _others(len(pool.papers), without, int(options["negatives"]), f"{source.seed}\t{query.key}")
        if not others:
            source.left_out["there is no other paper"] += 1
            continue
        yield pool.made(query, dict.fromkeys(query.answers, 1) | dict.fromkeys(others, 0))


def _others(count: int, without: set[int], wanted: int, seed: str) -> list[int]:
    """Draw different rows that are not in a set; fewer if there are fewer."""
    found: dict[int, None] = {}
    draw = 0
    while len(found) < min(wanted, count - len(without)):
        row = int(drawn(seed, str(draw)) * count)
        draw += 1
        if row not in without:
            found[row] = None
    return list(found)


BUILDER = Builder("ir", {**OPTIONS, "negatives": 1}, build)
