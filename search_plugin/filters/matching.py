"""What filters mean: the reference that the rendering of every engine must match.

Stored values that are like a typed text (`Alike`) are found by regular expressions first. These are in the part of the
language that Lucene, Rust and Python read alike, and hold only letters, digits and classes: no character of the user's
that could be syntax. They may find too much, never too little; `accepts` decides, so all engines agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import product

from corpora.cleaning import first_day
from corpora.paper import Paper
from search_plugin.contract.schema import PAPER_FIELDS, Field, find_field
from search_plugin.contract.tree import (
    RELATIONS,
    Alike,
    And,
    Begun,
    Compare,
    Exists,
    Filter,
    Manner,
    Nearness,
    Not,
    OneOf,
    Or,
    Says,
    TermLike,
    Value,
    Wild,
    WildPhrase,
)
from search_plugin.words.language_names import names_of_language
from search_plugin.words.languages import DEFAULT_LANGUAGE
from search_plugin.words.names import family_keys, same_author, stored_readings
from search_plugin.words.names import fold as fold_name
from search_plugin.words.terms import TOKEN, shorter_terms, stand_near, stand_together, term_of, terms_of
from search_plugin.words.wildcards import is_like

ANYTHING = "([ -~]|[^ -~])*"

_LONGEST = 40
"""Characters of a text that an expression compares; servers refuse expressions of more than 1,000 characters."""

_LONGEST_PATTERN = 900

_LETTERS_OF_NAME = 4
"""Letters of a family name that an expression compares, few since any may be written with a diacritic or as two."""

_INITIALS = 2
"""Letters of a last word that may be initials."""

_OTHER = "[^ -~]"
_BETWEEN = "[ -/:-@_`]*"
"""Hyphens and apostrophes within a family name."""


def matches(  # noqa: C901 - one case for each kind of node
    where: Filter, paper: Paper, fields: Sequence[Field] = PAPER_FIELDS, language: str = DEFAULT_LANGUAGE
) -> bool:
    """Return whether a paper of an index with these fields, in this language, matches a filter."""
    match where:
        case Compare(field, op, value):
            return any(RELATIONS[op](held, value) for held in _held(paper, field, fields))
        case OneOf(field, values):
            return any(held in values for held in _held(paper, field, fields))
        case Alike(field):
            return any(accepts(where, str(held)) for held in _held(paper, field, fields))
        case Exists(field):
            return bool(_held(paper, field, fields))
        case Says(field, words):
            wanted = terms_of(words, language)
            return any(stand_together(wanted, terms_of(text, language)) for text in texts_of(paper, field))
        case Begun(start):
            known = {*shorter_terms(start), term_of(start, language)}
            return any(term.startswith(start) or term in known for term in terms_of(paper.title, language) if term)
        case TermLike(field, known, expression):
            terms = {term for text in texts_of(paper, field) for term in terms_of(text, language)} - {""}
            return any(term in known or bool(re.fullmatch(expression, term)) for term in terms)
        case Wild() | WildPhrase():
            return any(True for text in texts_of(paper, where.field) for _ in runs_like(where, text, language))
        case Nearness(field, one, other, within):
            near = (terms_of(one, language), terms_of(other, language), within)
            return any(stand_near(*near, terms_of(text, language)) for text in texts_of(paper, field))
        case Not(part):
            return not matches(part, paper, fields, language)
        case And(parts):
            return all(matches(part, paper, fields, language) for part in parts)
        case Or(parts):
            return any(matches(part, paper, fields, language) for part in parts)


def runs_like(where: Wild | WildPhrase, text: str, language: str = DEFAULT_LANGUAGE) -> Iterator[list[str]]:
    """Yield the words of a text, side by side as they are written, that patterns and words stand for.

    In the place of a stop word any word may stand.
    """
    wanted = [where] if isinstance(where, Wild) else [_as_term(one, language) for one in where.words]
    words = [token[0] for token in TOKEN.finditer(text)]
    for at in range(len(words) - len(wanted) + 1):
        run = words[at : at + len(wanted)]
        if all(_is(one, word, language) for one, word in zip(wanted, run, strict=True)):
            yield run


def _as_term(one: str | Wild, language: str) -> str | Wild:
    return one if isinstance(one, Wild) else term_of(one, language)


def _is(wanted: str | Wild, word: str, language: str) -> bool:
    return is_like(wanted.typed, word) if isinstance(wanted, Wild) else wanted in ("", term_of(word, language))


def texts_of(paper: Paper, field: str) -> tuple[str, ...]:
    """Return the title, or title and abstract for `text`."""
    return (paper.title,) if field == "title" else (paper.title, paper.abstract)


def _held(paper: Paper, field: str, fields: Sequence[Field]) -> tuple[Value, ...]:
    held = paper.value(field)
    if held is None:
        return ()
    if isinstance(held, tuple):
        return held
    return (first_day(held),) if isinstance(held, str) and find_field(field, fields).kind == "date" else (held,)


def fold(text: str) -> str:
    """Return a text in the form in which case does not count; character by character, so that lengths stay."""
    return "".join(map(_lower, text))


def _lower(char: str) -> str:
    lowered = char.lower()
    # The Kelvin sign and its like become ASCII, which no engine's search for a letter would find.
    return lowered if len(lowered) == 1 and lowered.isascii() == char.isascii() else char


def accepts(like: Alike, stored: str) -> bool:
    """Return whether a stored value is like one that the user typed."""
    return any(_accepts(like.manner, value, stored) for value in _meant(like))


def _meant(like: Alike) -> Iterator[str]:
    for value in like.values:
        yield from names_of_language(value) if (like.field, like.manner) == ("language", "same") else (value,)


def _accepts(manner: Manner, value: str, stored: str) -> bool:
    if manner == "name":
        return fold(value) == fold(stored) or same_author(value, stored)
    if manner == "family":
        families = ("".join(name.core) for name in stored_readings(stored))
        begins = any(family.startswith(_key(value)) for family in families) if _key(value) else False
        return begins or _accepts("name", value, stored) or _accepts("prefix", value, stored)
    if manner == "same":
        return fold(value) == fold(stored)
    return fold(stored).startswith(fold(value))


def patterns(like: Alike) -> list[str]:
    """Return expressions of which at least one matches each whole stored value that `accepts` would accept."""
    return [pattern for value in _meant(like) for pattern in _patterns(like.manner, value)]


def _patterns(manner: Manner, value: str) -> list[str]:
    if manner == "name":
        return sorted({*map(_of_family, family_keys(value)), *_patterns("same", value)})
    if manner == "family":
        begun = [_of_family(_key(value))] if _key(value) else []
        return sorted({*begun, *_patterns("name", value), *_patterns("prefix", value)})
    return [_spelled(value) + (ANYTHING if manner == "prefix" or len(value) > _LONGEST else "")]


def _key(start: str) -> str:
    """Return the beginning of a family name as one folded word; empty where initials end the text."""
    words = fold_name(start)
    return "".join(words) if len(words) == 1 or (words and len(words[-1]) > _INITIALS) else ""


def _spelled(value: str) -> str:
    return "".join(map(_character, fold(value[:_LONGEST])))


def _character(char: str) -> str:
    if not " " <= char <= "~":
        return _OTHER
    if char.isalpha():
        return f"[{char}{char.upper()}]"
    return char if char.isdigit() else "[ -~]"


def _of_family(key: str) -> str:
    """Return the expression for a folded family name: its first letters, up to one that is not in ASCII."""
    letters = [_character(char) for char in key[:_LETTERS_OF_NAME]]
    tail = letters[-1]
    for letter in reversed(letters[:-1]):
        tail = f"{letter}{_BETWEEN}({_OTHER}|{tail})"
    # A first letter such as Ø or Æ is one or two letters of the key.
    start = f"{_OTHER}{_BETWEEN}({'|'.join([_OTHER, *letters[1:3]])})" if len(letters) > 2 else _OTHER
    return f"{ANYTHING}({tail}|{start}){ANYTHING}"


def joined(patterns: Sequence[str]) -> list[str]:
    """Return fewer expressions that match the same: short ones as alternatives of one, those with wildcards alone."""
    parts: list[str] = []
    for pattern in dict.fromkeys(patterns):
        together = f"{parts[-1]}|{pattern}" if parts else pattern
        if parts and len(together) <= _LONGEST_PATTERN and "*" not in together:
            parts[-1] = together
        else:
            parts.append(pattern)
    return parts


def beginnings(values: Sequence[str]) -> list[str]:
    """Return expressions for values with a word that begins like one of some texts; the rest may be misspelled."""
    words = {fold(word)[:2] for value in values for word in re.findall(r"\w{3,}", value)}
    return [word_like(word) for word in sorted(words)[:8]]


def word_like(start: str) -> str:
    """Return an expression for values with a word that begins like this, in any case."""
    return f"({ANYTHING}[ -/])?{_spelled(start)}{ANYTHING}"


def closeness(manner: Manner, value: str, stored: str) -> float:
    """Return how much a stored value resembles a typed one, from 0 to 1: by family name, or by letters and words."""
    if manner in ("name", "family"):
        families = {"".join(name.core) for name in stored_readings(stored)}
        return max((_ratio(*pair) for pair in product(family_keys(value), families)), default=0.0)
    one, other = (sorted(re.findall(r"\w+", fold(text))) for text in (value, stored))
    shared = len(set(one) & set(other)) / max(len(set(one)), 1)
    return max(_ratio(" ".join(one), " ".join(other)), 0.9 * shared)


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other).ratio()
