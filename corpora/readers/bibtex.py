r"""BibTeX and BibLaTeX: entries are cut by bibtexparser; macros of LaTeX become Unicode, mathematics stays.

The form is that of the BibTeX manual (Patashnik 1988) and of BibLaTeX's (ctan.org/pkg/biblatex, section 2).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from corpora.accounting import accounted
from corpora.aliases import WORLDWIDE
from corpora.assembling import assemble
from corpora.cleaning import text_of, year_of
from corpora.custom import CustomField
from corpora.errors import InputError
from corpora.identifiers import find_identifiers, identifiers_in
from corpora.installed import extra, needing
from corpora.latex import latex_name, latex_text
from corpora.markup import plain_members
from corpora.names import divided_names, whole_name
from corpora.opening import NOT_UTF8, PLAIN, Opening, as_text, open_binary
from corpora.paper import Record, Rejected
from corpora.sniffing import refuse_folder, refuse_other

LONGEST_FILE = 128 << 20
"""Most characters of a file, since bibtexparser reads it as a whole. These are about 100,000 entries with abstracts."""

LONGEST_ENTRY = 1 << 20
"""Most characters of an entry: decoding LaTeX takes time."""

DEEPEST = 100
"""Braces within braces."""

_NOT_UTF8 = re.compile("[\udc80-\udcff]")
_BRACE = re.compile(r"(?<!\\)[{}]")
_PARTS = re.compile(r'\{|\}|"|#|[^{}"#]+|.', re.DOTALL)
_PERCENT_CODES = re.compile(r"%(?:7B|7D|5C)", re.IGNORECASE)
_ADDRESSES = ("url", "doi", "ee", "howpublished", "file", "eprint", "pmid", "pmcid", "crossref")
_VENUES = ("journal", "journaltitle", "booktitle", "maintitle", "school", "institution", "organization")
_NAME_PARTS = ("family", "given", "prefix", "suffix", "useprefix", "family-i", "given-i", "prefix-i", "suffix-i")
_WITH_MARKUP = ("title", "abstract", "venue")
_NO_PAPERS = ("xdata", "set", "bibnote", "control")
_NOT_INHERITED = frozenset(
    (
        *("title", "subtitle", "abstract", "keywords", "doi", "url", "ee", "eprint", "pmid", "pmcid", "note", "file"),
        *("crossref", "xdata", "author", "shorttitle", "langid", "isbn", "ids", "type"),
    )
)
"""What a paper does not have of the proceedings that it is in; its own identifiers first of all."""


def read(
    path: Path,
    columns: Mapping[str, str],  # noqa: ARG001  # every reader is given it
    custom: Sequence[CustomField] = (),
    opening: Opening = PLAIN,
) -> Iterator[Record]:
    """Read BibTeX entry by entry; see `Reader`. The file is in memory as a whole.

    A paper's id is its DOI, PMID or another identifier that names one paper only, else a hash of title, authors and
    year; the entry's key is its identifier `key:KEY`. Custom fields have the names of BibTeX's fields: `publisher`,
    `note`, `issn` ..., and `key`. Broken entries are rejected. Raises `UnavailableError` if bibtexparser isn't
    installed.
    """
    with needing("Reading BibTeX needs bibtexparser and pylatexenc", extra("references")):
        import bibtexparser
        import pylatexenc.latex2text  # noqa: F401 - for corpora.latex
        from bibtexparser import model
        from bibtexparser.middlewares import names

    refuse_folder(path, "a BibTeX file")
    with open_binary(path, opening.encoding) as stream:
        refuse_other(path, stream.peek(), "BibTeX", ("bibtex",))
        with as_text(stream) as text:
            content = text.read(LONGEST_FILE + 1)
    if len(content) > LONGEST_FILE:
        raise InputError(f"{path} is longer than {LONGEST_FILE >> 20} MiB: divide it into several files.")
    with _quiet():
        # Without its middlewares: they read neither "a" # b nor a field that is given twice.
        library = bibtexparser.parse_string(content, parse_stack=[])
    blocks = [getattr(block, "ignore_error_block", None) or block for block in library.blocks]
    strings: dict[str, str] = {}
    for block in blocks:
        if isinstance(block, model.String):
            strings.setdefault(block.key.lower(), _value(block.value, strings))
    entries = [(block, _fields(block, strings)) for block in blocks if isinstance(block, model.Entry)]
    # Left out without a key: an entry that has no crossref would else name it as its parent.
    by_key = {text_of(block.key).lower(): fields for block, fields in reversed(entries) if text_of(block.key)}
    members = iter(entries)
    for block in blocks:
        line = (block.start_line or 0) + 1
        if isinstance(block, model.Entry):
            kind, fields = block.entry_type.lower(), next(members)[1]
            if kind not in _NO_PAPERS:
                convert = partial(_entry, line, text_of(block.key), kind, by_key, names, custom)
                yield accounted(fields, convert)
        elif isinstance(block, model.ParsingFailedBlock):
            yield Rejected(line, "The entry is broken: a brace, a quote or a comma of it is missing.")


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep bibtexparser from logging what is rejected with its line anyway."""
    logger = logging.getLogger("bibtexparser")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)  # also of the loggers below it
    try:
        yield
    finally:
        logger.setLevel(before)


