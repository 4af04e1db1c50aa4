"""Topics of an index: clusters of its papers by their vectors, labels from their terms, and coordinates for a map."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from corpora.errors import InputError
from products.optional import optional

Projection = Literal["pca", "tsne"]

SEPARATOR = " / "
"""Between the terms of a label; lists of labels have commas."""

_NEED = "Topics need scikit-learn"
_TERMS = 30_000
"""Most words and pairs of words, the most frequent ones."""
_SHOWN = 8
_IN_LABEL = 3
WORD = r"(?u)\b[^\W\d_][\w-]+\b"
"""A word of a label."""
_LARGEST_MAP = 20_000
"""Most papers for t-SNE, which takes minutes for so many."""


@dataclass(frozen=True, slots=True)
class LabelledTopic:
    """A cluster of papers.

    Attributes:
        label: Its best terms; no two topics have the same.
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
    texts: Iterable[str],
    *,
    count: int | None = None,
    projection: Projection = "pca",
    seed: int = 0,
) -> Topics:
    """Cluster papers by k-means, and label each cluster with terms of the papers' texts.

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
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    cluster = optional("sklearn.cluster", _NEED)
    fitted = cluster.MiniBatchKMeans(wanted, n_init=5, batch_size=4096, random_state=seed).fit(units)
    kept, sizes = np.unique(fitted.labels_, return_counts=True)
    order = kept[np.argsort(-sizes, kind="stable")]
    number = np.full(wanted, -1)
    number[order] = np.arange(len(order))
    topic_of = number[fitted.labels_]
    terms = terms_of(texts, topic_of, len(order))
    closeness = (units * fitted.cluster_centers_[fitted.labels_]).sum(axis=1)
    topics = []
    used: set[str] = set()
    for place, best in enumerate(terms):
        rows = np.flatnonzero(topic_of == place)
        nearest = rows[np.argsort(-closeness[rows], kind="stable")[:_IN_LABEL]]
        topics.append(LabelledTopic(label_of(best, used), best, len(rows), tuple(ids[row] for row in nearest)))
    return Topics(tuple(topics), tuple(ids), topic_of, _project(units, projection, seed))


def terms_of(texts: Iterable[str], topic_of: np.ndarray, count: int) -> list[tuple[str, ...]]:
    """Return the best terms of each topic by class-based TF-IDF (Grootendorst 2022, "BERTopic", section 3.3).

    A term's weight is its share of the topic's terms, times ln(1 + A / f): f is how often all topics have it, and A is
    the mean number of terms of a topic. Terms are words and pairs of words; one that is part of a better one, or has it
    as a part, is left out, singular and plural being one. `topic_of` is the topic of each text, int64 (papers,). Raises
    `UnavailableError` if scikit-learn is missing.
    """
    text = optional("sklearn.feature_extraction.text", _NEED)
    sparse = optional("scipy.sparse", _NEED)
    counter = text.CountVectorizer(
        stop_words="english", ngram_range=(1, 2), max_features=_TERMS, token_pattern=WORD, dtype=np.float32
    )
    try:
        counts = counter.fit_transform(texts)
    except ValueError:  # no text has a word
        return [()] * count
    papers = np.arange(len(topic_of))
    members = sparse.csr_matrix((np.ones(len(papers), np.float32), (topic_of, papers)), shape=(count, len(papers)))
    of_topic = np.asarray((members @ counts).todense(), dtype=np.float64)
    return best_terms(of_topic, counter.get_feature_names_out())


def best_terms(of_topic: np.ndarray, names: Any) -> list[tuple[str, ...]]:
    """Return the best terms of each topic (`terms_of`) from their counts, float64 (topics, terms), and their names."""
    totals = of_topic.sum(axis=1, keepdims=True)
    weights = of_topic / np.maximum(totals, 1) * np.log(1 + totals.mean() / np.maximum(of_topic.sum(axis=0), 1))
    return [_best(row, names) for row in weights]


def _best(weights: np.ndarray, names: Any) -> tuple[str, ...]:
    from Stemmer import Stemmer

    stem, chosen = Stemmer("english").stemWords, dict[str, set[str]]()
    for column in np.argsort(-weights, kind="stable")[: 10 * _SHOWN].tolist():
        words = set(stem(names[column].split()))
        if weights[column] > 0 and not any(words <= held or words >= held for held in chosen.values()):
            chosen[str(names[column])] = words
        if len(chosen) == _SHOWN:
            break
    return tuple(chosen)


def label_of(terms: Sequence[str], used: set[str]) -> str:
    """Return the first terms; more of them, and last a number, where another topic has the same label, and note it."""
    labels = [SEPARATOR.join(terms[:size]) for size in range(_IN_LABEL, len(terms) + 1)] or [SEPARATOR.join(terms)]
    base = labels[0] or "no terms"
    numbered = (f"{base} ({number})" for number in range(2, len(used) + 3))
    label = next(one for one in (*filter(None, labels), base, *numbered) if one not in used)
    used.add(label)
    return label


def _project(units: np.ndarray, projection: Projection, seed: int) -> np.ndarray:
    if projection == "tsne":
        manifold = optional("sklearn.manifold", _NEED)
        perplexity = min(30, max(1, (len(units) - 1) // 3))
        made = manifold.TSNE(2, perplexity=perplexity, init="pca", random_state=seed).fit_transform(units)
    else:
        made = optional("sklearn.decomposition", _NEED).PCA(2, random_state=seed).fit_transform(units)
    return np.asarray(made, dtype=np.float64)


def clean_field(name: str) -> str:
    """Return the name of a topic field, or raise `InputError` if it can't have the suffixes _x and _y."""
    from corpora.custom import check_field_name

    if not re.fullmatch(r".{1,48}", name):
        raise InputError(f"The field {name[:60]!r} is too long to name coordinates after: use up to 48 characters.")
    return check_field_name(name)
