"""Classification without training (section 5.1): labels ranked by how close their descriptions are to a paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from corpora.errors import InputError
from encoders.formats import Format
from eval.measures.f1 import macro_f1
from eval.outcome import Outcome
from eval.scimult.ranking import interval_over, recall, score_blocks, tie_order, top
from eval.statistics.bootstrap import bootstrap_statistic

if TYPE_CHECKING:
    import numpy as np

    from encoders.formats import Similarity
    from eval.embedder import Embedder, Vectors
    from eval.scimult.data import Classification

CUTOFFS = (20, 50, 100)
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
        embed_labels: Makes the labels' vectors instead, where ids of papers and labels may be the same.

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
        "papers_missing": sum(text.id not in papers.rows for text in data.papers),
        "labels": len(known),
        "labels_missing": sum(label not in labels.rows for label in known),
        "gold_labels_unknown": sum(len(gold - known) for gold in data.gold.values()),
    }
    if counts["papers"] == counts["papers_missing"]:
        raise InputError("No paper has a vector: the embeddings belong to other papers.")
    rankings = _rankings(data, papers, labels, similarity)
    return {"": _f1(data, rankings, counts)} if data.single else _recalls(data, rankings, counts)


def _rankings(
    data: Classification, papers: Vectors, labels: Vectors, similarity: Similarity
) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Yield each paper that has a vector, and its first labels: by the ranking alone, and with matched ones first."""
    names = tie_order(labels, [label.id for label in data.labels])
    position = {name: column for column, name in enumerate(names)}
    found = [text.id for text in data.papers if text.id in papers.rows]
    for start, block in score_blocks(papers.of(found), labels.of(names), similarity):
        for paper, scores in zip(found[start : start + len(block)], block, strict=True):
            first = top(scores, CUTOFFS[-1]).tolist()
            ranked = {"": [names[column] for column in first]}
            if data.matched is not None:
                mentioned = sorted(position[name] for name in data.matched[paper] if name in position)
                ranked[MATCHED] = [names[column] for column in _put_first(mentioned, first, scores)]
            yield paper, ranked


def _put_first(mentioned: list[int], first: list[int], scores: np.ndarray) -> list[int]:
    """Return the first columns once those mentioned stand before all others, each part in the order of its scores."""
    ahead = [mentioned[at] for at in top(scores[mentioned], CUTOFFS[-1])]
    taken = set(mentioned)
    # `first` is long enough for the rest: what it lacks of those not mentioned, the mentioned ones in it make up for.
    return [*ahead, *(column for column in first if column not in taken)][: CUTOFFS[-1]]


def _recalls(
    data: Classification, rankings: Iterator[tuple[str, dict[str, list[str]]]], counts: Mapping[str, int]
) -> dict[str, Outcome]:
    ways = ("",) if data.matched is None else ("", MATCHED)
    per_paper = {way: {f"R@{cutoff}": dict.fromkeys(data.gold, 0.0) for cutoff in CUTOFFS} for way in ways}
    for paper, ranked in rankings:
        for way, names in ranked.items():
            for cutoff in CUTOFFS:
                per_paper[way][f"R@{cutoff}"][paper] = recall(names, data.gold[paper], cutoff)
    return {
        way: Outcome({name: interval_over(tuple(values.values())) for name, values in found.items()}, found, counts)
        for way, found in per_paper.items()
    }


def _f1(
    data: Classification, rankings: Iterator[tuple[str, dict[str, list[str]]]], counts: Mapping[str, int]
) -> Outcome:
    import numpy as np

    number = {label.id: row for row, label in enumerate(data.labels)}
    given = dict.fromkeys(data.gold, -1) | {paper: number[ranked[""][0]] for paper, ranked in rankings}
    truth = {paper: number[label] for paper, (label,) in data.gold.items()}
    right = {paper: float(given[paper] == label) for paper, label in truth.items()}
    arrays = (np.array(list(truth.values())), np.array([given[paper] for paper in truth]))
    # Where each paper has one label and gets one, micro F1 is the share of papers that are right.
    cells = {"F1 micro": interval_over(tuple(right.values())), "F1 macro": bootstrap_statistic(macro_f1, *arrays)}
    return Outcome(cells, {"F1 micro": right}, counts)
