"""Queries as people type them: phrases, exclusions, AND, OR, NOT, brackets and fields (docs/guide/queries.md).

A query is split into tokens (`scan`), and these are read into words that rank the papers and a filter (`read_query`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Literal

from corpora.custom import FieldKind
from corpora.errors import InputError
from search_plugin.contract.schema import ALIASES, PAPER_FIELDS, Field, find_field
from search_plugin.contract.tree import MAX_DEPTH, And, Filter, Not, Or, Wild, WildPhrase, joined
from search_plugin.filters.parse import comparison, parse_filter, saying
from search_plugin.understanding.pasted.lines import joins_lines
from search_plugin.understanding.pasted.tokens import is_pasted
from search_plugin.words.languages import DEFAULT_LANGUAGE
from search_plugin.words.terms import edits, terms_of

TITLE = "title"

SHORTEST = 4
"""Letters of a field's name that may be misspelled."""

DEEPEST = MAX_DEPTH // 2
"""Deepest nesting of brackets: a bracket and its NOT are two levels of a filter."""

PASTED = 40
"""A longer text with several sentences is not a query that somebody typed."""

SHOUTED = 3
"""A longer text in capitals may be a title, whose AND, OR and NOT are words."""

_BOUND = re.compile(r"(<=|>=|<|>)(.+)")
_SPAN = re.compile(r"(.*)\.\.(.*)")
_YEARS = re.compile(r"(\d{4})[-\u2013](\d{4})")
_SENTENCES = re.compile(r"[.!?]\s+\S")

_VALUES: Mapping[FieldKind, str] = {
    "number": "{0}:2019 or {0}:2019..2021",
    "date": "{0}:2019-03 or {0}:2019-03..2020",
    "boolean": "{0}:true",
}

Kind = Literal["word", "phrase", "field", "and", "or", "not", "(", ")"]

_QUOTES = '"\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02'
_QUOTED = f"[{_QUOTES}]([^{_QUOTES}]*)[{_QUOTES}]"
_PHRASE = re.compile(_QUOTED)
_FIELD = re.compile(rf"([^\W\d]\w*):(?:{_QUOTED}|(?=[^\s({_QUOTES}])(\S+))")
_UNFINISHED = re.compile(rf"([^\W\d]\w*):(?:[({_QUOTES}]\S*)?")
# "-80 °C" is a number; "-5-HT2A" leaves a word out.
_MINUS = re.compile(rf"[-\u2212](?!\d[\d.,]*(?:[°%]|[CFK]?(?:[\s),;:.!?]|$)))(?=[\w({_QUOTES}])")
_SPACE = re.compile(r"\s")
_CLOSING = re.compile(r"(?<!\))(\)+)[\],.;:?!]*$")
OPERATORS: Mapping[str, Kind] = {"AND": "and", "OR": "or", "NOT": "not"}
_LISTING = ("and", "or", "to", "&")
_STARTS = ("word", "phrase", "field", "not", "(")
"""What the operand of an operator can begin with."""


