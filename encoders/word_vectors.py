"""Vectors of single words by a table: the vector of a query is the direction of the sum of those of its words.

So a program that knows the words' vectors needs neither the table nor its tokenizer. With the vectors of the pieces
of words (WordPiece: Wu et al. 2016, section 4.1) it makes those of all other words too.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from corpora.errors import InputError
from corpora.lazy import np
from encoders.projection import VectorProjection, projected_card
from encoders.static import StaticEncoder
from encoders.tokens.tokenizer import CONTINUES, splits_as_bert

LONGEST = 64
"""Characters of the longest word; longer ones are no words that anybody types."""

# Signs that are words of their own though Unicode does not count them as punctuation: symbols of ASCII.
_SYMBOLS = "$+<=>^`|~"
_IDEOGRAPHS = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2CEAF))
_TRIAL = "Étude of NAÏVE T cells 2019 über Immunhistochemie"


def words_of(text: str) -> list[str]:
    """Return the words of a text in small letters, without accents; a sign such as a comma is a word of its own.

    Programs in other languages split queries by the same rule, that of BERT's tokenizer (docs/front-ends.md).

    >>> words_of("The naïve T-cell, IL-2")
    ['the', 'naive', 't', '-', 'cell', ',', 'il', '-', '2']
    """
    if text.isascii():
        return text.translate(_ASCII).split()
    return "".join(map(_folded, unicodedata.normalize("NFD", text))).split()


@lru_cache(maxsize=65_536)
def _folded(sign: str) -> str:
    """Return what a character of a decomposed text is in a word; between spaces if it is a word of its own."""
    kind = unicodedata.category(sign)
    if sign in "\t\n\r" or kind in ("Zs", "Zl", "Zp"):
        return " "
    if kind in ("Mn", "Cc", "Cf", "Co", "Cs") or sign == "\ufffd":
        return ""
    if kind[0] == "P" or sign in _SYMBOLS or any(first <= ord(sign) <= last for first, last in _IDEOGRAPHS):
        return f" {sign} "
    return sign.lower()


_ASCII = {code: _folded(chr(code)) for code in range(128)}


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

    @cached_property
    def pieces(self) -> Mapping[str, int]:
        """The pieces of which the tokenizer makes words, with their numbers; none for one that is not as BERT's.

        One of them stands for a word that can't be split.
        """
        tokenizer = self.table.tokenizer
        if not splits_as_bert(tokenizer):
            return {}
        unknown = str(tokenizer.model.unk_token)
        vocabulary = tokenizer.get_vocab()
        found = {
            piece: vocabulary[piece] for piece in sorted(vocabulary, key=vocabulary.__getitem__) if _in_words(piece)
        }
        return found | {unknown: vocabulary[unknown]}

    def of(self, words: Sequence[str]) -> np.ndarray:
        """Return the vectors of words and pieces, float32 (words, dimension), not scaled: sums of rows of the table."""
        tokens = {place: self.pieces[word] for place, word in enumerate(words) if word in self.pieces}
        vectors = self.table.sums(["" if place in tokens else word for place, word in enumerate(words)])
        known = {place: token for place, token in tokens.items() if token not in self.table.ignored}
        vectors[list(known)] = self.table.table.of(np.array(list(known.values()), np.int64))
        for one in self.projection:
            vectors = one.turned(vectors)
        return vectors


def _in_words(piece: str) -> bool:
    """Return whether a word of a text can have a piece of the vocabulary; `[unused7]` is never one."""
    whole = f"a{piece.removeprefix(CONTINUES)}" if piece.startswith(CONTINUES) else piece
    return words_of(whole) == [whole]


def short_decimals(vectors: np.ndarray, error: float = 1e-3) -> list[list[float]]:
    """Return vectors with as few decimals as leave each with at most a relative error; a vector of zeros is empty."""
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