def _value(written: str, strings: Mapping[str, str]) -> str:
    """Return a value without its braces or quotes: its parts, with `#` between them, joined, strings replaced."""
    parts: list[str] = []
    depth, quoted, part = 0, False, ""
    for found in _PARTS.findall(written):
        if found == "#" and depth == 0 and not quoted:
            parts.append(_part(part.strip(), strings))
            part = ""
            continue
        part += found
        escaped = part[-2:-1] == "\\" and len(found) == 1
        if found == '"' and depth == 0 and not escaped:
            quoted = not quoted
        elif found in "{}" and not escaped:
            depth = max(0, depth + (1 if found == "{" else -1))
    return "".join([*parts, _part(part.strip(), strings)])


def _part(part: str, strings: Mapping[str, str]) -> str:
    if part[:1] + part[-1:] in ("{}", '""') and len(part) > 1:
        return part[1:-1]
    return strings.get(part.lower(), part)


def _fields(entry: Any, strings: Mapping[str, str]) -> dict[str, str]:
    """Return the values of an entry; of a field that is given twice the first one, as BibTeX does."""
    fields: dict[str, str] = {}
    for field in entry.fields:
        name, value = field.key.lower(), _value(str(field.value), strings)
        if not fields.get(name):
            fields[name] = value
    return fields


