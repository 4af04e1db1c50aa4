"""From a query's words to the spellings that are searched for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from corpora.documents import read_text
from corpora.errors import InputError
from search_plugin.contract.plan import Notion, Spelling
from search_plugin.understanding.expansion.spellings import compounds, continues, plurals, transatlantic
from search_plugin.words.languages import DEFAULT_LANGUAGE
from search_plugin.words.terms import TOKEN, folded

Synonyms = Mapping[tuple[str, ...], tuple[str, ...]]
"""By words in small letters, what else to search for."""

Rule = Callable[[str], Sequence[str]]

RULES: Mapping[str, Rule] = {"continents": transatlantic, "plurals": plurals}
"""Kinds of spellings of single words in English."""

COMPOUNDS = "compounds"
KINDS = (COMPOUNDS, *RULES)

MOST_WORDS = 40
"""A longer text is pasted, and holds the words of its topic in more than one form."""

MOST_SPELLINGS = 200
"""Spellings of a whole query, each searched in two fields: OpenSearch takes 1,024 clauses, a filter up to 512."""

MOST_BYTES = 8 << 20
"""Largest file of synonyms."""

_NONE: Synonyms = {}


class Expanded(NamedTuple):
    """A query's words in two parts.

    Attributes:
        plain: The words with one spelling.
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
    """Return a query's plain words with their other spellings.

    The kinds of spellings are those of `KINDS`; those of single words are for English alone. `synonyms` are those of
    words of the query. Where nothing has another spelling, the same text is returned as plain words.
    """
    plain: list[str] = []
    notions: list[Notion] = []
    left = MOST_SPELLINGS if len(text.split()) <= MOST_WORDS else 0
    for words, typed in _runs(text, synonyms):
        # The score of a phrase is that of all its words, and one word of two or three is not worth more than itself.
        meant = synonyms.get(tuple(map(folded, words)), ())
        others = {one.lower(): min(1.0, len(words) / len(TOKEN.findall(one))) for one in meant}
        if COMPOUNDS in kinds:
            others |= dict.fromkeys(compounds(words), 1.0)
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
        while end < len(tokens) and continues(
            words[end - 1], words[end], text[tokens[end - 1].end() : tokens[end].start()]
        ):
            end += 1
        for stop in range(min(at + longest, len(tokens)), end - 1, -1):
            if tuple(map(folded, words[at:stop])) in synonyms:
                end = stop
                break
        yield words[at:end], text[tokens[at].start() : tokens[end - 1].end()]
        at = end


def read_synonyms(path: Path) -> Synonyms:
    """Read a file of synonyms, text in UTF-8.

    In each line there are words or phrases with commas between them: a paper with any of them counts for all. Of `a, b
    => c, d`, only c and d are searched for beside a or b. What follows `#` is a comment. Raises `InputError` if the
    file can't be read, or a line has another form; the message names it.
    """
    try:
        lines = read_text(path, MOST_BYTES).splitlines()
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise InputError(f"The synonyms in {path} can't be read ({reason}); give a text file in UTF-8.") from None
    found: dict[tuple[str, ...], dict[str, None]] = {}
    for number, line in enumerate(lines, 1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        left, arrow, right = content.partition("=>")
        typed, meant = _phrases(left), _phrases(right if arrow else left)
        if not typed or not meant or (not arrow and len(typed) < 2) or "=>" in right:
            raise InputError(
                f"Line {number} of {path} is no group of synonyms",
                "write it as `heart attack, infarction` or `MI => infarction`",
            )
        for one in typed:
            others = found.setdefault(key_of(one), {})
            others |= {other: None for other in meant if key_of(other) != key_of(one)}
    return {words: tuple(others) for words, others in found.items()}


def _phrases(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if key_of(one)]


def key_of(text: str) -> tuple[str, ...]:
    """Return the words of a text in small letters without accents."""
    return tuple(folded(token[0]) for token in TOKEN.finditer(text))
