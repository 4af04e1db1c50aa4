"""How much reading screening saves: papers read until 95 % of the relevant ones are found, in 19 real reviews.

Each review is screened again from one included and one excluded paper, drawn at random, five times. Four ways of
ranking begin with the same papers and learn again after the same batches (a twentieth of the papers labelled, at least
one): `ses screen`, ASReview's default learner ELAS u4, BM25 with the known included paper as the query, and chance.

ELAS u4 is written here with scikit-learn by its settings in asreview 3 (`asreview/models/models.py`): TF-IDF of words
and pairs of words with log(tf), and a linear support vector machine with C 0.11 and a ratio of 9.8 between the classes.

Needs SES_TEST_DATA and the extra eval; encodes 24,500 papers first. Run: python -m benchmarks.screening [REVIEW ...]
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.common import data_dir
from corpora.paper import Paper
from eval.screening import Review, read_reviews
from eval.suites.kinds import OkapiBm25
from products.relevance import FOR_SCREENING, Views, views_of
from products.screening.simulation import RelevanceLearner, Simulated, draw_known, learner_of, simulate

ARCHIVE = Path("eval") / "systematic-reviews.tar.xz"
MODEL = "all-MiniLM-L6-v2"
DRAWS = 5
RECALL = 0.95


def main() -> None:
    reviews = some_reviews(sys.argv[1:])
    wins = []
    for review in reviews:
        views = views_of_review(review)
        runs = {name: run(review, learner) for name, learner in learners(review, views).items()}
        read = {name: statistics.mean(one.read_until(RECALL) for one in of_name) for name, of_name in runs.items()}
        wins.append(read["ses"] < read["ELAS u4"])
        shown = " | ".join(f"{read[name]:,.0f}" for name in read)
        print(f"| {review.name} | {len(review.papers):,} | {sum(review.included):,} | {shown} |", flush=True)
    print(f"ses reads less than ELAS u4 in {sum(wins)} of {len(wins)} reviews.")


def some_reviews(names: Sequence[str]) -> list[Review]:
    """Return the reviews of these names, all if there are none, the smallest first."""
    reviews = read_reviews(data_dir() / ARCHIVE).reviews
    return sorted((r for r in reviews if not names or r.name in names), key=lambda review: len(review.papers))


def views_of_review(review: Review) -> Views:
    """Encode a review's papers, or take their vectors from the cache."""
    import ses

    papers = [Paper(text.id, text.title or "-", text.abstract or "") for text in review.papers]
    vectors = ses.load_model(MODEL).encode_papers(papers)
    return views_of(papers, {paper.id: vector for paper, vector in zip(papers, vectors, strict=True)}, FOR_SCREENING)


def learners(review: Review, views: Views) -> Mapping[str, Callable[[int], RelevanceLearner]]:
    """Return what makes the learner of each way, by the number of the draw."""
    texts = [f"{paper.title} {paper.abstract or ''}" for paper in review.papers]
    elas, bm25 = elas_u4(texts), OkapiBm25(texts)

    def by_words(draw: int) -> RelevanceLearner:
        (included, _) = draw_known(review.included, draw)
        scores = bm25.scores(texts[included])
        return lambda _rows, _relevant: scores

    def by_chance(draw: int) -> RelevanceLearner:
        scores = np.random.default_rng([draw, 1]).random(len(texts))
        return lambda _rows, _relevant: scores

    return {"ses": lambda _: learner_of(views), "ELAS u4": lambda _: elas, "BM25": by_words, "random": by_chance}


def elas_u4(texts: Sequence[str]) -> RelevanceLearner:
    """Return ASReview's default learner."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.svm import LinearSVC

    matrix = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, max_df=0.95).fit_transform(texts)

    def scores(rows: Sequence[int], relevant: Sequence[bool]) -> np.ndarray:
        labels = np.asarray(relevant, int)
        weights = np.where(labels == 1, 1.0, labels.sum() / (9.8 * (labels == 0).sum()))
        weights *= labels.size / weights.sum()
        machine = LinearSVC(C=0.11, random_state=0).fit(matrix[list(rows)], labels, sample_weight=weights)
        found: np.ndarray = machine.decision_function(matrix)
        return found

    return scores


def run(review: Review, learner: Callable[[int], RelevanceLearner]) -> list[Simulated]:
    """Screen a review once for each draw."""
    return [simulate(review.included, learner(draw), draw_known(review.included, draw)) for draw in range(DRAWS)]


if __name__ == "__main__":
    main()
