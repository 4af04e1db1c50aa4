"""Classification without training (section 5.1): labels ranked by the similarity of their descriptions to a paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from corpora.errors import InputError
from encoders.formats import Format, Similarity
from eval.embedder import Embedder, Vectors
from eval.measures.f1 import macro_f1
from eval.measures.similarity import SIMILARITIES, require_same_dimension
from eval.outcome import Outcome, outcome_of
from eval.retrieval.exact import exact_rankings
from eval.scimult.data import Classification
from eval.scimult.recall import CUTOFFS, recalls
from eval.statistics.bootstrap import bootstrap_statistic
from eval.statistics.interval import mean_interval

MATCHED = "with label matching"


def evaluate_classification(
    data: Classification, embed: Embedder, *, similarity: Similarity = "dot", embed_labels: Embedder | None = None
) -> dict[str, Outcome]:
    """Rank all labels for every paper.

    A paper without a vector finds nothing and a label without one is never found; both are counted.

    Args:
        data: Papers and labels.
        embed: Makes CLF vectors of papers and labels.
        similarity: How a paper and a label are compared.
        embed_labels: Makes the labels' vectors, if ids of papers and labels may be the same.

    Returns:
        For papers of several labels, recall at 20, 50 and 100 by the ranking alone (section 5.1.1) under an empty
        name and, if the set has matches, with labels first whose names stand in the paper. For papers of one label,
        micro and macro F1 of the label ranked first (section 5.1.2).

    Raises:
        InputError: If no paper or no label has a vector.
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
    if not papers.rows or not labels.rows:
        raise InputError("No paper, or no label, has a vector: the embeddings belong to others.")
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
