"""A map of the papers that a search found: near papers are near on it, with topics and their labels.

It is for a few hundred papers while a reader waits, so it needs numpy alone; `products.topics` is for whole indexes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from corpora.identifiers import link_of
from corpora.paper import Paper
from products.topics.topics import LabelledTopic, Projection, labelled_topics
from search_plugin.contract.legs import unit_rows

MOST_TOPICS = 8
"""Topics of a map where the reader asks for no other number: as many as there are colours that all readers can tell
apart."""

_STARTS, _ROUNDS = 4, 50
_PERPLEXITY = 30.0
_STEPS, _EXAGGERATED = 200, 50
_EXAGGERATION, _RATE = 4.0, 0.5


@dataclass(frozen=True, slots=True)
class MapPoint:
    """A paper on a map.

    Attributes:
        rank: Its rank in the search, from 1.
        paper: The paper.
        x: Its place from left to right, from -1 to 1.
        y: Its place from bottom to top, from -1 to 1.
        topic: Number of its topic in `PaperMap.topics`, from 0.
    """

    rank: int
    paper: Paper
    x: float
    y: float
    topic: int

    def to_dict(self) -> dict[str, Any]:
        """Return the paper as JSON values, with its topic numbered from 1."""
        paper = self.paper
        facts = {"id": paper.id, "title": paper.title, "year": paper.year, "venue": paper.venue, "link": link_of(paper)}
        return {"rank": self.rank, **facts, "x": self.x, "y": self.y, "topic": self.topic + 1}


@dataclass(frozen=True, slots=True)
class PaperMap:
    """The papers that a search found, placed by meaning.

    Attributes:
        index: Name of the index.
        query: The query as it was searched.
        points: The papers in the order of the search; those without a vector are missing.
        topics: Their topics, the largest first.
        candidates: Papers that the search found; the map shows the first of them.
        notes: What the user should know, one sentence each.
    """

    index: str
    query: str
    points: tuple[MapPoint, ...]
    topics: tuple[LabelledTopic, ...]
    candidates: int
    notes: tuple[str, ...] = ()

    def to_dict(self, shown: Collection[int] = ()) -> dict[str, Any]:
        """Return the map as JSON values, with topics numbered from 1.

        Args:
            shown: Numbers of the topics whose papers are wanted; all if empty.

        Returns:
            The map with its topics, and the papers as points.
        """
        content = {"index": self.index, "query": self.query, "candidates": self.candidates, "notes": list(self.notes)}
        topics = [{"number": number, **asdict(topic)} for number, topic in enumerate(self.topics, start=1)]
        points = [point.to_dict() for point in self.points if not shown or point.topic + 1 in shown]
        return {**content, "topics": topics, "points": points}


def topics_of_papers(
    ids: Sequence[str],
    vectors: np.ndarray,
    titles: Sequence[str],
    stop_words: Collection[str] = (),
    count: int | None = None,
) -> tuple[tuple[LabelledTopic, ...], np.ndarray]:
    """Cluster a few hundred papers by k-means over their vectors, and label each cluster with phrases of the titles.

    Args:
        ids: Ids of the papers.
        vectors: Their vectors, float32 (papers, dimension), compared by cosine.
        titles: Their titles; abstracts have many words that say nothing of a topic.
        stop_words: Words that no label has.
        count: Number of topics; if None, the root of half the number of papers, but `MOST_TOPICS` at most.

    Returns:
        The topics, the largest first, and the number of each paper's topic, int64 (papers,). Clusters that end without
        a paper are left out.
    """
    if not ids:
        return (), np.zeros(0, np.int64)
    wanted = count or min(MOST_TOPICS, max(1, round((len(ids) / 2) ** 0.5)))
    units = unit_rows(vectors.astype(np.float64))
    cluster, centres = _clusters(units, min(wanted, len(ids)))
    return labelled_topics(ids, titles, units, cluster, centres, stop_words)


def places_of(vectors: np.ndarray, projection: Projection = "tsne") -> np.ndarray:
    """Return the place of each paper, float64 (papers, 2), from -1 to 1 with the same scale on both axes.

    Vectors are float32 (papers, dimension), compared by cosine. `pca` takes the two principal components, each with the
    sign that makes its largest weight positive. `tsne` moves the papers from there by t-SNE (van der Maaten & Hinton,
    "Visualizing data using t-SNE", 2008), which shows near papers near. The same vectors have the same places.
    """
    units = unit_rows(vectors.astype(np.float64))
    if len(units) < 2:
        return np.zeros((len(units), 2))
    places = _components(units)
    if projection == "tsne" and len(units) > 3:
        places = _neighbourly(units, places)
    middle = (places.min(axis=0) + places.max(axis=0)) / 2
    return np.asarray((places - middle) / max(float(np.abs(places - middle).max()), 1e-12), np.float64)


def _clusters(units: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the cluster of each row and the centres: the best of some runs of k-means++ (Arthur & Vassilvitskii 2007).

    The random numbers are the same in every call.
    """
    draw = np.random.default_rng(0)
    runs = [_run(units, units[_seeds(units, count, draw)]) for _ in range(_STARTS)]
    return min(runs, key=lambda run: round(float(((units - run[1][run[0]]) ** 2).sum()), 9))


