"""From a query's words to the spellings that are searched for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from search_plugin.contract.plan import Notion, Spelling
from search_plugin.understanding.expansion import compounds, continents, plurals
from search_plugin.understanding.expansion.synonyms import Synonyms
from search_plugin.words.languages import DEFAULT_LANGUAGE
from search_plugin.words.terms import TOKEN, folded

Rule = Callable[[str], Sequence[str]]

RULES: Mapping[str, Rule] = {"continents": continents.spellings, "plurals": plurals.spellings}
"""Of single words in English."""

COMPOUNDS = "compounds"
KINDS = (COMPOUNDS, *RULES)

MOST_WORDS = 40
"""A longer text is pasted, and holds the words of its topic in more than one form."""

MOST_SPELLINGS = 200
"""Of a whole query, each searched in two fields: OpenSearch takes 1,024 clauses, of which a filter may be 512."""

_NONE: Synonyms = {}


class Expanded(NamedTuple):
    """A query's words in two parts.

    Attributes:
        plain: Words with one spelling.
        notions: All others.
    """

    plain: str
    notions: tuple[Notion, ...]


def expand(
    text: str,
    language: str = DEFAULT_LANGUAGE,
    kinds: Sequence[str] = KINDS,
    synonyms: Synonyms = _NONE,
) -> Expanded:
    """Return a query's words with their other spellings.

    Args:
        text: Plain words.
        language: Of the index.
        kinds: Of spellings, of `KINDS`; those of single words are for English alone.
        synonyms: Of words of the query.

    Returns:
        The same text as plain words where nothing has another spelling.
    """
    plain: list[str] = []
    notions: list[Notion] = []
    left = MOST_SPELLINGS if len(text.split()) <= MOST_WORDS else 0
    for words, typed in _runs(text, synonyms):
        # The score of a phrase is that of all its words, and one word of two or three is not worth more than itself.
        meant = synonyms.get(tuple(map(folded, words)), ())
        others = {one.lower(): min(1.0, len(words) / len(TOKEN.findall(one))) for one in meant}
        if COMPOUNDS in kinds:
            others |= dict.fromkeys(compounds.spellings(words), 1.0)
        if len(words) == 1 and language == "english":
            others |= {one: 1.0 for name, rule in RULES.items() if name in kinds for one in rule(words[0].lower())}
        spelled = [Spelling(text, weight) for text, weight in others.items() if text != typed.lower()][:left]
        left -= len(spelled)
        if spelled:
            notions.append(Notion(typed, tuple(spelled)))
        else:
            plain.append(typed)
    return Expanded(" ".join(plain) if notions else text, tuple(notions))


def _runs(text: str, synonyms: Synonyms) -> Iterator[tuple[list[str], str]]:
    """Yield the words of a text, with those together that have synonyms or may be parts of one, and how they stand."""
    tokens = list(TOKEN.finditer(text))
    words = [token[0] for token in tokens]
    longest = max(map(len, synonyms), default=0)
    at = 0
    while at < len(tokens):
        end = at + 1
        while end < len(tokens) and compounds.continues(
            words[end - 1], words[end], text[tokens[end - 1].end() : tokens[end].start()]
        ):
            end += 1
        for stop in range(min(at + longest, len(tokens)), end - 1, -1):
            if tuple(map(folded, words[at:stop])) in synonyms:
                end = stop
                break
        yield words[at:end], text[tokens[at].start() : tokens[end - 1].end()]
        at = end
