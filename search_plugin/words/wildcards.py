"""Words with wildcards, such as `vaccin*` and `wom?n`, compared with the terms of an index.

An index holds the stems of words, so that a paper says a word if it says another form of it. `vaccination*` therefore
finds what `vaccination` finds: the terms of a pattern are those that begin like it, and the stems of the words that it
makes with usual endings. Nothing is looked up, so every engine and every index reads a pattern alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from string import ascii_lowercase, digits

from search_plugin.words.terms import LONGEST_WORD, UNSPACED, folded, term_of

FEWEST_LETTERS = 3
"""Letters and digits of a pattern; a shorter one stands for too many words."""

MOST_OPTIONAL = 2
"""Signs for one letter in a pattern."""

_PATTERN = re.compile(f"[^\\W_{UNSPACED}*?]*(?:[*?][^\\W_{UNSPACED}*?]*)+")
_FEW = "aeiouysz"
"""Letters that stand for a sign before a star: those in which spellings differ."""

_ENDINGS = """
izations isations izational isational izing ising ized ised izes ises izer isers ingly edly fulness ousness iveness
nesses ments ational ational ability abilities ances ences ancies encies ancy ency ically ities ists isms ators ative
ations ious ously ful less ally ways like ship hoods ated ates ating ies ied ier iest ying
"""

_FILLERS = ("", "a", "ba", "bana")


def is_pattern(word: str) -> bool:
    """Return whether a word is a pattern: letters and digits with `*` for any, `?` for one letter or none."""
    literal = sum(map(str.isalnum, word))
    # A question ends with the same sign.
    return (
        bool(_PATTERN.fullmatch(word))
        and word.strip("?") == word
        and literal >= FEWEST_LETTERS
        and len(word) <= LONGEST_WORD
        and word.count("?") <= MOST_OPTIONAL
        and word.replace("?", "").count("*") <= MOST_OPTIONAL
    )


def terms_like(pattern: str, language: str) -> tuple[tuple[str, ...], str]:
    """Return the terms that a pattern stands for, and an expression for all others; empty if there are no others.

    The expression holds letters, digits and dots alone, and is in the part of the language that Lucene, Rust and Python
    read alike.
    """
    parts = re.split(r"\*+", folded(pattern))
    if len(parts) == 1:
        words = set(_variants(parts[0], ascii_lowercase + digits))
        return _terms(words, language), ""
    expression = ".*".join(part.replace("?", ".?") for part in parts)
    if any(parts[1:]):
        expression = _with_stemmed_tail(parts, expression, language)
        return _beside(expression, set(_filled(parts)), language), expression
    endings = _endings() if language == "english" else [""]
    words = {start + ending for start in _variants(parts[0], _FEW) for ending in endings}
    return _beside(expression, words, language), expression


def _beside(expression: str, words: set[str], language: str) -> tuple[str, ...]:
    """Return the terms of words that an expression does not match."""
    like = re.compile(expression)
    return tuple(term for term in _terms(words, language) if not like.fullmatch(term))


def _filled(parts: list[str]) -> Iterator[str]:
    """Yield words with up to two letters in the place of the only star, of which the stemmer may cut the end off."""
    if len(parts) > 2 or not all(parts) or "?" in "".join(parts):
        return
    for length in range(3):
        yield from ("".join(letters).join(parts) for letters in product(ascii_lowercase, repeat=length))


def _terms(words: set[str], language: str) -> tuple[str, ...]:
    stems = {term_of(word, language) for word in words}
    return tuple(sorted(stems - {""}))


def _variants(text: str, letters: str) -> Iterator[str]:
    """Yield a text with each sign for one letter replaced by nothing, and by each of some letters."""
    for chosen in product(["", *letters], repeat=text.count("?")):
        given = iter(chosen)
        yield "".join(next(given) if char == "?" else char for char in text)


def _endings() -> list[str]:
    """Return the usual endings of English words, and their own ends: a pattern may stop inside of one."""
    return sorted({ending[at:] for ending in _ENDINGS.split() for at in range(len(ending) + 1)} | {"s", "e"})


def _with_stemmed_tail(parts: list[str], expression: str, language: str) -> str:
    """Return an expression also for terms of which the stemmer has changed the end."""
    *before, tail = parts
    if not tail or "?" in tail:
        return expression
    head = before[-1].replace("?", "")
    starts = [head + filler for filler in _FILLERS]
    stems = {start: term_of(start + tail, language) for start in starts}
    tails = {tail, *(stem[len(start) :] for start, stem in stems.items() if stem.startswith(start))} - {""}
    start = expression[: len(expression) - len(tail)]
    return start + f"({'|'.join(sorted(tails))})" if len(tails) > 1 else expression
