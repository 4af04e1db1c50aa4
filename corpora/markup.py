"""Plain text from texts with markup of HTML, JATS or MathML in them, as publishers deliver titles and abstracts.

Corpora have such markup as tags (`<i>E. coli</i>`), as entities (`&amp;`) and as tags in entities (`&lt;i&gt;`).
Mathematics looks alike (`p < 0.05`, `a<b`), so only known names are tags, and a name of one letter is a tag only if it
is opened and closed.
"""

from __future__ import annotations

import html
import re
from html.entities import html5
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_TEXT = 1_000_000
"""In characters; a longer text is no title or abstract, and not worth the time."""

_INLINE = frozenset(
    (
        *("a", "b", "i", "s", "u", "big", "code", "del", "em", "font", "ins", "kbd", "q", "small", "span", "strike"),
        *("strong", "sub", "sup", "tt", "var"),
        *(
            "italic",
            "bold",
            "sc",
            "scp",
            "monospace",
            "roman",
            "underline",
            "xref",
            "ext-link",
            "email",
            "named-content",
        ),
        *("inline-formula", "inline-graphic", "tex-math", "math", "mi", "mn", "mo", "mtext", "mrow", "msub", "msup"),
        *("msubsup", "mfrac", "msqrt", "mover", "munder", "munderover", "mfenced", "mstyle", "mspace", "mmultiscripts"),
        *("mprescripts", "mpadded", "mphantom", "semantics", "annotation"),
    )
)
_BLOCK = frozenset(
    (
        *("p", "br", "hr", "div", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "dl", "dt", "dd", "table"),
        *(
            "tbody",
            "thead",
            "tr",
            "td",
            "th",
            "blockquote",
            "pre",
            "center",
            "abstract",
            "sec",
            "title",
            "label",
            "list",
        ),
        *("list-item", "disp-formula", "break", "alternatives"),
    )
)
_ATTRIBUTE = r"""\s+[\w:.-]{1,60}\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>=]+)"""
_TAG = re.compile(rf"<(/?)(?:(?:jats|mml|ali|xlink):)?([A-Za-z][A-Za-z0-9-]{{0,20}})(?:{_ATTRIBUTE})*\s*(/?)>")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_MOST_ROUNDS = 3
"""Some texts were escaped twice or three times on their way (`&amp;lt;i&amp;gt;`)."""


def plain_text(text: str) -> str:
    """Return a text without markup: entities as characters, inline tags removed, a blank for tags of blocks.

    Args:
        text: As a corpus has it.

    Returns:
        The text. What only looks like a tag or an entity stays: `p < 0.05`, `a<b`, `<think>`, `AT&T`.
    """
    if len(text) > LONGEST_TEXT:
        return text
    for _ in range(_MOST_ROUNDS):
        if "<" not in text and "&" not in text:
            break
        before = text
        text = _ENTITY.sub(_character, _without_tags(text))
        if text == before:
            break
    return _without_tags(text)


def plain_members(record: Mapping[str, object], names: tuple[str, ...]) -> dict[str, object]:
    """Return a record with the texts of some members as plain text; other members stay as they are."""
    plain = {name: plain_text(value) for name in names if isinstance(value := record.get(name), str)}
    return {**record, **plain}


def _without_tags(text: str) -> str:
    if "<" not in text:
        return text
    closed = {match[2].lower() for match in _TAG.finditer(text) if match[1]}

    def replacement(tag: re.Match[str]) -> str:
        name = tag[2].lower()
        if len(name) == 1 and name not in closed:
            return tag[0]
        return " " if name in _BLOCK else "" if name in _INLINE else tag[0]

    return _TAG.sub(replacement, text)


def _character(entity: re.Match[str]) -> str:
    name = entity[0]
    return html.unescape(name) if name[1] == "#" else html5.get(name[1:], name)
