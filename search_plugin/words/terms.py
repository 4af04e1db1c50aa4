"""The terms of a text, as all engines compare words: by stem, without case and accents, without stop words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence, Set
from functools import lru_cache

from search_plugin.words.languages import DEFAULT_LANGUAGE, get_language

UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u0e00-\u109f\u1780-\u17ff"
"""Scripts written without spaces between words: kana, Han, Thai, Lao, Tibetan, Burmese and Khmer."""

MARKS = "\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f\u0962\u0963"
"""Marks that Python's \\w leaves out though they stand inside words: accents, Hebrew and Arabic points, Indic
vowels."""

TOKEN = re.compile(f"([{UNSPACED}]+)|[^\\W_{UNSPACED}]+(?:[{MARKS}][^\\W_{UNSPACED}]*)*")

SPACED = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
"""ASCII with letters in lower case, and a space for all that is no letter or digit. `str.translate` with it finds words
ten times as fast as a regular expression."""

_LETTERS = str.maketrans(
    {"\u00e6": "ae", "\u0153": "oe", "\u00f8": "o", "\u0142": "l", "\u0111": "d", "\u00f0": "d", "\u00fe": "th"}
    | {"\u00df": "ss", "\u0131": "i", "\u0127": "h", "\u0167": "t", "\u014b": "n", "\u0138": "q"}
)
"""Small letters that ASCII folding spells out although Unicode does not decompose them."""

_VOWELS = "aeiouy"

LONGEST_WORD = 64
"""Longer strings are not stemmed or remembered, so that no text can fill the memory."""

MOST_WORDS = 1 << 15
"""Words of a language that are remembered; if there are more, all are forgotten."""


def terms_of(text: str, language: str = DEFAULT_LANGUAGE) -> list[str]:
    """Return the terms of a text in their order, one for each position.

    A stop word gives an empty string. Text without spaces gives pairs of characters.
    """
    terms: list[str] = []
    for token in TOKEN.finditer(text):
        if token[1]:
            terms += [token[1][at : at + 2] for at in range(max(1, len(token[1]) - 1))]
        else:
            terms.append(term_of(token[0], language))
    return terms


def shorter_terms(start: str) -> list[str]:
    """Return the shorter terms, of three letters or more, that a word may have that begins like this."""
    return [start[:length] for length in range(3, min(len(start), LONGEST_WORD))]


def distinct_words(text: str) -> set[str]:
    """Return the different words of a text, in small letters without accents."""
    if text.isascii():
        return set(text.translate(SPACED).split())
    return {folded(token[0]) for token in TOKEN.finditer(text)}


def stand_together(wanted: Sequence[str], held: Sequence[str]) -> bool:
    """Return whether terms stand side by side in a text's terms; in the place of a stop word any word may stand."""
    there = [at for at, term in enumerate(wanted) if term]
    if not there:
        return False
    first, last = there[0], there[-1]
    return any(
        all(not wanted[first + step] or wanted[first + step] == held[at + step] for step in range(last - first + 1))
        for at in range(len(held) - last + first)
    )


def stand_near(one: Sequence[str], other: Sequence[str], within: int, held: Sequence[str]) -> bool:
    """Return whether two runs of terms stand in a text's terms with at most so many words between, in any order."""
    starts = [
        [at for at in range(len(held) - len(run) + 1) if list(held[at : at + len(run)]) == list(run)]
        for run in (one, other)
    ]
    return any(
        0 <= (there - here - len(one) if here < there else here - there - len(other)) <= within
        for here in starts[0]
        for there in starts[1]
    )


def folded(word: str) -> str:
    """Return a word in small letters without accents."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.lower().translate(_LETTERS))
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def term_of(token: str, language: str) -> str:
    """Return the term that a word is compared by; an empty string for a stop word."""
    return _cached_term(token, language) if len(token) <= LONGEST_WORD else folded(token)


@lru_cache
def _stop_words(language: str) -> frozenset[str]:
    return frozenset(map(folded, get_language(language).stop_words))


@lru_cache(maxsize=1 << 16)
def _cached_term(token: str, language: str) -> str:
    import Stemmer

    word, algorithm = folded(token), get_language(language).stemmer
    if word in _stop_words(language):
        return ""
    if not algorithm or len(word) > LONGEST_WORD:
        return word
    # Stemmers other than the English one use accents, which are removed afterwards.
    whole = word if algorithm == "english" else token.lower()
    # A stemmer has state, so threads can't share one; it is cheap to make.
    return folded(Stemmer.Stemmer(algorithm, 0).stemWord(whole))


class WordForms:
    """The words that texts held so far, by their terms: most words of a text were in others before it.

    Threads may share it.

    Args:
        language: A name in `search_plugin.words.languages`.
    """

    def __init__(self, language: str) -> None:
        self._language = language
        self._remembered: tuple[set[str], dict[str, set[str]]] = set(), {}

    @property
    def known(self) -> Set[str]:
        """The words that are remembered."""
        return self._remembered[0]

    def spelling(self, terms: Set[str], words: set[str]) -> Iterator[tuple[str, str]]:
        """Yield those of some words that have one of some terms, each with its term."""
        if len(self.known) > MOST_WORDS:
            self._remembered = set(), {}
        known, by_term = self._remembered
        for word in words - known:
            term = term_of(word, self._language)
            if len(word) <= LONGEST_WORD:
                by_term.setdefault(term, set()).add(word)
                known.add(word)  # last: other threads take what is known as complete
            elif term in terms:
                yield word, term
        for term in terms:
            for word in words.intersection(by_term.get(term, ())):
                yield word, term


@lru_cache
def word_forms(language: str) -> WordForms:
    """Return the words of a language, the same for all searches."""
    return WordForms(language)


def edits(one: str, other: str, *, consonant: float = 1.5) -> float:
    """Return the cost of the insertions, deletions, substitutions and swaps of neighbours from one word to another.

    The restricted Damerau-Levenshtein distance (Boytsov, "Indexing methods for approximate dictionary searching", 2011,
    section 2.1), where to substitute a consonant may cost more: words that differ in one are mostly two words.
    """
    before: list[float] = []
    last: list[float] = [float(at) for at in range(len(other) + 1)]
    for at, letter in enumerate(one, 1):
        row = [float(at)]
        for to, wanted in enumerate(other, 1):
            substitution = 1.0 if letter in _VOWELS and wanted in _VOWELS else consonant
            if letter == wanted:
                substitution = 0.0
            cost = min(last[to] + 1, row[to - 1] + 1, last[to - 1] + substitution)
            if at > 1 and to > 1 and letter == other[to - 2] and wanted == one[at - 2]:
                cost = min(cost, before[to - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]
