"""BM25 in memory over a few thousand texts, by rank-bm25: the row beside vectors where there is no engine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from corpora.errors import UnavailableError

if TYPE_CHECKING:
    import numpy as np

_WORD = re.compile(r"\w+")


class Words:
    """Texts that queries are compared with (Okapi BM25, k1 1.5 and b 0.75, words stemmed as in English)."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Take the texts, or raise `UnavailableError` without rank-bm25."""
        import Stemmer

        try:
            from rank_bm25 import BM25Okapi
        except ImportError as error:
            raise UnavailableError("BM25 in memory needs rank-bm25; install it: pip install 'ses[eval]'.") from error
        self._stem = Stemmer.Stemmer("english").stemWords
        self._index = BM25Okapi([self._words(text) or [""] for text in texts])

    def scores(self, query: str) -> np.ndarray:
        """Return the score of every text, float64 (texts,); each word of the query counts once."""
        found: np.ndarray = self._index.get_scores(list(dict.fromkeys(self._words(query))))
        return found

    def _words(self, text: str) -> list[str]:
        stemmed: list[str] = self._stem(_WORD.findall(text.lower()))
        return stemmed
