"""The parts of a typed query: words, phrases, field tests, operators and brackets."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

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
    """Split a query into its parts; whatever has no other meaning is a word.

    There may be brackets that don't pair and operators without operands.

    Args:
        text: The query.
        field_named: Returns the name of the field that a name means, or an empty string.
        note: Takes a sentence about what could not be read.

    Returns:
        The parts in order.
    """
    tokens: list[Token] = []
    at, glued = 0, False
    while at < len(text):
        if text[at].isspace():
            at, glued = at + 1, False
            continue
        token = Token(")", ")") if text[at] == ")" else None if glued else _special(text, at, tokens, field_named)
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
