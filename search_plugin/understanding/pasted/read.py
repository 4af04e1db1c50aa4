"""What a pasted search is here: a condition, the words that rank, and what has no counterpart.

A search is split into tokens that mean the same in all systems (`tokens.py`) and read into a tree (`trees.py`), of
which `_Builder` makes a condition.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from corpora.errors import InputError, require
from search_plugin.contract.schema import PAPER_FIELDS, Field, find_field
from search_plugin.contract.tree import MOST_BETWEEN, And, Compare, Filter, Nearness, Not, Or, joined
from search_plugin.filters.parse import TextField, as_query, comparison, parse_filter, saying, saying_each
from search_plugin.understanding.pasted.lines import joins_lines
from search_plugin.understanding.pasted.tokens import MEANINGS, Sense
from search_plugin.understanding.pasted.trees import Branch, Leaf, TooDeep, Tree, read_tree
from search_plugin.words.languages import DEFAULT_LANGUAGE
from search_plugin.words.terms import terms_of
from search_plugin.words.wildcards import is_pattern

LONGEST_SHOWN = 300
"""Characters of a condition that a note shows."""

READ_AS = "The query was read as:"
"""The beginning of the note that shows the condition."""

_MOST_PAIRS = 64
_TEXTS = frozenset({"title", "text", "abstract", "heading"})
_DAY = r"(?:[/-]\d{1,2}){0,2}"
_YEARS = re.compile(rf"(\d{{4}}){_DAY}(?:\s*(?:[:\-\u2013]|\.\.)\s*((?:\d{{4}}){_DAY}|current))?", re.IGNORECASE)
_TYPE_CODE = re.compile("[a-z]{2}")

_OPEN_END = 3_000
"""The year that PubMed gives to a time without an end."""


@dataclass(frozen=True, slots=True)
class PastedQuery:
    """A search of another system as a condition, with the words that rank, and sentences on what it became."""

    words: str
    filter: Filter | None
    notes: tuple[str, ...]


def read_pasted(text: str, fields: Sequence[Field] = PAPER_FIELDS, language: str = DEFAULT_LANGUAGE) -> PastedQuery:
    """Read a search of another system, which has their marks (`is_pasted`), or joins lines of a history.

    Raises `InputError` if it refers to the lines of a search history.
    """
    if joins_lines(text):
        raise InputError(
            "The query joins lines of a search history by their numbers, and those lines are not here",
            "paste all lines with their numbers, or put each line itself in brackets in the place of its number",
        )
    notes: dict[str, None] = {}
    try:
        tree = read_tree(text, notes.setdefault)
    except TooDeep:
        note = "The brackets of this search nest too deep, so it could not be read, and was taken as words."
        return PastedQuery(text, None, (note,))
    builder = _Builder(fields, language, notes.setdefault)
    where = builder.built(tree) if tree else None
    if where is None:
        return PastedQuery(
            text, None, ("No condition of the query can be searched here, so it was taken as words.", *notes)
        )
    shown = as_query(where)
    cut = shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN].rsplit(' ', 1)[0]} ..."
    return PastedQuery(" ".join(dict.fromkeys(builder.words)), where, (f"{READ_AS} {cut}.", *notes))


class _Builder:
    """Makes a condition of a tree, and collects the words that rank and what is to be said."""

    def __init__(self, fields: Sequence[Field], language: str, note: Callable[[str], None]) -> None:
        self._fields, self._language, self._note = fields, language, note
        self.words: list[str] = []

    def built(self, node: Tree, *, wanted: bool = True) -> Filter | None:
        if isinstance(node, Leaf):
            return self._leaf(node, wanted=wanted)
        if node.operator == "not":
            part = self.built(node.parts[0], wanted=False)
            return part and (part.part if isinstance(part, Not) else Not(part))
        if node.operator == "near":
            return self._near(node, wanted=wanted)
        parts = [self.built(part, wanted=wanted) for part in node.parts]
        return joined(And if node.operator == "and" else Or, parts)

    def _leaf(self, leaf: Leaf, *, wanted: bool) -> Filter | None:
        if leaf.names and leaf.names[0].endswith(":"):
            return self._own(leaf, wanted=wanted)
        known = {MEANINGS[name] for name in leaf.names if name in MEANINGS}
        if leaf.names and not known:
            name = ",".join(leaf.names)
            self._note(f'The field {name} has no counterpart here, so "{leaf.text}" in it was left out.')
            return None
        others = known.difference(_TEXTS)
        if others and not known.intersection(_TEXTS):
            return self._tested(min(others), leaf)
        return self._said(leaf, known, wanted=wanted)

    def _said(self, leaf: Leaf, known: set[Sense], *, wanted: bool) -> Filter | None:
        if known == {"heading"}:
            self._note(
                "Subject headings and keywords were searched as words of title and abstract, without narrower headings."
            )
        elif known == {"abstract"}:
            self._note("The abstract alone can't be searched, so its words were searched in title and abstract.")
        field: TextField = "title" if known == {"title"} else "text"
        text = leaf.text
        if known == {"heading"} and re.fullmatch(
            r"[^,]+, [^,]+", text
        ):  # "Diabetes Mellitus, Type 2" stands as it is written
            text = text.replace(",", "")
        if leaf.within:
            found = self._within(field, text, leaf.within)
        elif leaf.together:
            found = saying(field, text, self._language)
        else:
            found = saying_each(field, text, self._language)
        if found is None:
            self._note(f'"{text}" has no word that can be searched for, so it does not restrict the search.')
        elif wanted:
            self.words += [word for word in text.split() if "*" not in word and "?" not in word]
        for word in text.split():
            if ("*" in word or "?" in word) and not any(is_pattern(part) for part in re.split(r"[-/]", word)):
                self._note(f"{word} was searched as a word: a wildcard needs at least three letters beside it.")
        return found

    def _within(self, field: TextField, text: str, within: int) -> Filter | None:
        words = text.split()
        if len(words) == 2 and (near := self._pair(field, words[0], words[1], within)):
            return near
        self._read_as_and(f'"{text}"~{within}')
        return saying_each(field, text, self._language)

    def _near(self, node: Branch, *, wanted: bool) -> Filter | None:
        both = joined(And, [self.built(part, wanted=wanted) for part in node.parts])
        one, other = (list(_alternatives(part)) for part in node.parts)
        pairs = list(product(one, other))
        if both is None or not pairs or len(pairs) > _MOST_PAIRS:
            self._read_as_and(f"A nearness of {node.within}")
            return both
        found = []
        for first, second in pairs:
            named = {MEANINGS.get(name, "?") for leaf in (first, second) for name in leaf.names}
            text_alone = first.together or len(first.text.split()) == 1
            text_alone = text_alone and (second.together or len(second.text.split()) == 1)
            field: TextField = "title" if named == {"title"} else "text"
            near = (
                self._pair(field, first.text, second.text, node.within) if named <= set(_TEXTS) and text_alone else None
            )
            if near is None:
                self._read_as_and(f"A nearness of {node.within} between {first.text} and {second.text}")
                return both
            found.append(near)
        return joined(Or, found)

    def _pair(self, field: TextField, one: str, other: str, within: int) -> Nearness | None:
        """Return the condition of nearness; None where engines could not agree on it."""
        terms = [terms_of(text, self._language) for text in (one, other)]
        sound = all(of and all(of) for of in terms) and not set(terms[0]).intersection(terms[1])
        if not sound or within > MOST_BETWEEN or any("*" in text or "?" in text for text in (one, other)):
            return None
        return Nearness(field, one, other, within)

    def _read_as_and(self, what: str) -> None:
        self._note(
            f"{what} was read as AND: nearness is searched between words without wildcards, up to {MOST_BETWEEN} words "
            "apart."
        )

    def _tested(self, meaning: str, leaf: Leaf) -> Filter | None:
        text = leaf.text.strip()
        try:
            require(meaning != "types" or not _TYPE_CODE.fullmatch(text), f"{text} is Scopus' code of a type")
            if meaning == "year" and not leaf.sign:
                return self._year(text)
            return parse_filter(comparison(meaning, text, leaf.sign or "="), self._fields)
        except InputError:
            self._note(f'"{text}" can\'t be read as a value of {meaning}, so it was left out.')
            return None

    def _own(self, leaf: Leaf, *, wanted: bool) -> Filter | None:
        """Return the condition of a field of the index; what names none is words."""
        name = leaf.names[0].removesuffix(":")
        try:
            field = find_field(name, self._fields)
        except InputError:
            return self._said(replace(leaf, text=f"{name} {leaf.text}", names=()), set(), wanted=wanted)
        return self._tested(field.name, leaf)

    def _year(self, text: str) -> Filter:
        span = _YEARS.fullmatch(text.strip("()"))
        if span is None:
            raise InputError(f"{text} is no year.")
        start = int(span[1])
        end = start
        if span[2]:  # after the first year stands a second one, or a word such as "onwards"
            end = int(span[2][:4]) if span[2][0].isdecimal() else _OPEN_END
        if start == end:
            return Compare("year", "=", start)
        first, last = Compare("year", ">=", start), Compare("year", "<=", end)
        return And((first, last)) if end < _OPEN_END else first


def _alternatives(node: Tree) -> Iterator[Leaf]:
    """Yield the words of which one has to be near; none if the tree joins them in another way."""
    if isinstance(node, Leaf):
        yield node
    elif node.operator == "or" and all(isinstance(part, Leaf) for part in node.parts):
        yield from (part for part in node.parts if isinstance(part, Leaf))
