"""How well feeds recommend: each of 19 systematic reviews is a reader who liked five of its included papers.

All other papers of the review are ranked, and the included ones among them should come first; five times with other
seeds. Compared are `ses feed`, the cosine to the mean of the five vectors, BM25 with the five titles and abstracts as
the query, and the sum of the reciprocal ranks of the last two. Measures are nDCG over the whole ranking, nDCG@20, and
MAP, the measure of SciRepEval's Feeds tasks, whose readers' own papers are not public with their texts.

Needs SES_TEST_DATA and the extra eval; encodes 24,500 papers first. Run: python -m benchmarks.feeds [REVIEW ...]
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from benchmarks.screening import MODEL, some_reviews
from corpora.paper import Paper
from eval.embedder import Text, Vectors
from eval.reranking import ranked_outcome
from eval.screening import Review
from eval.statistics.interval import value_of
from eval.suites.kinds import OkapiBm25
from eval.trec.judgments import Qrels
from eval.trec.runs import Run

MEASURES = ("nDCG", "nDCG@20", "MAP")
SEEDS, DRAWS = 5, 5
RRF = 60
"""The constant of reciprocal rank fusion."""


@dataclass(frozen=True, slots=True)
class FeedReader:
    """A reader with the papers that they liked, the candidates to rank, and the ids of the candidates they like."""

    name: str
    liked: tuple[Text, ...]
    candidates: tuple[Text, ...]
    wanted: Set[str]


FeedRanker = Callable[[FeedReader], np.ndarray]
"""A function from a reader to the scores of the candidates."""


def main() -> None:
    totals: dict[str, dict[str, list[float]]] = {}
    for review in some_reviews(sys.argv[1:]):
        readers = [reader_of(review, draw) for draw in range(DRAWS)]
        for name, ranker in rankers(review).items():
            rankings = {one.name: [*zip(ids_of(one), map(float, ranker(one)), strict=True)] for one in readers}
            judged = {one.name: {id_: int(id_ in one.wanted) for id_ in ids_of(one)} for one in readers}
            cells = ranked_outcome(Run("ses-feeds", rankings), Qrels(judged), MEASURES, {}).cells
            for measure in MEASURES:
                totals.setdefault(name, {}).setdefault(measure, []).append(value_of(cells[measure]))
        shown = " | ".join(f"{of_name['nDCG'][-1]:.3f}" for of_name in totals.values())
        print(f"| {review.name} | {len(review.papers):,} | {sum(review.included):,} | {shown} |", flush=True)
    for name, measured in totals.items():
        means = ", ".join(f"{measure} {statistics.mean(values):.4f}" for measure, values in measured.items())
        better = sum(ours > theirs for ours, theirs in zip(totals["ses"]["nDCG"], measured["nDCG"], strict=True))
        print(f"{name}: {means}; ses has the higher nDCG in {better} of {len(measured['nDCG'])} reviews")


def ids_of(reader: FeedReader) -> list[str]:
    return [text.id for text in reader.candidates]


def reader_of(review: Review, draw: int) -> FeedReader:
    """Return a reader who liked five of a review's included papers."""
    chance = np.random.default_rng([draw, *review.name.encode()])
    seeds = set(chance.choice(np.flatnonzero(review.included), SEEDS, replace=False).tolist())
    rest = [row for row in range(len(review.papers)) if row not in seeds]
    return FeedReader(
        f"{review.name} {draw}",
        tuple(review.papers[row] for row in sorted(seeds)),
        tuple(review.papers[row] for row in rest),
        {review.papers[row].id for row in rest if review.included[row]},
    )


def rankers(review: Review) -> Mapping[str, FeedRanker]:
    """Return the ways of ranking, by name; papers are encoded, or their vectors taken from the cache."""
    import ses

    model = ses.load_model(MODEL)
    matrix = model.encode([model.card.text(text.title, text.abstract) for text in review.papers])
    vectors = Vectors({text.id: row for row, text in enumerate(review.papers)}, matrix)
    bm25 = OkapiBm25([f"{text.title} {text.abstract or ''}" for text in review.papers])
    mean = by_mean(vectors)

    def by_words(reader: FeedReader) -> np.ndarray:
        scores = bm25.scores(" ".join(f"{text.title} {text.abstract or ''}" for text in reader.liked))
        return scores[[vectors.rows[text.id] for text in reader.candidates]]

    def by_both(reader: FeedReader) -> np.ndarray:
        return sum(1 / (RRF + ranks(scores)) for scores in (by_words(reader), mean(reader)))  # type: ignore[return-value]

    return {"ses": by_model(vectors), "mean of seeds": mean, "BM25": by_words, "both by rank": by_both}


def by_model(vectors: Vectors) -> FeedRanker:
    """Return the ranker of the feeds of ses."""
    from products.feeds.feed import scores_for
    from products.relevance import views_of

    def rank(reader: FeedReader) -> np.ndarray:
        texts = [*reader.liked, *reader.candidates]
        papers = [Paper(text.id, text.title, text.abstract or "") for text in texts]
        held = {text.id: vectors.matrix[vectors.rows[text.id]] for text in texts}
        return scores_for(views_of(papers, held), [text.id for text in reader.liked])[len(reader.liked) :]

    return rank


def by_mean(vectors: Vectors) -> FeedRanker:
    """Return a ranker by the cosine to the mean of the liked papers' vectors of length one."""

    def rank(reader: FeedReader) -> np.ndarray:
        liked, candidates = (
            vectors.directions(text.id for text in texts) for texts in (reader.liked, reader.candidates)
        )
        return np.asarray(candidates @ liked.mean(axis=0))

    return rank


def ranks(scores: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the rank of each score, from 1 for the highest."""
    order = np.argsort(-np.asarray(scores), kind="stable")
    found = np.empty(len(order))
    found[order] = np.arange(1, len(order) + 1)
    return found


if __name__ == "__main__":
    main()
