"""Search histories: numbered lines, of which later ones join earlier ones by their numbers."""

from __future__ import annotations

import re
from itertools import pairwise

from corpora.errors import InputError, require
from search_plugin.words.language_names import names_of_language

_NUMBER = r"(?:\#|S|L)?(\d{1,3})"
_LINE = re.compile(rf"\s*{_NUMBER}(?:[.:)]\s*|\s+)(\S.*?)(?:\t\s*[\d,]+)?\s*", re.IGNORECASE)
"""A line with its number; systems that show how many papers it finds put that behind a tab."""

_JOINS = re.compile(
    rf"""
    \(*{_NUMBER}\)*(?:\s+(?:and|or|not)\s+\(*{_NUMBER}\)*)+
    | (?P<all>and|or)/(?P<of>\d{{1,3}}\s*[-,][\d\s,-]*)
    | limit\s+{_NUMBER}\s+to\b(?P<to>.*)
    | .*(?<![\w\#])\#\d{{1,3}}\s+(?:and|or|not)\b.*
    | .*\b(?:and|or|not)\s+\#\d{{1,3}}(?!\w).*
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SPAN = re.compile(r"(\d{1,3})(?:\s*-\s*(\d{1,3}))?")
_YEARS = re.compile(r"yr\s*=\s*\W?(\d{4}(?:\s*-\s*(?:\d{4}|current))?)", re.IGNORECASE)

_LONGEST = 50_000
"""Characters of a search after each number has been replaced by its line."""


def joins_lines(text: str) -> bool:
    """Return whether a text joins lines of a search history by their numbers."""
    return bool(_JOINS.fullmatch(text))


def with_lines(text: str) -> str:
    """Return the last line of a search history with earlier lines, in brackets, in the place of their numbers.

    A text that is no history stays as it is. Raises `InputError` if a line names one that is not before it, or if the
    search becomes longer than 50,000 characters.
    """
    found = [_LINE.fullmatch(line) for line in text.splitlines() if line.strip()]
    lines = [(int(line[1]), line[2]) for line in found if line]
    numbers = [number for number, _ in lines]
    if len(lines) < max(2, len(found)) or numbers != sorted(set(numbers)) or not joins_lines(lines[-1][1]):
        return text
    known: dict[int, str] = {}
    for number, said in lines:
        known[number] = _joined(said, known) if joins_lines(said) else said
        require(len(known[number]) <= _LONGEST, "The lines of the search history are too long", "join fewer")
    return known[numbers[-1]]


def _joined(said: str, known: dict[int, str]) -> str:
    whole = _JOINS.fullmatch(said)
    if whole and whole["all"]:
        spans = [(int(span[1]), int(span[2] or span[1])) for span in _SPAN.finditer(whole["of"])]
        numbers = [number for first, last in spans for number in range(first, last + 1)]
        return f" {whole['all'].upper()} ".join(_line(number, known) for number in numbers)
    if whole and whole["to"] is not None:
        return " AND ".join([_line(int(re.findall(r"\d+", said)[0]), known), *_limits(whole["to"])])
    said = re.sub(r"\b(?:and|or|not)\b", lambda found: found[0].upper(), said, flags=re.IGNORECASE)
    number = rf"(?<![\w#/]){'#' if '#' in said else '[#SL]?'}(\d{{1,3}})(?!\w)"
    return re.sub(number, lambda found: _line(int(found[1]), known), said, flags=re.IGNORECASE)


def _line(number: int, known: dict[int, str]) -> str:
    if number not in known:
        raise InputError(f"The search history has no line {number} before the one that names it", "paste all its lines")
    return f"({known[number]})"


def _limits(said: str) -> list[str]:
    """Return what Ovid limits a line to: years and languages; anything else is a field that has no counterpart."""
    years = [f"PY=({span})" for span in _YEARS.findall(said)]
    words = re.findall(r"[^\W\d]+", _YEARS.sub(" ", said))
    languages = [word for word, after in pairwise(words) if after.lower() == "language"]
    named = [f"LA={word}" for word in languages if len(names_of_language(word)) > 1]
    others = [word for word in words if word.lower() not in ("and", "or", "language") and f"LA={word}" not in named]
    return [*years, *named, *([f"LIMIT-TO({' '.join(others)})"] if others else [])]
