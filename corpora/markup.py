r"""Plain text from texts with markup in them: of HTML, JATS or MathML, and accented letters of TeX.

Publishers deliver titles and abstracts with tags (`<i>E. coli</i>`), entities (`&amp;`) and tags in entities
(`&lt;i&gt;`). Mathematics looks alike (`p < 0.05`, `a<b`), so only known names are tags, and a name of one letter is a
tag only if it is opened and closed. TeX's letters are such as `Schr\"odinger` and `Erd\H{o}s`; its mathematics stays.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Mapping
from html.entities import html5

LONGEST_TEXT = 1_000_000
"""Most characters of a text; a longer one is no title or abstract, and not worth the time."""

_INLINE = frozenset(
    (
        *("a", "b", "i", "s", "u", "big", "code", "del", "em", "font", "ins", "kbd", "q", "small", "span"),
        *("strike", "strong", "sub", "sup", "tt", "var", "italic", "bold", "sc", "scp", "monospace", "roman"),
        *("underline", "xref", "ext-link", "email", "named-content", "inline-formula", "inline-graphic"),
        *("tex-math", "math", "mi", "mn", "mo", "mtext", "mrow", "msub", "msup", "msubsup", "mfrac", "msqrt"),
        *("mover", "munder", "munderover", "mfenced", "mstyle", "mspace", "mmultiscripts", "mprescripts"),
        *("mpadded", "mphantom", "semantics", "annotation"),
    )
)
_BLOCK = frozenset(
    (
        *("p", "br", "hr", "div", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "dl", "dt", "dd"),
        *("table", "tbody", "thead", "tr", "td", "th", "blockquote", "pre", "center", "abstract", "sec", "title"),
        *("label", "list", "list-item", "disp-formula", "break", "alternatives"),
    )
)
_ATTRIBUTE = r"""\s+[\w:.-]{1,60}\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>=]+)"""
_TAG = re.compile(rf"<(/?)(?:(?:jats|mml|ali|xlink):)?([A-Za-z][A-Za-z0-9-]{{0,20}})(?:{_ATTRIBUTE})*\s*(/?)>")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_MOST_ROUNDS = 3
"""Some texts were escaped twice or three times on their way (`&amp;lt;i&amp;gt;`)."""


def plain_text(text: str) -> str:
    """Return a text without markup: entities as characters, inline tags removed, a blank for tags of blocks.

    What only looks like a tag or an entity stays: `p < 0.05`, `a<b`, `<think>`, `AT&T`.
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


def parallel_title(title: str, original: str) -> str:
    """Return a title with that in the language or the script of the paper, apart by ` = ` (ISBD 1.1.3)."""
    return " = ".join(filter(None, (title, "" if original in title else original)))


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


ACCENTS = {
    "'": "\u0301",
    "`": "\u0300",
    "^": "\u0302",
    '"': "\u0308",
    "~": "\u0303",
    "=": "\u0304",
    ".": "\u0307",
    "u": "\u0306",
    "v": "\u030c",
    "H": "\u030b",
    "c": "\u0327",
    "k": "\u0328",
    "r": "\u030a",
    "d": "\u0323",
}
_LETTERS = {
    "ss": "ß",
    "o": "ø",
    "O": "Ø",
    "l": "ł",
    "L": "Ł",
    "ae": "æ",
    "AE": "Æ",
    "oe": "œ",
    "OE": "Œ",
    "aa": "å",
    "AA": "Å",
    "i": "\u0131",
    "j": "ȷ",
}
# \"o, \"{o}, \H{o}, \v s, \'\i: after a letter as an accent there is a brace or a blank.
_ACCENT = r"""\\(?:['`^"~=.]|[uvHckrd](?=[\s{]))\s*(?:\{\s*\\?[A-Za-z]\s*\}|\\[ij](?![A-Za-z])|[A-Za-z])"""
_LETTER = r"\\(?:ss|ae|AE|oe|OE|aa|AA|o|O|l|L|i|j)(?:\{\}|(?![A-Za-z{])[ ]?)"
_MACRO = re.compile(rf"\{{\s*({_ACCENT}|{_LETTER})\s*\}}|({_ACCENT}|{_LETTER})")
_MATHEMATICS = re.compile(r"(\$[^$]*\$)")


def with_accents(text: str) -> str:
    """Return a text with TeX's accented and special letters as Unicode, except within `$...$`."""
    if "\\" not in text:
        return text
    parts = _MATHEMATICS.split(text)
    parts[::2] = [_MACRO.sub(_letter, part) for part in parts[::2]]
    return "".join(parts)


def _letter(macro: re.Match[str]) -> str:
    name = re.sub(r"[\s{}]", "", (macro[1] or macro[2])[1:])
    if name in _LETTERS:
        return _LETTERS[name]
    letter = unicodedata.normalize("NFC", name[1:].removeprefix("\\") + ACCENTS[name[0]])
    return letter if len(letter) == 1 else macro[0]