@dataclass(frozen=True, slots=True)
class TypedQuery:
    """A query as it was understood.

    Attributes:
        words: The words that rank: the text itself if it has no filter, else its words and phrases that are wanted.
        filter: A filter that holds for every hit; None if the text is plain words.
        notes: What was not understood as it may have been meant, one sentence each.
        whole: Whether the filter is all that the query says: then its results are the papers that match it. Words
            beside a filter only rank.
    """

    words: str
    filter: Filter | None = None
    notes: tuple[str, ...] = ()
    whole: bool = False


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a query.

    Attributes:
        words: The words that rank.
        needed: What it demands among words that rank.
        as_operand: What it demands as an operand, where each of its words is demanded too.
    """

    words: tuple[str, ...] = ()
    needed: Filter | None = None
    as_operand: Filter | None = None


def read_query(text: str, fields: Sequence[Field] = PAPER_FIELDS, language: str = DEFAULT_LANGUAGE) -> TypedQuery:
    """Read a query as docs/guide/queries.md describes; what can't be read is taken as words.

    The language of the index tells which words are too common to search for.
    """
    if joins_lines(text) or is_pasted(text):
        from search_plugin.understanding.pasted.read import read_pasted

        other = read_pasted(text, fields, language)
        return TypedQuery(other.words, other.filter, other.notes, whole=other.filter is not None)
    notes: dict[str, None] = {}
    tokens = scan(text, lambda name: _field_named(name, fields), notes.setdefault)
    whole, depth = paired(tokens)
    if depth > DEEPEST:
        return TypedQuery(text, notes=(f"Brackets nest deeper than {DEEPEST}, so the query was taken as words.",))
    part = _Reader(settled(whole, notes.setdefault), fields, language, notes.setdefault).either()
    if reason := _pasted(text, tokens, language):
        return TypedQuery(text, notes=(reason,) if part.needed else ())
    # Among plain words, a closing bracket alone is that of a list: "a) masks b) gloves".
    left_out = [token.kind for token in (Counter(tokens) - Counter(whole)).elements()]
    if "(" in left_out or (left_out and part.needed):
        notes["Brackets that don't pair or hold nothing were left out."] = None
    if part.needed is None:
        return TypedQuery(text, notes=tuple(notes))
    return TypedQuery(" ".join(part.words), part.needed, tuple(notes), whole=part.needed == part.as_operand)


@dataclass(frozen=True, slots=True)
class TranslatedQuery:
    """What a query means, as text.

    Attributes:
        condition: The condition that every hit meets, in the syntax of queries; empty for plain words.
        words: The words that rank.
        notes: What could not be read as it may be meant, one sentence each.
    """

    condition: str
    words: str
    notes: tuple[str, ...]


def translate_query(text: str, fields: Sequence[Field], language: str) -> TranslatedQuery:
    """Return what a query means, as text; errors as of `read_pasted`."""
    from search_plugin.filters.parse import as_query
    from search_plugin.understanding.pasted.read import READ_AS

    read = read_query(text, fields, language)
    whole = as_query(read.filter) if read.filter else ""
    return TranslatedQuery(whole, read.words, tuple(note for note in read.notes if not note.startswith(READ_AS)))


def _pasted(text: str, tokens: Sequence[Token], language: str) -> str:
    """Return why a text is probably no typed query; empty if it may be one."""
    unquoted = " ".join(token.text for token in tokens if token.kind not in ("phrase", "field"))
    if len(text.split()) > PASTED and _SENTENCES.search(unquoted):
        return "The text has several sentences, so all of it was taken as words, without operators."
    if _is_shouted(tokens, language):
        return "The query is all in capitals, so AND, OR and NOT were taken as words."
    return ""


def _is_shouted(tokens: Sequence[Token], language: str) -> bool:
    """Return whether tokens are probably a title in capitals: with a stop word, or mostly of words side by side."""
    words = [token.text for token in tokens if token.kind == "word"]
    if not "".join(words).isupper():
        return False
    if any(word.isalpha() and not any(terms_of(word, language)) for word in words):
        return True
    adjacent = any(one.kind == other.kind == "word" for one, other in pairwise(tokens))
    bare = all(token.kind == "word" or token.text in OPERATORS for token in tokens)
    return bare and adjacent and len(words) > SHOUTED


class _Reader:
    """Reads tokens in which brackets pair and operators have their operands.

    Words side by side bind tightest, then AND, then OR.
    """

    def __init__(
        self, tokens: Sequence[Token], fields: Sequence[Field], language: str, note: Callable[[str], None]
    ) -> None:
        self._tokens, self._at = tokens, 0
        self._fields, self._language, self._note = fields, language, note

    def either(self) -> _Part:
        return self._joined("or", self._both, Or)

    def _both(self) -> _Part:
        return self._joined("and", self._units, And)

    def _joined(self, operator: str, operand: Callable[[], _Part], kind: type[And | Or]) -> _Part:
        parts = [operand()]
        while self._kind == operator:
            self._at += 1
            parts.append(operand())
        as_operand = joined(kind, [part.as_operand for part in parts])
        return parts[0] if len(parts) == 1 else _of(parts, as_operand, as_operand)

    def _units(self) -> _Part:
        parts = []
        while self._kind not in ("", ")", "and", "or"):
            parts.append(self._unit())
        needed, as_operand = ([getattr(part, which) for part in parts] for which in ("needed", "as_operand"))
        return _of(parts, joined(And, needed), joined(And, as_operand))

    def _unit(self) -> _Part:
        negated = False
        while self._kind == "not":
            negated = not negated
            self._at += 1
        token = self._tokens[self._at]
        self._at += 1
        if token.kind == "(":
            part = self.either()
            self._at += 1
        else:
            part = self._single(token)
        if not negated:
            return part
        if part.as_operand is None:
            self._note_no_term(" ".join(part.words))
            return _Part()
        return _Part((), Not(part.as_operand), Not(part.as_operand))

    def _single(self, token: Token) -> _Part:
        if token.kind == "field" and token.field.lower() != TITLE:
            return self._tested(token)
        said = token.text if token.kind == "word" else token.said
        says = saying("title" if token.kind == "field" else "text", said, self._language)
        if isinstance(says, Wild | WildPhrase):  # what a pattern stands for is looked up, and ranks then
            words = tuple(word for word in said.split() if "*" not in word and "?" not in word)
            return _Part(words, says, says)
        if token.kind == "word":
            return _Part((said,) if any(map(str.isalnum, said)) else (), None, says)
        if says is None:
            self._note_no_term(said)
        return _Part((said,) if said.strip() else (), says, says)

    def _tested(self, token: Token) -> _Part:
        field = find_field(token.field, self._fields)
        try:
            test = _field_filter(field, token.said, self._fields, in_quotes=token.quoted)
        except InputError:
            form = _VALUES.get(field.kind, '{0}:value or {0}:"some value"').format(token.field)
            self._note(f"The value in {token.text} can't be read, so it was taken as words; write {form}.")
            return self._single(Token("word", token.text))
        return _Part((), test, test)

    def _note_no_term(self, words: str) -> None:
        self._note(f'"{words}" has no word that can be searched for, so it does not restrict the search.')

    @property
    def _kind(self) -> str:
        return self._tokens[self._at].kind if self._at < len(self._tokens) else ""


def _of(parts: Sequence[_Part], needed: Filter | None, as_operand: Filter | None) -> _Part:
    return _Part(tuple(chain.from_iterable(part.words for part in parts)), needed, as_operand)


def _is_field(name: str, fields: Sequence[Field]) -> bool:
    """Return whether a name is that of a field which queries can test."""
    try:
        find_field(name, fields)
    except InputError:
        return name.lower() == TITLE
    return True


def _field_named(name: str, fields: Sequence[Field]) -> str:
    """Return the name of the field that a user means, as typed or without its misspelling; empty if there is none.

    One edit from a field's name of `SHORTEST` letters or more is a misspelling.
    """
    if _is_field(name, fields):
        return name
    known = [TITLE, *ALIASES, *(field.name for field in fields if field.kind != "text")]
    near = (one for one in known if len(one) >= SHORTEST and _is_field(one, fields) and edits(name.lower(), one) <= 1)
    return next(near, "")


def _field_filter(field: Field, value: str, fields: Sequence[Field], *, in_quotes: bool = False) -> Filter:
    """Return the filter that an expression gives for a field and a value; errors as of `parse_filter`.

    Of a number or a date the value may also be `FROM..TO`, `FROM..`, `..TO`, `>=FROM` and the like, and of a number
    `2019-2021`. A value in quotes is no range.
    """
    tests = [("=", value)]
    if field.kind in ("number", "date") and not in_quotes:
        tests = _bounds(value, field) or tests
    # A quoted value can't be read as anything else.
    return parse_filter(" and ".join(comparison(field.name, bound, sign) for sign, bound in tests), fields)


def _bounds(value: str, field: Field) -> list[tuple[str, str]]:
    if bound := _BOUND.fullmatch(value):
        return [(bound[1], bound[2])]
    span = _SPAN.fullmatch(value) or (_YEARS.fullmatch(value) if field.kind == "number" else None)
    return [(sign, bound) for sign, bound in ((">=", span[1]), ("<=", span[2])) if bound] if span else []


@dataclass(frozen=True, slots=True)
class Token:
    """A part of a query.

    Attributes:
        kind: The kind of part.
        text: The part as it was typed.
        said: What the quotes hold, or a field's value.
        field: Name of the field.
        quoted: Whether the value is in quotes.
    """

    kind: Kind
    text: str
    said: str = ""
    field: str = ""
    quoted: bool = False


def scan(text: str, field_named: Callable[[str], str], note: Callable[[str], None]) -> list[Token]:
    """Split a query into its parts, in order; whatever has no other meaning is a word.

    There may be brackets that don't pair and operators without operands. `field_named` returns the name of the field
    that a name means, or an empty string. `note` takes a sentence about what could not be read.
    """
    tokens: list[Token] = []
    at, glued = 0, False
    while at < len(text):
        if text[at].isspace():
            at, glued = at + 1, False
            continue
        token = None
        if text[at] == ")":
            token = Token(")", ")")
        elif not glued:  # right behind a phrase, a field or a bracket, nothing has a meaning of its own
            token = _special(text, at, tokens, field_named)
        if token is None:
            space = _SPACE.search(text, at)
            word = _without_surplus(text[at : space.start() if space else len(text)])
            token = Token(OPERATORS.get(word, "word"), word)
            if not glued:
                _explain(token, tokens, field_named, note)
        if token.kind == "field" and not token.text.lower().startswith(f"{token.field.lower()}:"):
            note(f"There is no field {token.text.partition(':')[0]}, so {token.field} was searched.")
        tokens.append(token)
        at += len(token.text)
        glued = token.kind in ("phrase", "field", ")")
    return tokens


def _special(text: str, at: int, before: Sequence[Token], field_named: Callable[[str], str]) -> Token | None:
    if text[at] == "(":
        return Token("(", "(")
    if _MINUS.match(text, at) and not _continues_list(before):
        return Token("not", text[at])
    if phrase := _PHRASE.match(text, at):
        return Token("phrase", phrase[0], phrase[1])
    if (test := _FIELD.match(text, at)) and (field := field_named(test[1])):
        if test[2] is not None:
            return Token("field", test[0], test[2], field, quoted=True)
        value = _without_surplus(test[3])
        return Token("field", f"{test[1]}:{value}", value.rstrip(",;"), field)
    return None


def _without_surplus(word: str) -> str:
    """Return a word without the brackets at its end, and what follows them, that close none of its own."""
    surplus, closing = word.count(")") - word.count("("), _CLOSING.search(word)
    if surplus <= 0 or not closing:
        return word
    return word[: closing.end(1) - min(surplus, len(closing[1]))]


def _continues_list(before: Sequence[Token]) -> bool:
    """Return whether a hyphen here stands for a part that is left out, as in "TGF-beta 1, -beta 2 and -beta 3"."""
    last = before[-1].text if before and before[-1].kind == "word" else ""
    return last.endswith((",", ";", "/")) or last in _LISTING


def _explain(
    token: Token, before: Sequence[Token], field_named: Callable[[str], str], note: Callable[[str], None]
) -> None:
    """Say why a word that looks like more is but a word."""
    if _MINUS.match(token.text) and _continues_list(before):
        note(f"{token.text} seems to continue a list, so it was taken as a word; to leave it out, write NOT before it.")
    elif token.text[0] in _QUOTES:
        note("A quote is not closed, so the words after it were taken as plain words.")
    elif (name := _UNFINISHED.fullmatch(token.text)) and field_named(name[1]):
        note(f'{name[1]}: was taken as a word; write {name[1]}:word or {name[1]}:"some words", without a space.')


def paired(tokens: Sequence[Token]) -> tuple[list[Token], int]:
    """Return the tokens without brackets that don't pair or hold nothing, and how deep the others nest."""
    kept: list[Token | None] = []
    opened: list[int] = []
    depth = 0
    for token in tokens:
        if token.kind == "(":
            opened.append(len(kept))
        elif token.kind == ")":
            if not opened:
                continue
            start = opened.pop()
            if start + 1 == len(kept):
                kept.pop()
                continue
            depth = max(depth, len(opened) + 1)
        kept.append(token)
    for start in opened:
        kept[start] = None
    return [token for token in kept if token], depth


def settled(tokens: Sequence[Token], note: Callable[[str], None]) -> list[Token]:
    """Return the tokens with operators that lack an operand as words."""
    settled: list[Token] = []
    for token, after in zip(tokens, [*tokens[1:], None], strict=False):
        before = settled[-1].kind if settled else None
        lacks = after is None or after.kind not in _STARTS
        if token.kind in ("and", "or"):
            lacks = lacks or before not in ("word", "phrase", "field", ")")
        if token.kind in OPERATORS.values() and lacks:
            note(f"{token.text} lacks words that it applies to, so it was taken as a word.")
            token = replace(token, kind="word")
        settled.append(token)
    return settled
