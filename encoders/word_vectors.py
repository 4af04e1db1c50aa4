"""Vectors of single words by a table: the vector of a query is the direction of the sum of those of its words.

So a program that knows the words' vectors needs neither the table nor its tokenizer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpora.errors import InputError
from encoders.projection import VectorProjection, projected_card

if TYPE_CHECKING:
    import numpy as np

    from encoders.static import StaticEncoder

LONGEST = 64
"""Characters of the longest word; longer ones are no words that anybody types."""

_ASCII = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
_WORD = re.compile(r"[^\W_]+")
_TRIAL = "Étude of NAÏVE T cells 2019 über Immunhistochemie"


def words_of(text: str) -> list[str]:
    """Return the words of a text: runs of letters and digits, in small letters, without accents.

    Programs in other languages split queries by the same rule (docs/front-ends.md): small letters, decomposed (NFD),
    without marks (Mn), split at all but letters (L) and numbers (N).

    >>> words_of("The naïve T-cell, IL-2")
    ['the', 'naive', 't', 'cell', 'il', '2']
    """
    if text.isascii():
        return text.translate(_ASCII).split()
    decomposed = unicodedata.normalize("NFD", text.lower())
    return _WORD.findall("".join(letter for letter in decomposed if unicodedata.category(letter) != "Mn"))


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Makes the vectors of words for the queries of an index.

    Attributes:
        table: The table that encodes the queries of the index.
        name: Name by which the table is found again; empty for one that ses ships.
        projection: What makes the vectors of the index shorter, if they are.

    Raises:
        InputError: If the table does not make a text's vector of its words.
    """

    table: StaticEncoder
    name: str = ""
    projection: tuple[VectorProjection, ...] = ()

    def __post_init__(self) -> None:
        import numpy as np

        whole, *words = self.table.sums([_TRIAL, *words_of(_TRIAL)])
        if not np.allclose(whole, np.sum(words, axis=0), rtol=0, atol=1e-3 * float(np.linalg.norm(whole))):
            raise InputError(
                f"The table {self.table.card.name} does not add up the words of a text, in small letters without "
                "accents, so a word has no vector of its own",
                "make a table for a model with an uncased vocabulary of wordpieces, or let the service encode queries",
            )

    @property
    def fingerprint(self) -> str:
        """Fingerprint of all that changes the vector of a word."""
        return projected_card(self.table.card, self.projection).fingerprint

    @property
    def dimension(self) -> int:
        """Numbers of a vector."""
        return projected_card(self.table.card, self.projection).dimension

    def common(self, most: int) -> list[str]:
        """Return the whole words of the table's vocabulary, in its order: usually the most frequent ones first."""
        vocabulary = self.table.tokenizer.get_vocab()
        whole = (word for word in sorted(vocabulary, key=vocabulary.__getitem__) if words_of(word) == [word])
        return [word for word, _ in zip(whole, range(most), strict=False)]

    def of(self, words: Sequence[str]) -> np.ndarray:
        """Return the vectors of words, float32 (words, dimension), not scaled: sums of the rows of their wordpieces."""
        vectors = self.table.sums(words)
        for one in self.projection:
            vectors = one.turned(vectors)
        return vectors


def short_decimals(vectors: np.ndarray, error: float = 1e-3) -> list[list[float]]:
    """Return vectors with as few decimals as leave each with at most a relative error; a vector of zeros is empty."""
    import numpy as np

    whole = vectors.astype(np.float64)
    lengths = np.linalg.norm(whole, axis=1)
    found: list[list[float]] = [[] for _ in whole]
    left, decimals = np.flatnonzero(lengths), 0
    while left.size:
        rounded = whole[left].round(decimals)
        short = np.linalg.norm(rounded - whole[left], axis=1) <= error * lengths[left]
        for place, vector in zip(left[short], rounded[short].tolist(), strict=True):
            found[place] = vector
        left, decimals = left[~short], decimals + 1
    return found
