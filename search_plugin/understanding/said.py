"""Words and phrases of a query as conditions on the words of papers."""

from __future__ import annotations

import re
from typing import Literal

from search_plugin.contract.tree import Filter, Says, Wild, WildPhrase, all_of
from search_plugin.words.terms import terms_of
from search_plugin.words.wildcards import is_pattern

_BLANK = re.compile(r"[\s\-\u2010-\u2015/]+")

TextField = Literal["title", "text"]


def saying(field: TextField, words: str, language: str) -> Filter | None:
    """Return the condition that words stand side by side, of which some may be patterns; None for stop words alone."""
    parts = [part for part in _BLANK.split(words) if part]
    if not any(map(is_pattern, parts)):
        return Says(field, words) if any(terms_of(words, language)) else None
    read: list[str | Wild] = []
    for part in parts:
        if is_pattern(part):
            read.append(Wild(field, part))
        else:
            read += re.findall(r"\w+", part)
    if len(read) == 1:
        return read[0] if isinstance(read[0], Wild) else None
    return WildPhrase(field, words, tuple(read))


def saying_each(field: TextField, words: str, language: str) -> Filter | None:
    """Return the condition that a text says each of some words, which need not stand side by side."""
    return all_of(*dict.fromkeys(saying(field, word, language) for word in words.split()))
