"""Topics of an index: clusters of its papers by their vectors, labels from their titles, and coordinates for a map."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from corpora.custom import check_field_name
from corpora.errors import InputError
from corpora.installed import optional
from products.topics.phrases import labels_of, phrases_of
from search_plugin.contract.legs import unit_rows

Projection = Literal["pca", "tsne"]

_NEED = "Topics need scikit-learn"
_NEAREST = 3
_LARGEST_MAP = 20_000
"""Most papers for t-SNE, which takes minutes for so many."""


@dataclass(frozen=True, slots=True)
class LabelledTopic:
    """A cluster of papers.

    Attributes:
        label: Its best phrases, none of which is a part of another topic's label.
        terms: More of them, the best first.
        size: Number of papers.
        nearest: Ids of the papers nearest to its centre.
    """

    label: str
    terms: tuple[str, ...]
    size: int
    nearest: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Topics:
    """The topics of some papers.

    Attributes:
        topics: The topics, the largest first.
        ids: Ids of the papers.
        topic_of: The number of each paper's topic, int64 (papers,).
        places: Coordinates of each paper, float64 (papers, 2).
    """

    topics: tuple[LabelledTopic, ...]
    ids: tuple[str, ...]
    topic_of: np.ndarray
    places: np.ndarray


def find_topics(
    ids: Sequence[str],
    vectors: np.ndarray,
    titles: Sequence[str],
    *,
    stop_words: Collection[str] = (),
    count: int | None = None,
    projection: Projection = "pca",
    seed: int = 0,
) -> Topics:
    """Cluster papers by k-means, and label each cluster with phrases of the papers' titles (`phrases_of`).

    The vectors are float32 (papers, dimension), compared by cosine. The number of topics is the root of half the number
    of papers if None, but 100 at most. Coordinates are the two principal components, or t-SNE, which separates topics
    better and is slow. Raises `InputError` if there are fewer papers than topics, or too many papers for t-SNE, and
    `UnavailableError` if scikit-learn is missing.
    """
    wanted = count or min(100, max(2, round((len(ids) / 2) ** 0.5)))
    if not 2 <= wanted <= len(ids):
        raise InputError(
            f"{len(ids):,} papers can't be divided into {wanted:,} topics",
            "give <topics> from 2 to the number of papers",
        )
    if projection == "tsne" and len(ids) > _LARGEST_MAP:
        raise InputError(
            f"t-SNE is too slow for {len(ids):,} papers: up to {_LARGEST_MAP:,} is possible", "use <map=pca>"
        )
    units = unit_rows(vectors)
    k_means = optional("sklearn.cluster", _NEED, "products").MiniBatchKMeans
    fitted = k_means(wanted, n_init=5, batch_size=4096, random_state=seed).fit(units)
    topics, topic_of = labelled_topics(ids, titles, units, fitted.labels_, fitted.cluster_centers_, stop_words)
    return Topics(topics, tuple(ids), topic_of, _project(units, projection, seed))


def labelled_topics(
    ids: Sequence[str],
    titles: Sequence[str],
    units: np.ndarray,
    cluster_of: np.ndarray,
    centres: np.ndarray,
    stop_words: Collection[str],
) -> tuple[tuple[LabelledTopic, ...], np.ndarray]:
    """Return clusters of papers as topics, the largest first, and the number of each paper's topic, int64 (papers,).

    `units` are vectors of length one, (papers, dimension), `cluster_of` the number of each paper's cluster, (papers,),
    and `centres` those of the clusters, (clusters, dimension). Clusters without a paper are left out.
    """
    kept, first, sizes = np.unique(cluster_of, return_index=True, return_counts=True)
    order = kept[np.lexsort((first, -sizes))]  # of equal sizes, that of the first paper
    number = np.zeros(len(centres), np.int64)
    number[order] = np.arange(len(order))
    topic_of = number[cluster_of]
    phrases = phrases_of(titles, topic_of, len(order), stop_words)
    closeness = (units * centres[cluster_of]).sum(axis=1)
    topics = []
    for place, (best, label) in enumerate(zip(phrases, labels_of(phrases), strict=True)):
        rows = np.flatnonzero(topic_of == place)
        nearest = rows[np.argsort(-closeness[rows], kind="stable")[:_NEAREST]]
        topics.append(LabelledTopic(label, best, len(rows), tuple(ids[row] for row in nearest)))
    return tuple(topics), topic_of


def _project(units: np.ndarray, projection: Projection, seed: int) -> np.ndarray:
    if projection == "tsne":
        manifold = optional("sklearn.manifold", _NEED, "products")
        perplexity = min(30, max(1, (len(units) - 1) // 3))
        made = manifold.TSNE(2, perplexity=perplexity, init="pca", random_state=seed).fit_transform(units)
    else:
        made = optional("sklearn.decomposition", _NEED, "products").PCA(2, random_state=seed).fit_transform(units)
    return np.asarray(made, dtype=np.float64)


def clean_field(name: str) -> str:
    """Return the name of a topic field, or raise `InputError` if it can't have the suffixes _x and _y."""
    if not re.fullmatch(r".{1,48}", name):
        raise InputError(f"The field {name[:60]!r} is too long to name coordinates after: use up to 48 characters.")
    return check_field_name(name)