def _run(units: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the cluster of each row and the centres where Lloyd's rounds end."""
    cluster = np.full(len(units), -1)
    for _ in range(_ROUNDS):
        found = _squared(units, centres).argmin(axis=1)
        if np.array_equal(found, cluster):
            break
        cluster = found
        for one in np.unique(cluster):
            centres[one] = units[cluster == one].mean(axis=0)
    return cluster, centres


def _seeds(units: np.ndarray, count: int, draw: np.random.Generator) -> list[int]:
    chosen = [int(draw.integers(len(units)))]
    for _ in range(count - 1):
        away = np.maximum(_squared(units, units[chosen]).min(axis=1), 0)
        away[chosen] = 0
        total = away.sum()
        chosen.append(int(draw.choice(len(units), p=away / total if total > 0 else None)))
    return chosen


def _squared(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the squared distances of all rows to all others, (rows, others)."""
    return np.asarray((rows**2).sum(axis=1)[:, None] + (others**2).sum(axis=1)[None, :] - 2 * rows @ others.T)


def _components(units: np.ndarray) -> np.ndarray:
    centred = units - units.mean(axis=0)
    axes = np.linalg.eigh(centred.T @ centred)[1][:, :-3:-1].T
    axes = axes * np.where(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)] < 0, -1, 1)[:, None]
    found = centred @ axes.T
    return np.pad(found, ((0, 0), (0, 2 - found.shape[1])))


def _neighbourly(units: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the places that t-SNE finds by gradient descent with momentum and gains, as its authors describe it."""
    wanted = _likenesses(np.maximum(_squared(units, units), 0)).astype(np.float32)
    at = (places / max(float(places[:, 0].std()), 1e-12) * 1e-2).astype(np.float32)
    moved, gains = np.zeros_like(at), np.ones_like(at)
    rate = _RATE * len(at)
    for step in range(_STEPS):
        near = 1 / (1 + _squared(at, at))
        np.fill_diagonal(near, 0)
        pull = (wanted * (_EXAGGERATION if step < _EXAGGERATED else 1) - near / near.sum()) * near
        slope = 4 * (pull.sum(axis=1)[:, None] * at - pull @ at)
        gains = np.maximum(np.where((slope > 0) == (moved > 0), gains * 0.8, gains + 0.2), 0.01)
        moved = (0.5 if step < _EXAGGERATED else 0.8) * moved - rate * gains * slope
        at = at + moved
    return at


def _likenesses(squared: np.ndarray) -> np.ndarray:
    """Return the joint probabilities of t-SNE, (papers, papers), from squared distances.

    The width of each paper's Gaussian is found by bisection, so that it has the perplexity that is wanted.
    """
    count = len(squared)
    target = np.log(min(_PERPLEXITY, (count - 1) / 3))
    far = squared + np.where(np.eye(count, dtype=bool), np.inf, 0)
    far = far - far.min(axis=1, keepdims=True)
    low, high = np.full(count, -8.0), np.full(count, 24.0)  # natural logarithms of the precisions
    for _ in range(24):
        middle = (low + high) / 2
        precision = np.exp(middle)[:, None]
        weights = np.exp(-far * precision)
        total = weights.sum(axis=1)
        finite = np.where(np.isinf(far), 0, far)
        entropy = np.log(total) + precision[:, 0] * (weights * finite).sum(axis=1) / total
        low, high = np.where(entropy > target, middle, low), np.where(entropy > target, high, middle)
    own = weights / total[:, None]
    return np.asarray((own + own.T) / (2 * count))
