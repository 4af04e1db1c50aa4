"""How Elasticsearch with the basic licence joins legs in one request: it adds up scores.

The retrievers that scale scores are of the Enterprise licence, and BM25 has no upper bound: added up as they are, words
decide nearly alone. So each leg's score is brought between 0 and 1 by a script before it is weighted: BM25's by
`score / (score + 10)`, a saturation as of Craswell et al., "Relevance weighting for query independent evidence" (2005,
the form satu), and the vectors' by their similarity, which is 0 where it is negative. docs/front-ends.md
has measurements of how far this is from the fusions of ses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from encoders.models.formats import Similarity
from search_plugin.contract.plan import Plan
from search_plugin.contract.schema import IndexSchema
from search_plugin.engines.cluster.dialect import QueryBody

PIVOT = 10.0
"""The BM25 score that counts a half. On SciFact, 10 to 40 are equally good."""

_SATURATED = "params.weight * _score / (_score + params.pivot)"

# A score of Lucene is (1 + cosine) / 2, or 1 + dot for a positive dot product. That of a distance is in 0..1 already.
_SIMILARITIES: dict[Similarity, str] = {
    "cosine": "params.weight * Math.max(0, 2 * _score - 1)",
    "dot": "params.weight * Math.min(1, Math.max(0, _score - 1))",
    "l2": "params.weight * _score",
}


def summed_scores(schema: IndexSchema, plan: Plan, legs: Sequence[QueryBody], shares: Sequence[float]) -> QueryBody:
    """Return the query that adds up the scores of a plan's legs, each between 0 and the leg's share of 1.

    It finds all papers that any leg finds.
    """
    scripts: list[tuple[str, dict[str, Any]]] = [(_SATURATED, {"pivot": PIVOT})] if plan.words else []
    scripts += [(_SIMILARITIES[schema.leg(clause.field).similarity], {}) for clause in plan.vectors]
    parts = [
        {"script_score": {"query": leg, "script": {"source": source, "params": {"weight": share, **parameters}}}}
        for leg, share, (source, parameters) in zip(legs, shares, scripts, strict=True)
    ]
    return {"bool": {"should": parts}}
