"""Words with wildcards, such as `vaccin*` and `wom?n`, compared with words as they are written.

An index holds the stems of words, of which several words have the same: hospital and hospitalized. So the terms that a
pattern stands for find all papers with a word like it, and others too. Of most terms the letters alone say that each of
their words is like the pattern. Papers with other terms have to be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from string import ascii_lowercase, digits

from search_plugin.words.languages import get_language
from search_plugin.words.terms import LONGEST_WORD, UNSPACED, folded, term_of

FEWEST_LETTERS = 3
"""Letters and digits of a pattern; a shorter one stands for too many words."""

MOST_OPTIONAL = 2
"""Signs for one letter in a pattern."""

_PATTERN = re.compile(f"[^\\W_{UNSPACED}*?]*(?:[*?][^\\W_{UNSPACED}*?]*)+")
_FEW = "aeiouysztnl"
"""Letters that stand for a sign before a star: those in which spellings differ, and those that stemmers double."""

_ENDINGS = """
izations isations izational isational izing ising ized ised izes ises izer isers ingly edly fulness ousness iveness
nesses ments ational ational ability abilities ances ences ancies encies ancy ency ically ities ists isms ators ative
ations ious ously ful less ally ways like ship hoods ated ates ating ies ied ier iest ying ments ants ents ions ors
icational ications ality ibles ables ives alisms aliti logy logies ogist ogists ication ation ement ance ence ant
ent ic ics able ible ate ator ive ism ist
ization isation alization alisation alizations alisations alized alised alizes alises alizing alising alize alise ize
ivity ivities ativity alities ality ical itis alitis icity icities ials als ings erative atives entatives ently antly
ered ering ably ibly ionally ately ioned ioning icated icate icating ogis ogi eral erally atively ively icals izers
ionality ationally icitis ivitis fully entative enting ented nessing
"""

_FILLERS = ("", "a", "ba", "bana", "banab", "banaban")


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


@dataclass(frozen=True, slots=True)
class PatternTerms:
    """The terms that words like a pattern may have; an expression stands for all terms that it matches as a whole.

    Attributes:
        terms: Terms that the expression does not match.
        expression: The expression for all others.
        unsure: Those of them that words have too which are not like the pattern.
        unsure_expression: An expression for further ones; empty if there are none.
        partial: Whether words like the pattern may have still other terms: it begins with a star, and the stemmer may
            cut off all of its letters.
    """

    terms: tuple[str, ...]
    expression: str
    unsure: tuple[str, ...]
    unsure_expression: str = ""
    partial: bool = False

    def is_unsure(self, term: str) -> bool:
        """Return whether words that are not like the pattern may have a term."""
        return term in self.unsure or bool(re.fullmatch(self.unsure_expression, term))


def is_like(pattern: str, word: str) -> bool:
    """Return whether a word, as it is written, is like a pattern; case and accents do not count."""
    return bool(_compiled(pattern).fullmatch(folded(word)))


@lru_cache(maxsize=1 << 10)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(_expression(folded(pattern)))


def _expression(text: str) -> str:
    """Return the expression of a pattern, in the part of the language that Lucene, Rust and Python read alike."""
    return re.sub(r"\*+", ".*", text.replace("?", ".?"))


@lru_cache(maxsize=1 << 10)
def patterned_terms(pattern: str, language: str) -> PatternTerms:
    """Return the terms that words like a pattern may have.

    The expressions hold letters, digits, dots and signs of repetition and choice alone.
    """
    text = re.sub(r"\*+", "*", folded(pattern))
    parts, expression = text.split("*"), _expression(text)
    if not get_language(language).stemmer:
        return PatternTerms((), expression, ())
    if len(parts) == 1:
        # A stemmer that is not ours may leave the words as they are.
        terms = _beside(expression, stems_of(_variants(text, ascii_lowercase + digits), language))
        return PatternTerms(terms, expression, terms, expression)
    endings = _endings() if language == "english" else [""]
    if any(parts[1:]):
        return _around(parts, expression, endings, language)
    start = parts[0]
    unsure = _changed(start, language)
    if "?" in start:
        others = [one for one in _cut(start, endings, language) if one not in unsure]
        return PatternTerms((), "|".join([expression, *others]), (), "|".join([*unsure, *others]))
    beside = _beside(expression, stems_of((start + ending for ending in endings), language))
    return PatternTerms(beside, expression, beside, "|".join(unsure))


def _changed(start: str, language: str) -> list[str]:
    """Return expressions for the terms with a beginning that words have too which begin otherwise.

    A stemmer changes the last letters of what it leaves: the English ones make y an i, add an e, and make bili ble. The
    German one changes none.
    """
    if language == "german":
        return []
    if language != "english":
        return [f"{_expression(start)}.?"]
    changed = [start] if start[-1] in "eily?" else []
    return [*map(_expression, changed), *([f"{_expression(start)}e"] if start[-1] in "l?" else [])]


def _cut(start: str, endings: Iterable[str], language: str) -> list[str]:
    """Return expressions for the terms of words with a beginning of which the stemmer has cut or changed the end."""
    whole, found = re.compile(_expression(start) + ".*"), set[str]()
    for begun in _variants(start, ascii_lowercase if start.count("?") == 1 else _FEW):
        for stem in stems_of((begun + ending for ending in endings), language):
            if whole.fullmatch(stem):
                continue
            kept = begun[: next((at for at in range(len(begun)) if begun[at] != stem[at : at + 1]), len(begun))]
            for end in range(len(kept), len(kept) + start.count("?") + 1):
                if re.fullmatch(_expression(start[:end]), kept):
                    found.add(_expression(start[:end]) + stem[len(kept) :])
                    break
    return sorted(found)


def _beside(expression: str, terms: Iterable[str]) -> tuple[str, ...]:
    """Return the terms that an expression does not match."""
    like = re.compile(expression)
    return tuple(sorted(term for term in set(terms) if term and not like.fullmatch(term)))


def stems_of(words: Iterable[str], language: str) -> Iterator[str]:
    """Yield the terms of words; both English stemmers that engines have count."""
    import Stemmer

    older = Stemmer.Stemmer("porter", 0) if language == "english" else None
    for word in set(words):
        yield term_of(word, language)
        if older:
            yield older.stemWord(word)


def _variants(text: str, letters: str) -> Iterator[str]:
    """Yield a text with each sign for one letter replaced by nothing, and by each of some letters."""
    for chosen in product(["", *letters], repeat=text.count("?")):
        given = iter(chosen)
        yield "".join(next(given) if char == "?" else char for char in text)


def _endings() -> list[str]:
    """Return the usual endings of English words, and their own ends: a pattern may stop inside of one."""
    return sorted({ending[at:] for ending in _ENDINGS.split() for at in range(len(ending) + 1)} | {"s", "e"})


def _around(parts: list[str], expression: str, endings: list[str], language: str) -> PatternTerms:
    """Return the terms of a pattern with a star that is not at its end, of which the stemmer may change the end."""
    last = next(part for part in reversed(parts) if part)
    open_end = "" if parts[-1] else ".*"
    tails = set[str]()
    for filler in _FILLERS:
        words = [f"{filler}{tail}{one}" for tail in _variants(last, _FEW) for one in (endings if open_end else [""])]
        tails |= {stem[len(filler) :] for stem in stems_of(words, language) if stem.startswith(filler)}
    inside = any(last in ending if open_end else ending.endswith(last) for ending in endings)
    cut = "" in tails or inside
    if cut and parts[0]:  # what stands for the star too
        begun = patterned_terms(f"{parts[0]}*", language)
        return PatternTerms(begun.terms, begun.expression, begun.terms, begun.expression)
    own = _expression(last) + open_end
    others = sorted(tail for tail in tails if tail and not re.fullmatch(own, tail))
    if others:
        at = expression.rindex(_expression(last))
        expression = f"{expression[:at]}({'|'.join([own, *others])})"
    return PatternTerms((), expression, (), expression, partial=cut)
