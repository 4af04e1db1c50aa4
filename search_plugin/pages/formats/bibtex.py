r"""BibTeX, for LaTeX and programs for references.

What has a meaning in LaTeX is escaped. Braces are written by name, since BibTeX counts them also after a backslash.
Other characters stay as they are, in UTF-8, as biber reads them. DOIs and links are not text for LaTeX, so there only
braces and backslashes are replaced, by their percent codes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from corpora.links import identifier_of, link_of
from search_plugin.contract.ordering import title_key
from search_plugin.pages.formats.exported import at_meeting, one_line
from search_plugin.pages.formats.names import parse_name

if TYPE_CHECKING:
    from corpora.paper import Paper
    from search_plugin.pages.formats.exported import FoundPaper

_ESCAPED = str.maketrans(
    {char: f"\\{char}" for char in "&%$#_"}
    | {"\\": r"{\textbackslash}", "{": r"{\textbraceleft}", "}": r"{\textbraceright}"}
    | {"~": r"{\textasciitilde}", "^": r"{\textasciicircum}", "<": r"{\textless}", ">": r"{\textgreater}"}
    | {"|": r"{\textbar}"}
)
_VERBATIM = str.maketrans({"{": "%7B", "}": "%7D", "\\": "%5C"})
_AND = re.compile(r"(^|\s)and(\s|$)", re.IGNORECASE)


def render(hits: Sequence[FoundPaper]) -> str:
    """Return an entry for each hit; keys are made of author, year and title, and are different within a file."""
    used: Counter[str] = Counter()
    entries = []
    for hit in hits:
        key = _key(hit.paper)
        used[key] += 1
        entries.append(_entry(hit.paper, key if used[key] == 1 else f"{key}-{used[key]}"))
    return "\n".join(entries)


def _entry(paper: Paper, key: str) -> str:
    meeting = at_meeting(paper)
    kind = "misc" if not paper.venue else "inproceedings" if meeting else "article"
    fields = {
        # The second pair of braces keeps capitals, which styles would make small (DNA).
        "title": f"{{{escaped(paper.title)}}}",
        "author": " and ".join(map(_author, paper.authors)),
        "booktitle" if meeting else "journal": escaped(paper.venue),
        "year": str(paper.year or ""),
        "doi": one_line(identifier_of(paper, "doi")).translate(_VERBATIM),
        "url": link_of(paper).translate(_VERBATIM),
        "pmid": one_line(identifier_of(paper, "pmid")).translate(_VERBATIM),
        "abstract": escaped(paper.abstract),
        "keywords": ", ".join(map(escaped, paper.fields)),
        "language": escaped(paper.language),
        "note": "Retracted" if paper.retracted else "",
    }
    return _written(kind, key, {name: value for name, value in fields.items() if value})


def _written(kind: str, key: str, fields: Mapping[str, str]) -> str:
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"@{kind}{{{key},\n{lines}}}\n"


def escaped(text: str) -> str:
    """Return a text in one line as LaTeX that prints it."""
    return one_line(text).translate(_ESCAPED)


def _author(text: str) -> str:
    name = parse_name(one_line(text))
    # In braces, BibTeX takes it for one name, whatever words and commas it holds.
    whole = not name.given or _AND.search(str(name)) or "," in name.family + name.given
    return f"{{{escaped(str(name))}}}" if whole else escaped(str(name))


def _key(paper: Paper) -> str:
    family = parse_name(paper.authors[0]).family if paper.authors else ""
    word = max(title_key(paper.title).split()[:4], key=len, default="")
    parts = (re.sub(r"[^a-z0-9]", "", title_key(part)) for part in (family, str(paper.year or ""), word))
    return "".join(parts) or "paper"