def _with_parents(kind: str, fields: Mapping[str, str], by_key: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the fields of an entry with those that it has from the proceedings or the book that it is in."""
    found, seen = dict(fields), set[str]()
    wanted = [fields.get("crossref", ""), *fields.get("xdata", "").split(",")]
    while wanted:
        key = wanted.pop(0).strip().lower()
        parent = by_key.get(key)
        if parent is None or key in seen:
            continue
        seen.add(key)
        whole = "journaltitle" if kind == "article" else "booktitle"
        if parent.get("title") and not any(found.get(name) for name in ("journal", "journaltitle", "booktitle")):
            found[whole] = parent.get(whole) or parent["title"]
        author = ("author",) if kind == "inbook" else ()
        for name, value in parent.items():
            if (name not in _NOT_INHERITED or name in author) and not found.get(name):
                found[name] = value
        wanted.append(parent.get("crossref", ""))
    return found


def _entry(
    line: int,
    key: str,
    kind: str,
    by_key: Mapping[str, Mapping[str, str]],
    names: Any,
    custom: Sequence[CustomField],
    fields: Mapping[str, str],
) -> Record:
    raw = _with_parents(kind, fields, by_key)
    if sum(map(len, raw.values())) > LONGEST_ENTRY:
        return Rejected(line, f"The entry is longer than {LONGEST_ENTRY:,} characters.", key)
    if any(_NOT_UTF8.search(value) for value in (key, *raw.values())):
        return Rejected(line, f"The entry has {NOT_UTF8}.")
    if any(_depth(value) > DEEPEST for value in raw.values()):
        return Rejected(line, f"The entry has more than {DEEPEST} braces within braces.", key)

    members = {name: latex_name(value) if name in _ADDRESSES else latex_text(value) for name, value in raw.items()}
    title, subtitle = members.get("title", ""), members.get("subtitle", "")
    venue = next((members[name] for name in _VENUES if members.get(name)), "")
    links = [members.get(name, "") for name in ("url", "ee", "howpublished", "note")]
    archive = members.get("archiveprefix", members.get("eprinttype", "")).lower()
    record = {
        "title": f"{title}: {subtitle}" if title and subtitle else title,
        "abstract": members.get("abstract"),
        "authors": _people(raw.get("author") or raw.get("editor", ""), names),
        "year": next(filter(year_of, (members.get("year"), members.get("date"))), None),
        "venue": venue,
        "types": kind,
        "language": members.get("langid") or members.get("language"),
        "fields": _keywords(raw.get("keywords", "")),
        "doi": _PERCENT_CODES.sub(lambda code: chr(int(code[0][1:], 16)), members.get("doi", "")),
        "pmid": [number for number in (members.get("pmid"), archive == "pubmed" and members.get("eprint")) if number],
        "pmc": members.get("pmcid") or members.get("pmc"),
        "arxiv": members.get("eprint") if archive == "arxiv" else _arxiv_in(venue),
        "key": key,
        "retracted": members.get("note") == "Retracted",
        "url": members.get("url") or members.get("ee"),
        "volume": members.get("volume"),
        "issue": members.get("number") or members.get("issue"),
        "pages": members.get("pages"),
        "article_number": members.get("eid") or members.get("articleno") or members.get("article-number"),
        "publisher": members.get("publisher"),
        "issn": [members.get("issn", ""), members.get("eissn", "")],
    }
    record["identifiers"] = list(identifiers_in(links, record))
    beside = {"key": key, **members}
    found = assemble(line, plain_members(record, _WITH_MARKUP), {}, custom, beside, WORLDWIDE)
    return replace(found, id=key) if isinstance(found, Rejected) else found


def _arxiv_in(venue: str) -> str:
    """Return the number in a venue such as `arXiv preprint arXiv:2004.07180`."""
    return next((found.value for found in find_identifiers(venue) if found.kind == "arxiv"), "")


def _people(written: str, names: Any) -> list[str]:
    people = _outside(written, r"\s+and\s+")
    if len(people) == 1 and "{" not in written:
        people = divided_names(written)
    return [name for one in people if (name := _name(one.strip(), names))]


def _name(written: str, names: Any) -> str:
    """Return a name with its parts where the entry divides it, which it does by a comma; else as it is written."""
    if written in ("", "others"):
        return ""
    pairs = [pair.partition("=") for pair in _outside(written, ",")]
    if all(
        sign and name.strip().lower() in _NAME_PARTS for name, sign, _ in pairs
    ):  # BibLaTeX: family=Berg, given=Jan, prefix=van den
        named = {name.strip().lower(): latex_text(value).strip(' "') for name, _, value in pairs}
        family = text_of([named.get("prefix", ""), named.get("family", "")])
        return whole_name(family, named.get("given", ""), named.get("suffix", ""))
    parts = names.parse_single_name_into_parts(written, strict=False)
    if not parts.first or len(pairs) == 1:
        return latex_text(written)
    family, given, suffix = (
        text_of(latex_text(" ".join(part))) for part in (parts.von + parts.last, parts.first, parts.jr)
    )
    return whole_name(family, given, suffix)


def _keywords(written: str) -> list[str]:
    """Return keywords; where semicolons separate them, commas are within: `Sleep, REM; Bees`. So they are in braces."""
    separator = next((mark for mark in (";", r"\|") if len(_outside(written, mark)) > 1), ",")
    return [latex_text(word) for word in _outside(written, separator)]


def _outside(latex: str, separator: str) -> list[str]:
    """Return the parts of a text that an expression separates outside of all braces."""
    parts, depth = [""], 0
    for piece in re.split(rf"(\\.|[{{}}]|{separator})", latex, flags=re.DOTALL | re.IGNORECASE):
        if depth <= 0 and re.fullmatch(separator, piece, re.IGNORECASE):
            parts.append("")
            continue
        depth += {"{": 1, "}": -1}.get(piece, 0)
        parts[-1] += piece
    return parts


def _depth(latex: str) -> int:
    deepest = depth = 0
    for brace in _BRACE.findall(latex):
        depth += 1 if brace == "{" else -1
        deepest = max(deepest, depth)
    return deepest
