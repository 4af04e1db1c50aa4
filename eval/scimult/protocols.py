"""SciMult's protocols: classification without training (section 5.1), links (5.2) and search (5.3).

Labels are ranked by the similarity of their descriptions to a paper; papers among all papers or given candidates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from corpora.errors import require
from encoders.models.formats import Format, Similarity
from eval.embedder import Embedder, Vectors
from eval.measures.classes import macro_f1
from eval.measures.similarity import SIMILARITIES, require_same_dimension
from eval.outcome import Outcome, outcome_of
from eval.reranking import ranked_outcome, rerank
from eval.retrieval.exact import exact_rankings
from eval.scimult.data import CandidateSet, Classification
from eval.statistics.interval import Values, bootstrap_statistic, mean_interval
from eval.trec.runs import Run
from search_plugin.contract.legs import Scored

MATCHED = "with label matching"
CUTOFFS = (20, 50, 100)
"""Of recall."""

LINK_MEASURES = ("nDCG@5", "nDCG@10", "nDCG")
SEARCH_MEASURES = ("nDCG@10",)
DEPTH = 10


def evaluate_classification(
    data: Classification, embed: Embedder, *, similarity: Similarity = "dot", embed_labels: Embedder | None = None
) -> dict[str, Outcome]:
    """Rank all labels for every paper.

    A paper without a vector finds nothing and a label without one is never found; both are counted. `embed` makes CLF
    vectors of papers and labels, or of papers alone if `embed_labels` is given, since ids of papers and labels may be
    the same.

    For papers of several labels, returns recall at 20, 50 and 100 by the ranking alone (section 5.1.1) under an empty
    name and, if the set has matches, with labels first whose names stand in the paper. For papers of one label, returns
    micro and macro F1 of the label ranked first (section 5.1.2). Raises `InputError` if no paper or no label has a
    vector.
    """
    papers = embed(data.papers, Format.CLF)
    labels = (embed_labels or embed)(data.labels, Format.CLF)
    known = {label.id for label in data.labels}
    counts = {
        "papers": len(data.papers),
        "papers_missing": len(data.papers) - len(papers.rows),
        "labels": len(known),
        "labels_missing": len(known) - len(labels.rows),
        "gold_labels_unknown": sum(len(gold - known) for gold in data.gold.values()),
    }
    require(papers.rows and labels.rows, "No paper, or no label, has a vector: the embeddings belong to others.")
    require_same_dimension(papers.matrix, labels.matrix, ("papers", "labels"))
    rankings = {
        paper: [hit.id for hit in hits]
        for paper, hits in exact_rankings(
            labels, papers, similarity, 1 if data.single else CUTOFFS[-1], descending=True
        )
    }
    if data.single:
        return {"": _f1(data, rankings, counts)}
    ways = {"": rankings}
    if data.matched is not None:
        ways[MATCHED] = {
            paper: _put_first(data.matched[paper], ranking, paper, papers, labels, similarity)
            for paper, ranking in rankings.items()
        }
    return {way: outcome_of(recalls(ranked, data.gold), counts) for way, ranked in ways.items()}


def evaluate_links(data: CandidateSet, embed: Embedder, *, similarity: Similarity = "dot") -> dict[str, Outcome]:
    """Rank papers for the papers that have links.

    If all papers are ranked and a query is one of them, it is ranked too, as in SciMult's script: it is closest to
    itself and takes a rank. A query without a vector counts as having found nothing; a candidate without one is never
    found. `embed` makes PRX vectors of both.

    Returns recall at 20, 50 and 100 by relation, or nDCG if papers have their own judged candidates. Raises
    `InputError` if no query or no candidate has a vector, and `UnavailableError` if the library for nDCG is needed and
    isn't installed.
    """
    candidates = embed(data.candidates, Format.PRX)
    together = set(data.queries) <= set(data.candidates)
    queries = candidates if together else embed(data.queries, Format.PRX)
    if not data.linked:
        made = rerank("ses-links", data.judged, queries, candidates, SIMILARITIES[similarity])
        return {"": ranked_outcome(made.run, data.judged, LINK_MEASURES, made.counts)}
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
    """Rank papers, by PRX vectors, for queries, by QRY vectors, and measure nDCG@10.

    Where a query has candidates that it was judged with, it is nDCG of these. A query without a vector counts as having
    found nothing; a paper without one is never found. Raises `InputError` if no query or no paper has a vector, and
    `UnavailableError` if pytrec_eval isn't installed.
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


def recalls(rankings: Mapping[str, Sequence[str]], relevant: Mapping[str, frozenset[str]]) -> Values:
    """Return by cut-off and query the share of relevant items among the first ranks; 0 without a ranking."""
    return {
        f"R@{cutoff}": {
            query: len(wanted.intersection(rankings.get(query, ())[:cutoff])) / len(wanted)
            for query, wanted in relevant.items()
        }
        for cutoff in CUTOFFS
    }


def _put_first(
    mentioned: frozenset[str],
    ranking: Sequence[str],
    paper: str,
    papers: Vectors,
    labels: Vectors,
    similarity: Similarity,
) -> list[str]:
    """Return the first labels, with mentioned labels before all others, each part in the order of its scores."""
    ahead = sorted(labels.rows.keys() & mentioned, reverse=True)
    scores = SIMILARITIES[similarity](papers.of([paper]), labels.of(ahead))[0]
    first = [ahead[at] for at in np.argsort(-scores, kind="stable")]
    # The ranking is long enough: for each unmentioned label that it lacks, it has a mentioned one.
    return [*first, *(label for label in ranking if label not in mentioned)][: CUTOFFS[-1]]


def _f1(data: Classification, rankings: Mapping[str, Sequence[str]], counts: Mapping[str, int]) -> Outcome:
    number = {label.id: row for row, label in enumerate(data.labels)}
    truth = {paper: number[label] for paper, (label,) in data.gold.items()}
    given = [number[rankings[paper][0]] if paper in rankings else -1 for paper in truth]
    right = {paper: float(found == label) for (paper, label), found in zip(truth.items(), given, strict=True)}
    arrays = np.array(list(truth.values())), np.array(given)
    # If each paper has one label and gets one, micro F1 is the share of correct papers.
    cells = {"F1 micro": mean_interval(list(right.values())), "F1 macro": bootstrap_statistic(macro_f1, *arrays)}
    return Outcome(cells, {"F1 micro": right}, counts)


def _nearest(
    data: CandidateSet, queries: Vectors, candidates: Vectors, similarity: Similarity, depth: int
) -> dict[str, list[Scored]]:
    asked = {text.id: queries.rows[text.id] for text in data.queries if text.id in queries.rows}
    require(
        asked and candidates.rows, "No query, or no candidate, has a vector: the embeddings belong to other papers."
    )
    return dict(exact_rankings(candidates, Vectors(asked, queries.matrix), similarity, depth, descending=True))
