r"""LaTeX as plain text: macros become the characters or the texts that they print, mathematics stays as it is.

Nothing that is written can stop the reading, and no text vanishes: an unknown macro stays, and of one with arguments
the arguments stay. A percent sign is data, as in all values of BibTeX. Symbols are those of pylatexenc's tables.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from corpora.markup import ACCENTS

_TOKEN = re.compile(r"\\([A-Za-z]+)|\\(.)|---?|``|''|[?!]`|\$\$?|[^\\{}$~`'?!-]+|.", re.DOTALL)
_LIGATURES = {"---": "—", "--": "–", "``": "“", "''": "”", "?`": "¿", "!`": "¡", "~": " "}  # noqa: RUF001
_MARKS = {**ACCENTS, "b": "\u0331"}
_DOTLESS = {"\u0131": "i", "\u0237": "j"}
_NAMES = r"""
textless < textgreater > textbar | textquotedbl " textunderscore _ slash / textbraceleft { textbraceright } lbrace {
rbrace } textdollar $ textpercent % textampersand & textasciicircum ^ textasciitilde ~ textbackslash \ textasciigrave `
textquotesingle ' textperiodcentered · textvisiblespace ␣ textperthousand ‰ degree ° S § P ¶ dag † ddag ‡
copyright © pounds £ euro € glqq „ grqq “ glq ‚ grq ‘ flqq « frqq » guillemetleft « guillemetright » TeX TeX LaTeX LaTeX
LaTeXe LaTeX2e BibTeX BibTeX XeTeX XeTeX LuaTeX LuaTeX
"""  # noqa: RUF001 - what they print
"""Names of macros, each with what it prints, beside those of pylatexenc, which lacks them or has others."""

_BLANKS = (
    "space",
    "nobreakspace",
    "quad",
    "qquad",
    "thinspace",
    "enspace",
    "newline",
    "break",
    "par",
    "item",
    "newblock",
)
_SWITCHES = frozenset(
    (
        *("bf", "em", "it", "rm", "sc", "sf", "sl", "tt", "bfseries", "itshape", "mdseries", "rmfamily", "scshape"),
        *("sffamily", "slshape", "ttfamily", "upshape", "normalfont", "tiny", "scriptsize", "footnotesize", "small"),
        *("normalsize", "large", "Large", "LARGE", "huge", "Huge", "centering", "noindent", "protect", "relax"),
        *("unskip", "ignorespaces", "xspace", "displaystyle", "textstyle", "limits", "nolimits", "left", "right"),
        *("bgroup", "egroup", "begingroup", "endgroup", "allowbreak", "nobreak", "null", "strut", "leavevmode"),
        *("maketitle", "upright", "boldmath", "today", "selectfont", "raggedright", "sloppy", "hfill"),
    )
)
"""Macros that print nothing themselves."""

_NO_TEXT = {
    **dict.fromkeys(("href", "textcolor", "colorbox", "color", "pagecolor", "foreignlanguage", "bibinfo"), 1),
    **dict.fromkeys(("label", "ref", "autoref", "cref", "Cref", "eqref", "pageref", "hspace", "vspace"), 1),
    **dict.fromkeys(("includegraphics", "selectlanguage", "begin", "end", "noopsort", "SortNoop", "fontsize"), 1),
    **dict.fromkeys(("documentclass", "usepackage", "RequirePackage", "phantom", "hphantom", "vphantom"), 1),
    **dict.fromkeys(("fcolorbox", "setlength", "addlength", "setcounter", "addcounter", "newcommand"), 2),
    "texorpdfstring": 1,
}
"""How many arguments of a macro, from the first one on, are no text: addresses, colours, lengths."""

_VERBATIM = ("url", "path", "nolinkurl", "doi")
_FRACTIONS = ("frac", "nicefrac", "textfrac", "sfrac", "tfrac", "dfrac")
_AROUND = {"footnote": " [{}]", "enquote": "“{}”", "mkbibquote": "“{}”", "sqrt": "√{}"}
_SPACES = frozenset(" \t\r\n,;:>\\")
_NOTHING = frozenset("-/!@)]")
_MATH_END = {"(": r"\)", "[": r"\]"}
_CLOSING = re.compile(r"(?<!\\)\$(?!\d)")
_DISPLAY = re.compile(r"(?<!\\)\$\$")
_BRACE = re.compile(r"(?<!\\)[{}]")
_OPTION = re.compile(r"\*?(?:\[[^\[\]{}]{0,200}\])*(?=\{)")
_ESCAPED = re.compile(r"\\([_%&#$~^{} ])|[{}]")
_NAMED = re.compile(r"\\([A-Za-z]+)[ ]?")
_ARGUMENT = re.compile(r"\s*\{")
_FARTHEST = 2000
"""Most characters of a formula, up to its end."""

_DEEPEST = 100
"""Groups and macros in one another; what is deeper is read, but does not form groups."""


def latex_text(latex: str) -> str:
    """Return the text that LaTeX prints; mathematics stays as it is written."""
    return _Reading(latex).upto("")


def latex_name(latex: str) -> str:
    """Return an address or an identifier without the backslashes and braces that LaTeX needs."""
    named = _NAMED.sub(lambda found: _symbols().get(found[1], "" if found[1] in _VERBATIM else found[0]), latex)
    return _ESCAPED.sub(lambda found: found[1] or "", named)


@lru_cache(maxsize=1)
def _symbols() -> dict[str, str]:
    from pylatexenc.latex2text import get_default_latex_context_db

    specs = get_default_latex_context_db().iter_macro_specs(categories=["latex-base", "advanced-symbols"])
    found = {spec.macroname: spec.simplify_repl for spec in specs if isinstance(spec.simplify_repl, str)}
    plain = {name: text for name, text in found.items() if "%" not in text and name.isalpha() and name != "today"}
    own = _NAMES.split()
    return {**plain, **dict(zip(own[::2], own[1::2], strict=True)), **dict.fromkeys(_BLANKS, " ")}


class _Reading:
    """A text that is read once; it knows how far."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth = text, 0, 0
        self._symbols = _symbols()

    def upto(self, end: str) -> str:
        """Return what is printed up to a closing brace if `end` is one, else up to the end of the text."""
        parts: list[str] = []
        while found := _TOKEN.match(self._text, self._at):
            self._at = found.end()
            if found[0] != "}":
                parts.append(self._printed(found))
            elif end:
                break
        return "".join(parts)

    def _printed(self, token: re.Match[str]) -> str:
        text = token[0]
        if self._depth > _DEEPEST:
            return "" if text == "{" else text
        self._depth += 1
        try:
            if token[1]:
                return self._macro(token[1])
            if token[2]:
                return self._escaped(token[2])
            if text == "{":
                return self.upto("}")
            return self._mathematics(text) if text[0] == "$" else _LIGATURES.get(text, text)
        finally:
            self._depth -= 1

    def _escaped(self, char: str) -> str:
        if char in _MARKS:
            return self._accented(char)
        if char in _MATH_END:
            end = self._text.find(_MATH_END[char], self._at, self._at + _FARTHEST)
            return self._verbatim(self._at - 2, end + 2) if end >= 0 else char
        return " " if char in _SPACES else "" if char in _NOTHING else char

    def _macro(self, name: str) -> str:
        if len(name) == 1 and name in _MARKS:
            return self._accented(name)
        if name in self._symbols:
            return self._after_blanks(self._symbols[name])
        self._skip_option()
        for _ in range(_NO_TEXT.get(name, 0)):
            self._raw_argument()
            self._skip_option()
        has_argument = _ARGUMENT.match(self._text, self._at) is not None
        if name in _SWITCHES or (name in _NO_TEXT and not has_argument):
            self._skip_blanks()
            return ""
        if name == "verb":
            return self._between_marks()
        if name in _FRACTIONS:
            return f"{self._argument()}/{self._argument()}"
        if not has_argument:
            return f"\\{name}"
        if name in _VERBATIM:
            return self._raw_argument()
        if name.lower().startswith("cite"):
            self._raw_argument()
            return ""
        return _AROUND.get(name, "{}").format(self._argument())

    def _after_blanks(self, symbol: str) -> str:
        """Return a symbol; blanks after it end the macro's name, but between words one stays."""
        letter = len(symbol) == 1 and unicodedata.name(symbol, "").startswith(("LATIN", "CYRILLIC"))
        blank = self._skip_blanks()
        return symbol if letter or not blank else f"{symbol} "

    def _accented(self, mark: str) -> str:
        base = self._argument()
        if not base.strip():
            return "" if mark.isalpha() else f"{mark}{base}"
        letter = _DOTLESS.get(base[0], base[0])
        return unicodedata.normalize("NFC", letter + _MARKS[mark]) + base[1:]

    def _argument(self) -> str:
        """Return what a macro's next argument prints: a group, a macro or a character."""
        self._skip_blanks()
        found = _TOKEN.match(self._text, self._at)
        if found is None or found[0] == "}":
            return ""
        if found[0][0] in "\\{":
            self._at = found.end()
            return self._printed(found)
        self._at += 1
        return found[0][0]

    def _raw_argument(self) -> str:
        """Return an argument in braces as it is written, empty where there is none."""
        if not _ARGUMENT.match(self._text, self._at):
            return ""
        self._skip_blanks()
        start = self._at
        self._argument()
        return self._text[start + 1 : self._at].removesuffix("}")

    def _between_marks(self) -> str:
        start = self._at
        mark = self._text[start : start + 1]
        end = self._text.find(mark, start + 1, start + _FARTHEST) if mark else -1
        return self._verbatim(start, end + 1)[1:-1] if end > 0 else ""

    def _mathematics(self, mark: str) -> str:
        """Return mathematics with its dollar signs; a sign without a partner is a sign of money."""
        start = self._at - len(mark)
        closing = _DISPLAY if mark == "$$" else _CLOSING
        found = closing.search(self._text, self._at, self._at + _FARTHEST)
        if found is None or not _balanced(self._text[self._at : found.start()]):
            return mark
        return self._verbatim(start, found.end())

    def _verbatim(self, start: int, end: int) -> str:
        self._at = end
        return self._text[start:end]

    def _skip_blanks(self) -> bool:
        start = self._at
        while self._text[self._at : self._at + 1].isspace():
            self._at += 1
        return self._at > start

    def _skip_option(self) -> None:
        """Skip a star, and an argument in square brackets, before an argument in braces."""
        if option := _OPTION.match(self._text, self._at):
            self._at = option.end()


def _balanced(text: str) -> bool:
    depth = 0
    for brace in _BRACE.findall(text):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0
