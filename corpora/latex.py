r"""Accented letters written in TeX, such as `Schr\"odinger` or `Erd\H{o}s`; mathematics stays as it is."""

from __future__ import annotations

import re
import unicodedata

_ACCENTS = {
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
    letter = unicodedata.normalize("NFC", name[1:].removeprefix("\\") + _ACCENTS[name[0]])
    return letter if len(letter) == 1 else macro[0]
