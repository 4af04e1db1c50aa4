"""Queries that compare: "SARS-CoV-2 vs influenza"."""

from __future__ import annotations

import re

from search_plugin.contract.tree import And, Says
from search_plugin.understanding.known import Preference
from search_plugin.words.terms import terms_of

MOST_WORDS = 8
"""A longer query is a sentence."""

_AGAINST = re.compile(r"(?P<one>\S.*?)\s+(?:vs\.?|versus)\s+(?P<other>.*\S)", re.IGNORECASE)


def compared(query: str, language: str) -> Preference | None:
    """Return the preference for papers that say all words on both sides of a "vs"; None if the query has none.

    Args:
        query: Without identifiers.
        language: Of the index.

    Returns:
        The preference. Without it, papers that say the rarer side alone would come before those that compare.
    """
    found = _AGAINST.fullmatch(query.rstrip(" ?."))
    if not found or len(query.split()) > MOST_WORDS:
        return None
    sides = [
        [word for word in side.split() if any(terms_of(word, language))] for side in (found["one"], found["other"])
    ]
    if not all(sides):
        return None
    where = And(tuple(Says("text", word) for side in sides for word in side))
    return Preference("compared", where, f"with both {found['one']} and {found['other']}")
