"""Factors by which submissions and reviewers' papers are compared: vectors, words, and references."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from corpora.paper import Paper
from products.optional import optional
from products.reviewers.spool import Spool

NEED = "Matching reviewers needs scikit-learn and scipy"
_FEATURES = 2**20
"""Hashed words; so many that few share a column."""


class Factor(Protocol):
    """Similarities of submissions and the papers of a pool."""

    def similarities(self, submissions: slice, papers: slice) -> np.ndarray:
        """Return the similarity of some submissions to some papers, float32 (submissions, papers)."""


@dataclass(frozen=True, slots=True)
class ByVectors:
    """Cosines of vectors of one format or instruction.

    Attributes:
        submissions: Vectors of length one, float32 (submissions, dimension).
        papers: Those of the pool's papers.
    """

    submissions: np.ndarray
    papers: Spool

    def similarities(self, submissions: slice, papers: slice) -> np.ndarray:
        """Return the cosines."""
        found: np.ndarray = self.submissions[submissions] @ self.papers.read(papers.start, papers.stop).T
        return found


@dataclass(frozen=True, slots=True)
class BySets:
    """Cosines of sparse rows: of words or of references.

    Attributes:
        submissions: scipy's CSR rows of length one.
        papers: Those of the pool's papers.
    """

    submissions: Any
    papers: Any

    def similarities(self, submissions: slice, papers: slice) -> np.ndarray:
        """Return the cosines."""
        product = self.submissions[submissions] @ self.papers[papers].T
        return np.asarray(product.toarray(), dtype=np.float32)


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """Return rows at length one, float32; a row of zeros stays as it is."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12), dtype=np.float32)


def by_words(submissions: Sequence[Paper], papers: Iterable[Sequence[Paper]]) -> BySets:
    """Compare titles and abstracts by TF-IDF.

    A word counts 1 + ln(tf), times ln((1 + n) / (1 + df)) + 1 over all papers (as scikit-learn's TF-IDF); the Toronto
    Paper Matching System compares reviewers so (Charlin & Zemel 2013).

    Args:
        submissions: The submissions.
        papers: The papers of the pool in order, in blocks.

    Returns:
        The factor.

    Raises:
        UnavailableError: If scikit-learn is missing.
    """
    text = optional("sklearn.feature_extraction.text", NEED, "reviewers")
    sparse = optional("scipy.sparse", NEED, "reviewers")
    counter = text.HashingVectorizer(
        n_features=_FEATURES, alternate_sign=False, norm=None, stop_words="english", dtype=np.float32
    )

    def counted(block: Sequence[Paper]) -> Any:
        return counter.transform([f"{paper.title} {paper.abstract}" for paper in block])

    own, theirs = counted(submissions), sparse.vstack([counted(block) for block in papers], format="csr")
    weigher = text.TfidfTransformer(sublinear_tf=True).fit(sparse.vstack([own, theirs]))
    return BySets(weigher.transform(own, copy=False), weigher.transform(theirs, copy=False))


def by_references(submissions: Sequence[Paper], papers: Iterable[Sequence[Paper]]) -> BySets:
    """Compare by references: the cosine of what a submission cites with a paper and what that cites.

    So a submission that cites the paper counts, and so does one that shares its references (bibliographic coupling).

    Args:
        submissions: With references.
        papers: The papers of the pool in order, in blocks.

    Returns:
        The factor.

    Raises:
        UnavailableError: If scipy is missing.
    """
    places: dict[str, int] = {}
    for paper in submissions:
        for name in paper.references:
            places.setdefault(_normal(name), len(places))
    own = [{places[_normal(name)] for name in paper.references} for paper in submissions]
    theirs, sizes = [], []
    for block in papers:
        for paper in block:
            names = {_normal(name) for name in (paper.id, *paper.identifiers, *paper.references)}
            theirs.append({places[name] for name in names if name in places})
            # The paper itself has several names, and is one of the set.
            sizes.append(1 + len(paper.references))
    return BySets(_unit_sets(own, [len(held) for held in own], len(places)), _unit_sets(theirs, sizes, len(places)))


def _unit_sets(sets: Sequence[set[int]], sizes: Sequence[int], width: int) -> Any:
    """Return sets as rows of a sparse matrix, each value one over the root of the set's size."""
    sparse = optional("scipy.sparse", NEED, "reviewers")
    ends = np.cumsum([0, *map(len, sets)])
    columns = np.array([place for held in sets for place in sorted(held)], dtype=np.int64)
    values = np.repeat(1 / np.sqrt(np.maximum(sizes, 1)), np.diff(ends)).astype(np.float32)
    return sparse.csr_matrix((values, columns, ends), shape=(len(sets), max(width, 1)))


def _normal(name: str) -> str:
    """Return an identifier without its kind and case, so that `doi:10.1/X` and `10.1/x` are one."""
    return name.strip().lower().removeprefix("doi:").removeprefix("pmid:").removeprefix("arxiv:")
