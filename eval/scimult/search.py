"""Links (section 5.2) and search (section 5.3): papers found among all papers, or ranked among given candidates."""

from __future__ import annotations

from corpora.errors import InputError
from encoders.formats import Format, Similarity
from eval.embedder import Embedder, Vectors
from eval.measures.similarity import SIMILARITIES
from eval.outcome import Outcome, outcome_of
from eval.reranking import ranked_outcome, rerank
from eval.retrieval.exact import exact_rankings
from eval.scimult.data import CandidateSet
from eval.scimult.recall import CUTOFFS, recalls
from eval.trec.runs import Run
from search_plugin.legs import Scored

LINK_MEASURES = ("nDCG@5", "nDCG@10", "nDCG")
SEARCH_MEASURES = ("nDCG@10",)
DEPTH = 10


def evaluate_links(data: CandidateSet, embed: Embedder, *, similarity: Similarity = "dot") -> dict[str, Outcome]:
    """Rank papers for the papers that have links.

    If all papers are ranked and a query is one of them, it is ranked too, as in SciMult's script: it is closest to
    itself and takes a rank. A query without a vector counts as having found nothing; a candidate without one is never
    found.

    Args:
        data: Queries, candidates and links.
        embed: Makes PRX vectors of both.
        similarity: How two papers are compared.

    Returns:
        Recall at 20, 50 and 100 by relation, or nDCG if papers have their own judged candidates.

    Raises:
        InputError: If no query or no candidate has a vector.
        UnavailableError: If pytrec_eval is needed and isn't installed.
    """
    candidates = embed(data.candidates, Format.PRX)
    together = set(data.queries) <= set(data.candidates)
    queries = candidates if together else embed(data.queries, Format.PRX)
    if not data.linked:
        made = rerank("ses-links", data.judged, queries, candidates, SIMILARITIES[similarity])
        counts = {"queries_missing": len(made.queries_missing), "candidates_missing": made.candidates_missing}
        return {"": ranked_outcome(made.run, data.judged, LINK_MEASURES, counts)}
    rankings = {
        query: [hit.id for hit in hits]
        for query, hits in _nearest(data, queries, candidates, similarity, CUTOFFS[-1]).items()
    }
    known = {text.id for text in data.candidates}
    outcomes = {}
    for relation, linked in data.linked.items():
        counts = {
            "queries": len(linked),
            "queries_missing": sum(query not in queries.rows for query in linked),
            "candidates": len(data.candidates),
            "candidates_missing": len(data.candidates) - len(candidates.rows),
            "links_to_unknown_papers": sum(len(others - known) for others in linked.values()),
        }
        outcomes[relation] = outcome_of(recalls(rankings, linked), counts)
    return outcomes


def evaluate_searches(data: CandidateSet, embed: Embedder, *, similarity: Similarity = "dot") -> Outcome:
    """Rank papers for queries.

    A query without a vector counts as having found nothing; a paper without one is never found.

    Args:
        data: Queries, papers and judgments.
        embed: Makes QRY vectors of queries, PRX vectors of papers.
        similarity: How the two are compared.

    Returns:
        nDCG@10 over the whole corpus, or of the candidates that a query was judged with.

    Raises:
        InputError: If no query or no paper has a vector.
        UnavailableError: If pytrec_eval isn't installed.
    """
    queries, corpus = embed(data.queries, Format.QRY), embed(data.candidates, Format.PRX)
    if data.rerank:
        run = rerank("ses-search", data.judged, queries, corpus, SIMILARITIES[similarity]).run
    else:
        found = _nearest(data, queries, corpus, similarity, DEPTH)
        run = Run("ses-search", {query: [(hit.id, hit.score) for hit in hits] for query, hits in found.items()})
    counts = {
        "queries_missing": len(data.judged.gains.keys() - run.rankings.keys()),
        "queries_without_grades": data.ungraded,
        "papers": len(data.candidates),
        "papers_missing": len(data.candidates) - len(corpus.rows),
        "judged_papers_missing": sum(
            name not in corpus.rows for judged in data.judged.gains.values() for name in judged
        ),
    }
    return ranked_outcome(run, data.judged, SEARCH_MEASURES, counts)


def _nearest(
    data: CandidateSet, queries: Vectors, candidates: Vectors, similarity: Similarity, depth: int
) -> dict[str, list[Scored]]:
    asked = {text.id: queries.rows[text.id] for text in data.queries if text.id in queries.rows}
    if not asked or not candidates.rows:
        raise InputError("No query, or no candidate, has a vector: the embeddings belong to other papers.")
    return dict(exact_rankings(candidates, Vectors(asked, queries.matrix), similarity, depth, descending=True))
