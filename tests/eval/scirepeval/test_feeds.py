"""The feeds protocol, and its rankers beside formulas written by hand."""

import numpy as np
import pytest

from corpora.errors import InputError
from eval.embedder import Text, Vectors
from eval.scirepeval.feeds import FeedReader, by_mean, by_model, evaluate_feeds

TITLES = ["virus masks", "virus lungs", "galaxy stars", "virus", "quantum stars", "virus and masks"]
TEXTS = [Text(str(row), title, "") for row, title in enumerate(TITLES)]
READER = FeedReader("ada", tuple(TEXTS[:2]), tuple(TEXTS[2:]), {"3", "5"})
VECTORS = Vectors({text.id: row for row, text in enumerate(TEXTS)}, np.eye(6, 4, dtype=np.float32) + 0.1)


def test_measures_are_those_of_the_ranking():
    scores = {"2": 3.0, "3": 2.0, "4": 1.0, "5": 0.0}
    outcome = evaluate_feeds([READER], lambda reader: np.array([scores[text.id] for text in reader.candidates]))
    ideal = 1 + 1 / np.log2(3)
    assert outcome.per_unit["nDCG"]["ada"] == pytest.approx((1 / np.log2(3) + 1 / np.log2(5)) / ideal)
    assert outcome.per_unit["MAP"]["ada"] == pytest.approx((1 / 2 + 2 / 4) / 2)


def test_the_mean_is_that_of_vectors_of_length_one():
    rows = VECTORS.matrix / np.linalg.norm(VECTORS.matrix, axis=1, keepdims=True)
    np.testing.assert_allclose(by_mean(VECTORS)(READER), rows[2:] @ rows[:2].mean(axis=0), rtol=1e-6)


def test_the_model_finds_papers_like_those_that_were_liked():
    scores = dict(zip("2345", by_model(Vectors({}, np.zeros((0, 4))))(READER), strict=True))
    assert min(scores["3"], scores["5"]) > max(scores["2"], scores["4"])


@pytest.mark.parametrize(
    "reader", [FeedReader("x", (), READER.candidates, {"3"}), FeedReader("x", READER.liked, (), {"3"})]
)
def test_a_reader_needs_papers(reader):
    with pytest.raises(InputError, match="The reader x needs a liked paper, and a candidate to find"):
        evaluate_feeds([reader], lambda _: np.zeros(4))
