"""What a person wants, learned from papers that they chose: for feeds and for screening.

The model is the weighted sum of the scores of a linear support vector machine for each view of the papers: their words,
those of their titles, and their vectors. Each machine has a squared hinge loss and weighs the classes so that all
relevant papers together count more than the others, with the constants of ASReview's default learner, ELAS u4
(asreview 3, `asreview/models/models.py`), which were fitted on the reviews of SYNERGY. ELAS u4 itself has one view, the
words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

from corpora.errors import InputError
from corpora.installed import optional
from corpora.lazy import np
from corpora.paper import Paper
from search_plugin.contract.legs import unit_rows
from search_plugin.words.terms import SPACED, TOKEN

MOST_SHARED = 0.95
"""Words in a larger share of the papers are left out."""


@dataclass(frozen=True, slots=True)
class ViewWeights:
    """Weights of the words of titles and of the vectors, beside 1 for the words of title and abstract.

    A view of weight 0 is not made.
    """

    titles: float
    vectors: float


FOR_FEEDS = ViewWeights(titles=0, vectors=0.5)
"""Chosen on the six smallest reviews of `benchmarks/screening.py`."""

FOR_SCREENING = ViewWeights(titles=0.3, vectors=0.25)
"""Chosen on nine of these reviews, with other starts than those of the benchmark (docs/results.md)."""


@dataclass(frozen=True, slots=True, eq=False)
class Views:
    """Papers as matrices, one row for each paper.

    Attributes:
        ids: Ids of the papers, in the order of the rows.
        matrices: Sparse or float32 (papers, features) with the weight of each; rows have length one or zero.
        vectors: float32 (papers, dimension) of length one; zero for a paper without a vector.
    """

    ids: tuple[str, ...]
    matrices: tuple[tuple[Any, float], ...]
    vectors: np.ndarray


def views_of(papers: Sequence[Paper], vectors: Mapping[str, np.ndarray], weights: ViewWeights = FOR_FEEDS) -> Views:
    """Make the views of one or more papers; a paper may lack a vector, float32 (dimension,) by id.

    Words, and pairs of neighbouring words, are weighed by log(tf) and inverse document frequency among these papers.
    Vectors are centred, since those of one topic have a large part in common. Raises `UnavailableError` if scikit-learn
    is not installed.
    """
    dimension = len(next(iter(vectors.values()), ()))
    rows = np.zeros((len(papers), dimension), np.float32)
    for row, paper in enumerate(papers):
        if paper.id in vectors:
            rows[row] = vectors[paper.id]
    units = unit_rows(rows)
    held = np.array([paper.id in vectors for paper in papers])
    centred = np.zeros_like(units)
    if held.any():
        centred[held] = unit_rows(units[held] - units[held].mean(axis=0))
    words = _words([f"{paper.title}\n{paper.abstract}" for paper in papers])
    titles = _words([paper.title for paper in papers]) if weights.titles else None
    matrices = ((words, 1.0), (titles, weights.titles), (centred if held.any() else None, weights.vectors))
    made = tuple((matrix, weight) for matrix, weight in matrices if matrix is not None and weight)
    return Views(tuple(paper.id for paper in papers), made, units)


def _words(texts: Sequence[str]) -> Any:
    """Return TF-IDF of words and pairs of neighbours, sparse (texts, words and pairs); None if no text has any.

    The values are those of scikit-learn's `TfidfVectorizer(sublinear_tf=True)`. With words as numbers, it takes a
    quarter of the time.
    """
    sparse = optional("scipy.sparse", "Learning from labels needs scikit-learn", "products")
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    held = [[numbers[word] for word in _words_in(text)] for text in texts]
    words = np.array(list(chain.from_iterable(held)), np.int64)
    rows = np.repeat(np.arange(len(held)), [len(one) for one in held])
    beside = np.flatnonzero(rows[:-1] == rows[1:])
    pairs = (words[beside] + 1) * len(numbers) + words[beside + 1]
    found, columns = np.unique(np.concatenate([words, pairs]), return_inverse=True)
    rows = np.concatenate([rows, rows[beside]])
    counts = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), (len(texts), len(found)))
    papers = np.bincount(counts.indices, minlength=len(found))
    # In a few papers, a word that all of them share may still be all there is.
    share = MOST_SHARED if len(texts) > 1 / (1 - MOST_SHARED) else 1.0
    some = papers <= share * len(texts)
    counts, rarity = counts[:, some], 1 + np.log((1 + len(texts)) / (1 + papers[some]))
    counts.data = (1 + np.log(counts.data)) * rarity[counts.indices]
    rows = np.repeat(np.arange(len(texts)), np.diff(counts.indptr))
    counts.data /= np.sqrt(np.bincount(rows, counts.data**2))[rows]
    return counts if counts.nnz else None


def _words_in(text: str) -> list[str]:
    """Return words of two letters or more in their form; pairs of characters in scripts without spaces."""
    if text.isascii():
        return [word for word in text.translate(SPACED).split() if len(word) > 1]
    words: list[str] = []
    for token in TOKEN.finditer(text.lower()):
        if token[1]:
            words += [token[1][at : at + 2] for at in range(max(1, len(token[1]) - 1))]
        elif len(token[0]) > 1:
            words.append(token[0])
    return words


C = 0.11
"""Inverse strength of the regularisation of each machine."""

RATIO = 9.8
"""How much the relevant papers of a training set weigh against the others, all together."""


def relevance(views: Views, rows: Sequence[int], relevant: Sequence[bool]) -> np.ndarray:
    """Learn from the papers of some rows, which are relevant or not, and score all papers.

    Returns float64 (papers,), higher for more relevant; the mean over papers is 0. Raises `InputError` if all the
    papers to learn from are relevant, or none is.
    """
    labels = np.asarray(relevant, bool)
    if labels.all() or not labels.any():
        raise InputError("A model of relevance needs at least one paper that is relevant, and one that is not.")
    weights = np.where(labels, 1.0, labels.sum() / (RATIO * (~labels).sum()))
    weights *= labels.size / weights.sum()
    learned = [weight * _scores(matrix, list(rows), labels, weights) for matrix, weight in views.matrices]
    total: np.ndarray = np.sum(learned, axis=0) if learned else np.zeros(len(views.ids))
    return total


def _scores(matrix: Any, rows: list[int], labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the standard scores of one machine, so that no view outweighs the others by its scale."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    machine = LinearSVC(C=C, random_state=0)
    with warnings.catch_warnings():
        # A machine that is not quite at its minimum ranks nearly as well.
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(matrix[rows], labels, sample_weight=weights)
    scores: np.ndarray = machine.decision_function(matrix)
    spread = scores.std()
    standard: np.ndarray = (scores - scores.mean()) / (spread or 1.0)
    return standard
