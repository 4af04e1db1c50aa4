"""Search (section 5.3): nDCG@10 over the whole corpus, or of the candidates that a query was judged with."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from corpora.errors import InputError
from encoders.formats import Format
from eval.reranking import Reranked, ranked_outcome, rerank
from eval.scimult.ranking import closeness, score_blocks, tie_order, top
from eval.trec.runs import Run

if TYPE_CHECKING:
    from encoders.formats import Similarity
    from eval.embedder import Embedder, Vectors
    from eval.outcome import Outcome
    from eval.scimult.data import Searches

MEASURES = ("nDCG@10",)
DEPTH = 10


def evaluate_searches(data: Searches, embed: Embedder, *, similarity: Similarity = "dot") -> Outcome:
    """Rank papers for queries.

    A query without a vector counts as having found nothing; a paper without one is never found.

    Args:
        data: Queries, corpus and judgments.
        embed: Makes QRY vectors of queries, PRX vectors of papers.
        similarity: How the two are compared.

    Returns:
        nDCG@10.

    Raises:
        InputError: If no query or no paper has a vector.
        UnavailableError: If pytrec_eval isn't installed.
    """
    queries, corpus = embed(data.queries, Format.QRY), embed(data.corpus, Format.PRX)
    if data.rerank:
        compare = partial(closeness, similarity=similarity)
        made = rerank("ses-search", data.qrels, queries, corpus, compare)
    else:
        made = _searched(data, queries, corpus, similarity)
    counts = {
        "queries_missing": len(made.queries_missing),
        "queries_without_grades": data.ungraded,
        "papers": len(data.corpus),
        "papers_missing": sum(text.id not in corpus.rows for text in data.corpus),
        "judged_papers_missing": made.candidates_missing,
    }
    return ranked_outcome(made.run, data.qrels, MEASURES, counts)


def _searched(data: Searches, queries: Vectors, corpus: Vectors, similarity: Similarity) -> Reranked:
    names = tie_order(corpus, [text.id for text in data.corpus])
    found = [query for query in data.qrels.gains if query in queries.rows]
    if not found:
        raise InputError("No query has a vector: the embeddings belong to other queries.")
    rankings = {}
    for start, block in score_blocks(queries.of(found), corpus.of(names), similarity):
        for query, scores in zip(found[start : start + len(block)], block, strict=True):
            rankings[query] = [(names[column], float(scores[column])) for column in top(scores, DEPTH)]
    known = set(names)
    missing = sum(name not in known for judged in data.qrels.gains.values() for name in judged)
    return Reranked(Run("ses-search", rankings), tuple(q for q in data.qrels.gains if q not in rankings), missing)
