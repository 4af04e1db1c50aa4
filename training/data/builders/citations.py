"""Triplets from a citation graph: a paper, one that it cites, and one that it does not (SPECTER, section 2.3)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random

from training.data.builders.base import Builder, BuilderOptions, BuilderSource, Made
from training.data.builders.graph import Graph, others, read_graph


def build(source: BuilderSource, options: BuilderOptions) -> Iterator[Made]:
    """Make triplets of every paper that cites others, as SPECTER's program makes them.

    Positives are cited papers. A hard negative is cited by a cited paper and not by the paper itself; an easy one is
    any paper that is neither. It differs from the program (its triplet_sampling_parallel.py) in two ways: no triplet
    comes twice, and papers without a hard negative get easy ones, where the program leaves them out.

    The file `graph` may give the citations (`read_graph`). Options: `references` is the field with what a paper cites,
    `per_query` the triplets of a paper, `hard` the share of them with a hard negative, rounded up. `InputError` if no
    paper cites another.
    """
    graph = read_graph(source, options["references"])
    source.left_out["cites none of the papers"] += len(graph.ids) - len(graph.cited)
    for query in graph.cited:
        draw = Random(f"{source.seed} {graph.ids[query]}")  # noqa: S311 - not for secrets
        triplets = list(_drawn(graph, query, draw, int(options["per_query"]), options["hard"]))
        yield from (graph.triplet(query, positive, negative) for positive, negative in triplets)


def _drawn(graph: Graph, query: int, draw: Random, count: int, hard: float) -> Iterator[tuple[int, int]]:
    cited, near = graph.cited[query], graph.cited_by_cited.get(query, ())
    pairs = len(cited) * len(near)
    chosen = draw.sample(range(pairs), min(math.ceil(hard * count), pairs))
    for pair in chosen:
        yield cited[pair // len(near)], near[pair % len(near)]
    for negative in others(draw, count - len(chosen), len(graph.ids), {query, *cited, *near}):
        yield draw.choice(cited), negative


BUILDER = Builder("triplet", {"references": "references_in_set", "per_query": 5, "hard": 0.5}, build, files=("graph",))
