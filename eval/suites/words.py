"""BM25 in memory over a few thousand texts, by rank-bm25: the baseline of protocols that need no engine."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence

import numpy as np

from eval.optional import optional

_WORD = re.compile(r"\w+")


class OkapiBm25:
    """Texts that queries are compared with (Okapi BM25, k1 1.5 and b 0.75, words stemmed as in English)."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Take the texts, or raise `UnavailableError` without rank-bm25."""
        import Stemmer

        okapi = optional("rank_bm25", "BM25 in memory needs rank-bm25").BM25Okapi
        self._stem = Stemmer.Stemmer("english").stemWords
        index = okapi([self._words(text) or [""] for text in texts])
        self._texts = len(texts)
        # By word, the texts that have it and how often, because rank-bm25 itself looks each word up in every text.
        found: dict[str, tuple[array[int], array[float]]] = {}
        for row, counts in enumerate(index.doc_freqs):
            for word, count in counts.items():
                rows, often = found.setdefault(word, (array("i"), array("d")))
                rows.append(row)
                often.append(count)
        share = index.k1 * (1 - index.b + index.b * np.array(index.doc_len) / index.avgdl)
        self._postings: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for word, (rows, often) in found.items():
            places, counts = np.frombuffer(rows, np.int32), np.frombuffer(often)
            self._postings[word] = places, index.idf[word] * (counts * (index.k1 + 1) / (counts + share[places]))

    def scores(self, query: str) -> np.ndarray:
        """Return the score of every text, float64 (texts,); each word of the query counts once."""
        found = np.zeros(self._texts)
        for word in dict.fromkeys(self._words(query)):
            if word in self._postings:
                rows, parts = self._postings[word]
                found[rows] += parts
        return found

    def _words(self, text: str) -> list[str]:
        stemmed: list[str] = self._stem(_WORD.findall(text.lower()))
        return stemmed
