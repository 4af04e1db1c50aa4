r"""Hits as text for other programs. A new format is a function and a name in `FORMATS` of `search_plugin.pages.page`.

In BibTeX, what has a meaning in LaTeX is escaped. Braces are written by name, since BibTeX counts them also after a
backslash. Other characters stay as they are, in UTF-8, as biber reads them. DOIs and links are not text for LaTeX, so
there only braces and backslashes are replaced, by their percent codes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from corpora.identifiers import identifier_of, link_of
from corpora.lazy import orjson
from corpora.names import parse_name
from corpora.outgoing import cell, json_text, plain
from corpora.paper import TYPES, Paper
from corpora.publication import PARTS, Publication
from search_plugin.contract.legs import title_key
from search_plugin.pages.hit import Hit

_NONE = Publication()
_MEETING = re.compile(r"conference|proceedings|meeting", re.IGNORECASE)
_ESCAPED = str.maketrans(
    {char: f"\\{char}" for char in "&%$#_"}
    | {"\\": r"{\textbackslash}", "{": r"{\textbraceleft}", "}": r"{\textbraceright}"}
    | {"~": r"{\textasciitilde}", "^": r"{\textasciicircum}", "<": r"{\textless}", ">": r"{\textgreater}"}
    | {"|": r"{\textbar}"}
)
_VERBATIM = str.maketrans({"{": "%7B", "}": "%7D", "\\": "%5C"})
_LIGATURE = re.compile("(?<=-)(?=-)|(?<=')(?=')|(?<=[`?!])(?=`)")
_SEPARATOR = re.compile("[,;|]")
_OWN_KEY = re.compile(r"(?=.*[a-z])[A-Za-z][\w:.+/-]{0,79}", re.ASCII)
_AND = re.compile(r"(^|\s)and(\s|$)", re.IGNORECASE)


def facts_of(hit: Hit) -> dict[str, Any]:
    """Return what tables and JSON lines say of a hit, without its custom fields."""
    paper = hit.paper
    first = {
        "rank": hit.rank,
        "score": hit.score,
        "weak": hit.weak,
        "id": paper.id,
        "title": paper.title,
        "authors": paper.authors,
        "year": paper.year,
        "venue": paper.venue,
        "doi": identifier_of(paper, "doi"),
        "link": link_of(paper),
        "abstract": paper.abstract,
    }
    others = {name: getattr(paper, name) for name in TYPES if name not in (*first, "extra", "publication")}
    return {**first, **others, **{name: getattr(paper.publication or _NONE, name) for name in PARTS}}


def rows_of(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    """Return the rows of a table of hits, all with the same keys; custom fields are named `extra.NAME`."""
    custom = list(dict.fromkeys(name for hit in hits for name in hit.paper.extra))
    return [{**facts_of(hit), **{f"extra.{name}": hit.paper.extra.get(name) for name in custom}} for hit in hits]


def jsonl(hits: Sequence[Hit]) -> str:
    """Return JSON Lines: one object for each hit, custom fields under `extra`; the reader of JSON lines reads it."""
    lines = (json_text(orjson.dumps({**facts_of(hit), "extra": hit.paper.extra})) for hit in hits)
    return "".join(f"{line}\n" for line in lines)


def csv(hits: Sequence[Hit]) -> str:
    """Return CSV (RFC 4180) with a header, for spreadsheets; the reader of CSV reads it.

    Values of lists are separated by `; `, custom fields are named `extra.NAME`.
    """
    import csv
    import io

    rows = rows_of(hits)
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(rows[0] if rows else ["rank", "score", "weak", "id", "title"])
    writer.writerows(map(cell, row.values()) for row in rows)
    return file.getvalue()


def bibtex(hits: Sequence[Hit]) -> str:
    """Return an entry of BibTeX for each hit; the reader of BibTeX reads it.

    Keys are those of the user's own library, else of author, year and title; they are different within a file.
    """
    used: set[str] = set()
    entries = []
    for hit in hits:
        key = _bibtex_key(hit.paper)
        # BibTeX compares keys without case.
        free = (one for number in count(1) if (one := key if number == 1 else f"{key}-{number}").lower() not in used)
        used.add((key := next(free)).lower())
        entries.append(_bibtex_entry(hit.paper, key))
    return "\n".join(entries)


def _bibtex_entry(paper: Paper, key: str) -> str:
    meeting, where = at_meeting(paper), paper.publication or _NONE
    kind = _kind_of(paper, "article", "inproceedings", "misc")
    fields = {
        # The second pair of braces keeps capitals, which styles would make small (DNA).
        "title": f"{{{escaped(paper.title)}}}",
        "author": " and ".join(map(_bibtex_author, paper.authors)),
        "booktitle" if meeting else "journal": escaped(paper.venue),
        "volume": escaped(where.volume),
        "number": escaped(where.issue),
        # LaTeX sets the two hyphens as a dash.
        "pages": "--".join(map(escaped, filter(None, where.page_range))),
        "publisher": escaped(where.publisher),
        "issn": escaped(", ".join(where.issn)),
        "year": str(paper.year or ""),
        "doi": one_line(identifier_of(paper, "doi")).translate(_VERBATIM),
        "url": link_of(paper).translate(_VERBATIM),
        "pmid": one_line(identifier_of(paper, "pmid")).translate(_VERBATIM),
        "abstract": escaped(paper.abstract),
        # In braces, a keyword may have commas.
        "keywords": ", ".join(
            f"{{{word}}}" if _SEPARATOR.search(word) else word for word in map(escaped, paper.fields)
        ),
        "language": escaped(paper.language),
        "note": "Retracted" if paper.retracted else "",
    }
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value)
    return f"@{kind}{{{key},\n{lines}}}\n"


def escaped(text: str) -> str:
    """Return a text in one line as LaTeX that prints it; what would be a ligature, such as `--`, is divided."""
    return _LIGATURE.sub("{}", one_line(text).translate(_ESCAPED))


def _bibtex_author(text: str) -> str:
    name = parse_name(one_line(text))
    # In braces, BibTeX takes it for one name, whatever words and commas it holds.
    if not name.given or _AND.search(str(name)) or "," in name.family + name.given:
        return f"{{{escaped(str(name))}}}"
    # BibTeX has the suffix second, others last.
    return escaped(", ".join(filter(None, (name.family, name.suffix, name.given))))


def _bibtex_key(paper: Paper) -> str:
    own = identifier_of(paper, "key")
    if _OWN_KEY.fullmatch(own):
        return own
    family = parse_name(paper.authors[0]).family if paper.authors else ""
    word = max(title_key(paper.title).split()[:4], key=len, default="")
    parts = (re.sub(r"[^a-z0-9]", "", title_key(part)) for part in (family, str(paper.year or ""), word))
    return "".join(parts) or "paper"


def ris(hits: Sequence[Hit]) -> str:
    """Return an RIS record for each hit, for EndNote, Zotero, Mendeley and others: each line has a tag and a value."""
    records = ("".join(f"{tag}  - {value}\n" for tag, value in _ris_lines(hit.paper) if value) for hit in hits)
    return "\n".join(f"{record}ER  - \n" for record in records)


def _ris_lines(paper: Paper) -> Iterator[tuple[str, str]]:
    where = paper.publication or _NONE
    first, last = where.page_range
    yield "TY", _kind_of(paper, "JOUR", "CONF", "GEN")
    yield "ID", one_line(paper.id)
    yield "TI", one_line(paper.title)
    yield from (("AU", str(parse_name(one_line(author)))) for author in paper.authors)
    yield "PY", str(paper.year or "")
    yield "T2", one_line(paper.venue)
    yield "VL", one_line(where.volume)
    yield "IS", one_line(where.issue)
    yield "SP", one_line(first)
    yield "EP", one_line(last)
    yield "PB", one_line(where.publisher)
    yield from (("SN", one_line(number)) for number in where.issn)
    yield "AB", one_line(paper.abstract)
    yield "DO", one_line(identifier_of(paper, "doi"))
    # A semicolon would end the address.
    yield "UR", link_of(paper).replace(";", "%3B")
    yield "LA", one_line(paper.language)
    yield from (("KW", one_line(word)) for word in paper.fields)
    yield "N1", "Retracted" if paper.retracted else ""


def csl(hits: Sequence[Hit]) -> str:
    """Return CSL JSON, which citation processors, Zotero and pandoc take: a list with an item for each hit.

    The fields are those of citeproc's schema (docs.citationstyles.org); the reader of Zotero's exports reads it.
    """
    items = [{name: value for name, value in _csl_item(hit.paper).items() if value} for hit in hits]
    return json_text(orjson.dumps(items, option=orjson.OPT_INDENT_2)) + "\n"


def _csl_item(paper: Paper) -> dict[str, Any]:
    where = paper.publication or _NONE
    return {
        "id": paper.id,
        "type": _kind_of(paper, "article-journal", "paper-conference", "document"),
        "title": one_line(paper.title),
        "author": list(map(_csl_name, paper.authors)),
        "issued": {"date-parts": [[paper.year]]} if paper.year else None,
        "container-title": one_line(paper.venue),
        "volume": one_line(where.volume),
        "issue": one_line(where.issue),
        "page": one_line(where.pages),
        "publisher": one_line(where.publisher),
        "ISSN": ", ".join(where.issn),
        "DOI": identifier_of(paper, "doi"),
        "PMID": identifier_of(paper, "pmid"),
        "PMCID": identifier_of(paper, "pmc"),
        "URL": link_of(paper),
        "abstract": one_line(paper.abstract),
        "keyword": ", ".join(map(one_line, paper.fields)),
        "language": one_line(paper.language),
        "note": "Retracted" if paper.retracted else "",
    }


def _csl_name(text: str) -> dict[str, str]:
    name = parse_name(one_line(text))
    if not name.given:
        return {"literal": str(name)}
    parts = {"family": name.family, "given": name.given, "suffix": name.suffix}
    return {part: value for part, value in parts.items() if value}


def _kind_of(paper: Paper, article: str, proceedings: str, other: str) -> str:
    """Return what a format calls a paper: an article in a journal, a paper of a meeting, or one without a venue."""
    if not paper.venue:
        return other
    return proceedings if at_meeting(paper) else article


def at_meeting(paper: Paper) -> bool:
    """Return whether a paper's types say that it appeared in the proceedings of a meeting."""
    return any(_MEETING.search(kind) for kind in paper.types)


def one_line(text: str) -> str:
    """Return a plain text in one line, without surplus blanks."""
    return " ".join(plain(text).split())
