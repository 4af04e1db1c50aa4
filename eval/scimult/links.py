"""Link prediction (section 5.2): the papers linked to a paper found among all, or put before others they came with."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from corpora.errors import InputError
from encoders.formats import Format
from eval.outcome import Outcome
from eval.reranking import ranked_outcome, rerank
from eval.scimult.ranking import closeness, interval_over, recall, score_blocks, tie_order, top

if TYPE_CHECKING:
    from encoders.formats import Similarity
    from eval.embedder import Embedder, Vectors
    from eval.scimult.data import Links

CUTOFFS = (20, 50, 100)
MEASURES = ("nDCG@5", "nDCG@10", "nDCG")


def evaluate_links(data: Links, embed: Embedder, *, similarity: Similarity = "dot") -> dict[str, Outcome]:
    """Rank papers for the papers that have links.

    Where all papers are ranked, a query that is one of them stays among them, as in SciMult's script: it is close to
    itself and takes a place. A query without a vector counts as having found nothing; a candidate without one is never
    found.

    Args:
        data: Queries, candidates and links.
        embed: Makes PRX vectors of both.
        similarity: How two papers are compared.

    Returns:
        Recall at 20, 50 and 100 by relation, or nDCG where papers were judged with candidates of their own.

    Raises:
        InputError: If no query or no candidate has a vector.
        UnavailableError: If pytrec_eval is needed and isn't installed.
    """
    candidates = embed(data.candidates, Format.PRX)
    together = set(data.queries) <= set(data.candidates)
    queries = candidates if together else embed(data.queries, Format.PRX)
    if data.linked:
        return _retrieved(data, queries, candidates, similarity)
    made = rerank("ses-links", data.judged, queries, candidates, partial(closeness, similarity=similarity))
    counts = {"queries_missing": len(made.queries_missing), "candidates_missing": made.candidates_missing}
    return {"": ranked_outcome(made.run, data.judged, MEASURES, counts)}


def _retrieved(data: Links, queries: Vectors, candidates: Vectors, similarity: Similarity) -> dict[str, Outcome]:
    names = tie_order(candidates, [text.id for text in data.candidates])
    found = [text.id for text in data.queries if text.id in queries.rows]
    if not found:
        raise InputError("No query has a vector: the embeddings belong to other papers.")
    rankings: dict[str, list[str]] = {}
    for start, block in score_blocks(queries.of(found), candidates.of(names), similarity):
        for query, scores in zip(found[start : start + len(block)], block, strict=True):
            rankings[query] = [names[column] for column in top(scores, CUTOFFS[-1])]
    known = {text.id for text in data.candidates}
    outcomes = {}
    for relation, linked in data.linked.items():
        per_query = {
            f"R@{cutoff}": {query: recall(rankings.get(query, ()), others, cutoff) for query, others in linked.items()}
            for cutoff in CUTOFFS
        }
        counts = {
            "queries": len(linked),
            "queries_missing": sum(query not in queries.rows for query in linked),
            "candidates": len(data.candidates),
            "candidates_missing": len(data.candidates) - len(names),
            "links_to_unknown_papers": sum(len(others - known) for others in linked.values()),
        }
        cells = {measure: interval_over(tuple(values.values())) for measure, values in per_query.items()}
        outcomes[relation] = Outcome(cells, per_query, counts)
    return outcomes
