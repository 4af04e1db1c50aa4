"""Factors by which submissions and reviewers' papers are compared: vectors, words, and references."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from corpora.installed import optional
from corpora.paper import Paper
from products.reviewers.spool import Spool
from search_plugin.contract.engine import Document
from search_plugin.contract.legs import unit_rows

NEED = "Matching reviewers needs scikit-learn and scipy"
_FEATURES = 2**20
"""Hashed words; so many that few share a column."""


class FactorBuilder(Protocol):
    """Makes a factor from the papers of a pool."""

    def add(self, documents: Sequence[Document]) -> None:
        """Take the next papers, in the order of the pool."""

    def factor(self) -> MatchFactor:
        """Return the factor, once all papers were added."""


class MatchFactor(Protocol):
    """Similarities of submissions and the papers of a pool."""

    def similarities(self, submissions: slice, papers: slice) -> np.ndarray:
        """Return the similarity of some submissions to some papers, float32 (submissions, papers)."""


@dataclass(frozen=True, slots=True)
class ByVectors:
    """Cosines of vectors of one format or instruction, of length one: float32 (submissions, dimension)."""

    submissions: np.ndarray
    papers: Spool

    def similarities(self, submissions: slice, papers: slice) -> np.ndarray:
        """Return the cosines, float32 (submissions, papers)."""
        found: np.ndarray = self.submissions[submissions] @ self.papers.read(papers.start, papers.stop).T
        return found


@dataclass(frozen=True, slots=True)
class BySets:
    """Cosines of sparse rows, of words or of references: scipy's CSR rows of length one."""

    submissions: Any
    papers: Any

    def similarities(self, submissions: slice, papers: slice) -> np.ndarray:
        """Return the cosines, float32 (submissions, papers)."""
        product = self.submissions[submissions] @ self.papers[papers].T
        return np.asarray(product.toarray(), dtype=np.float32)


class VectorsBuilder:
    """Compares vectors by their cosine.

    Args:
        submissions: Vectors of the submissions, float32 (submissions, dimension).
        read: Returns the vectors of papers: those that the index holds, or new ones by another instruction.
        path: The file for those of the pool's papers.
    """

    def __init__(self, submissions: np.ndarray, read: Callable[[Sequence[Document]], np.ndarray], path: Path) -> None:
        self._submissions, self._read = unit_rows(submissions), read
        self._papers = Spool(path, submissions.shape[1])

    def add(self, documents: Sequence[Document]) -> None:
        """Keep the vectors of papers of the pool."""
        self._papers.append(unit_rows(self._read(documents)))

    def factor(self) -> MatchFactor:
        """Return the factor."""
        return ByVectors(self._submissions, self._papers)


def stored(task_format: str) -> Callable[[Sequence[Document]], np.ndarray]:
    """Return what reads the vectors of a format from documents of an index, float32 (documents, dimension)."""
    return lambda documents: np.stack([document.vectors[task_format] for document in documents])


class WordsBuilder:
    """Compares titles and abstracts by TF-IDF.

    A word counts 1 + ln(tf), times ln((1 + n) / (1 + df)) + 1 over all papers (as scikit-learn's TF-IDF); the Toronto
    Paper Matching System compares reviewers so (Charlin & Zemel 2013).

    Args:
        submissions: The submissions.
    """

    def __init__(self, submissions: Sequence[Paper]) -> None:
        self._text = optional("sklearn.feature_extraction.text", NEED, "products")
        self._counter = self._text.HashingVectorizer(
            n_features=_FEATURES, alternate_sign=False, norm=None, stop_words="english", dtype=np.float32
        )
        self._own = self._counted(submissions)
        self._theirs: list[Any] = []

    def add(self, documents: Sequence[Document]) -> None:
        """Count the words of papers of the pool."""
        self._theirs.append(self._counted([document.paper for document in documents]))

    def factor(self) -> MatchFactor:
        """Return the factor."""
        sparse = optional("scipy.sparse", NEED, "products")
        theirs = sparse.vstack(self._theirs, format="csr")
        weigher = self._text.TfidfTransformer(sublinear_tf=True).fit(sparse.vstack([self._own, theirs]))
        return BySets(weigher.transform(self._own), weigher.transform(theirs, copy=False))

    def _counted(self, papers: Sequence[Paper]) -> Any:
        return self._counter.transform([f"{paper.title} {paper.abstract}" for paper in papers])


class ReferencesBuilder:
    """Compares by references: the cosine of what a submission cites with a paper and what that cites.

    So a submission that cites the paper counts, and so does one that shares its references (bibliographic coupling).

    Args:
        submissions: Papers with references.
    """

    def __init__(self, submissions: Sequence[Paper]) -> None:
        named = [frozenset(map(_normal, paper.references)) for paper in submissions]
        self._places = {name: place for place, name in enumerate(sorted(frozenset().union(*named)))}
        self._own = [[self._places[name] for name in held] for held in named]
        self._theirs: list[list[int]] = []
        self._sizes: list[int] = []

    def add(self, documents: Sequence[Document]) -> None:
        """Note what papers of the pool cite."""
        for paper in (document.paper for document in documents):
            names = {_normal(name) for name in (paper.id, *paper.identifiers, *paper.references)}
            self._theirs.append([self._places[name] for name in names if name in self._places])
            # The paper itself counts once, whatever number of names it has.
            self._sizes.append(1 + len(paper.references))

    def factor(self) -> MatchFactor:
        """Return the factor."""
        width = len(self._places)
        own = _unit_sets(self._own, [len(held) for held in self._own], width)
        return BySets(own, _unit_sets(self._theirs, self._sizes, width))


def _unit_sets(sets: Sequence[Sequence[int]], sizes: Sequence[int], width: int) -> Any:
    """Return sets as rows of a sparse matrix, each value one over the root of the set's size."""
    sparse = optional("scipy.sparse", NEED, "products")
    ends = np.cumsum([0, *map(len, sets)])
    columns = np.array([place for held in sets for place in sorted(held)], dtype=np.int64)
    values = np.repeat(1 / np.sqrt(np.maximum(sizes, 1)), np.diff(ends)).astype(np.float32)
    return sparse.csr_matrix((values, columns, ends), shape=(len(sets), max(width, 1)))


def _normal(name: str) -> str:
    """Return an identifier without its kind and case, so that `doi:10.1/X` and `10.1/x` are one."""
    return name.strip().lower().removeprefix("doi:").removeprefix("pmid:").removeprefix("arxiv:")
