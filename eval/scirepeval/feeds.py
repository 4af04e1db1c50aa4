"""SciRepEval's feeds protocol: candidates ranked for readers by several papers that each of them liked.

The benchmark's tasks Feeds-1 and Feeds-M (Singh et al., "SciRepEval", EMNLP 2023, section 3) rank the papers of a
feed by one or by several liked papers, and measure MAP. The protocol of tasks runs their published form, one vector for
each query. Here the whole set of liked papers is given to a ranker, which may learn from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass

import numpy as np

from corpora.errors import require
from corpora.paper import Paper
from eval.embedder import Text, Vectors
from eval.outcome import Outcome
from eval.reranking import ranked_outcome
from eval.trec.judgments import Qrels
from eval.trec.runs import Run

MEASURES = ("nDCG", "nDCG@20", "MAP")


@dataclass(frozen=True, slots=True)
class FeedReader:
    """A reader and the papers that are ranked for them.

    Attributes:
        name: Of the reader.
        liked: Papers that they liked before.
        candidates: Papers to rank.
        wanted: Ids of the candidates that they like.
    """

    name: str
    liked: tuple[Text, ...]
    candidates: tuple[Text, ...]
    wanted: Set[str]


FeedRanker = Callable[[FeedReader], np.ndarray]
"""A function from a reader to the scores of the candidates."""


def evaluate_feeds(readers: Sequence[FeedReader], ranker: FeedRanker, measures: Sequence[str] = MEASURES) -> Outcome:
    """Rank each reader's candidates.

    Args:
        readers: With different names.
        ranker: Scores the candidates.
        measures: As `eval.measures.metrics.parse_measure` takes them.

    Returns:
        The measures, with intervals over readers.

    Raises:
        InputError: If a reader likes no paper, or wants no candidate.
    """
    for reader in readers:
        require(
            reader.liked and any(text.id in reader.wanted for text in reader.candidates),
            f"The reader {reader.name} needs a liked paper, and a candidate to find.",
        )
    rankings, judged = {}, {}
    for reader in readers:
        ids = [text.id for text in reader.candidates]
        rankings[reader.name] = list(zip(ids, map(float, ranker(reader)), strict=True))
        judged[reader.name] = {id_: int(id_ in reader.wanted) for id_ in ids}
    return ranked_outcome(Run("ses-feeds", rankings), Qrels(judged), measures, {})


def by_model(vectors: Vectors) -> FeedRanker:
    """Return the ranker of the feeds of ses."""
    from products.feeds.ranking import scores_for
    from products.relevance import views_of

    def rank(reader: FeedReader) -> np.ndarray:
        texts = [*reader.liked, *reader.candidates]
        papers = [Paper(text.id, text.title, text.abstract or "") for text in texts]
        ids = vectors.known(text.id for text in texts)
        held = dict(zip(ids, vectors.of(ids), strict=True))
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
