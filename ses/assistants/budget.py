"""How much of an assistant's context an answer takes, and how texts are cut to fit.

Each assistant has a tokenizer of its own, which no server knows. So tokens are estimated: four bytes of UTF-8 are one,
about as much as tokenizers make of English, and rather more than they make of other scripts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from corpora.lazy import orjson

LEAST, DEFAULT, MOST = 2_000, 5_000, 50_000
"""Tokens of an answer: the bounds of what can be asked for, and what applies otherwise."""

BYTES_PER_TOKEN = 4

_WORD = 60
"""Characters within which a cut looks for the end of a word."""


def size_of(content: Any) -> int:
    """Return how many bytes a value has as JSON."""
    return len(orjson.dumps(content))


def tokens_of(content: Any) -> int:
    """Return about how many tokens a value has as JSON."""
    return math.ceil(size_of(content) / BYTES_PER_TOKEN)


def first_part(text: str, most: int) -> str:
    """Return the longest beginning of a text that has at most so many bytes as JSON, cut between words if it can be."""
    if size_of(text) - 2 <= most:
        return text
    low, high = 0, min(len(text), max(most, 0))
    while low < high:
        middle = (low + high + 1) // 2
        if size_of(text[:middle]) - 2 <= most:
            low = middle
        else:
            high = middle - 1
    blank = max(text.rfind(blank, max(low - _WORD, 0), low) for blank in " \n")
    return text[: blank + 1 or low]


def fitting(results: Sequence[Mapping[str, Any]], room: int) -> list[Mapping[str, Any]]:
    """Return the first results that together have at most so many bytes as JSON; always one, if there is any."""
    kept: list[Mapping[str, Any]] = []
    for one in results:
        room -= size_of(one) + 1
        if kept and room < 0:
            break
        kept.append(one)
    return kept


def within(values: Iterable[tuple[str, Any]], room: int) -> tuple[dict[str, Any], list[str]]:
    """Return those of some named values that together have at most so many bytes as JSON, and the names of others."""
    kept: dict[str, Any] = {}
    left: list[str] = []
    for name, value in values:
        size = size_of({name: value})
        if size <= room:
            kept[name], room = value, room - size
        else:
            left.append(name)
    return kept, left
