"""BibTeX and BibLaTeX, read by bibtexparser; accents and macros of LaTeX become Unicode, mathematics stays.

The form is that of the BibTeX manual (Patashnik 1988) and of BibLaTeX's (ctan.org/pkg/biblatex, section 2).
"""

from __future__ import annotations

import logging
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from corpora.assembling import assemble
from corpora.cleaning import text_of
from corpora.errors import InputError
from corpora.installed import extra, needing
from corpora.markup import plain_members
from corpora.opening import NOT_UTF8, PLAIN, Opening, as_text, open_binary
from corpora.paper import Record, Rejected
from corpora.sniffing import refuse_folder, refuse_other

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from corpora.custom import CustomField

LONGEST_FILE = 128 << 20
"""In characters: bibtexparser reads a file as a whole. About 100,000 entries with abstracts."""

LONGEST_ENTRY = 1 << 20
"""In characters: decoding LaTeX takes time."""

DEEPEST = 100
"""Braces within braces."""

_NOT_UTF8 = re.compile("[\udc80-\udcff]")
_BRACE = re.compile(r"(?<!\\)[{}]")
_SEPARATORS = re.compile(r"[;,|]")
_WITH_MARKUP = ("title", "abstract", "venue")


def read(
    path: Path,
    columns: Mapping[str, str],  # noqa: ARG001  # every reader is given it
    custom: Sequence[CustomField] = (),
    opening: Opening = PLAIN,
) -> Iterator[Record]:
    """Read BibTeX entry by entry; see `Reader`. The file is in memory as a whole.

    A paper's id is the entry's key. Custom fields have the names of BibTeX's fields: `publisher`, `note`, `issn` ...
    Broken entries are rejected. Raises `UnavailableError` if bibtexparser isn't installed.
    """
    with needing("Reading BibTeX needs bibtexparser and pylatexenc", extra("references")):
        import bibtexparser
        from bibtexparser import model
        from bibtexparser.middlewares import names
        from pylatexenc.latex2text import LatexNodes2Text

    refuse_folder(path, "a BibTeX file")
    with open_binary(path, opening.encoding) as stream:
        refuse_other(path, stream.peek(), "BibTeX", ("bibtex",))
        with as_text(stream) as text:
            content = text.read(LONGEST_FILE + 1)
    if len(content) > LONGEST_FILE:
        raise InputError(f"{path} is longer than {LONGEST_FILE >> 20} MiB: divide it into several files.")
    with _quiet():
        library = bibtexparser.parse_string(content)
    decode = LatexNodes2Text(math_mode="verbatim").latex_to_text
    for block in library.blocks:
        line = (block.start_line or 0) + 1
        if isinstance(block, model.DuplicateBlockKeyBlock):
            block = block.ignore_error_block  # an index keeps the last one of an id, and counts them
        if isinstance(block, model.Entry):
            yield _entry(line, block, decode, names, custom)
        elif isinstance(block, model.ParsingFailedBlock):
            yield Rejected(line, f"The entry is broken ({text_of(str(block.error))[:200].rstrip('.')}).")


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep bibtexparser from logging what is rejected with its line anyway."""
    logger = logging.getLogger("bibtexparser")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _entry(line: int, entry: Any, decode: Callable[[str], str], names: Any, custom: Sequence[CustomField]) -> Record:
    raw = {field.key.lower(): str(field.value) for field in entry.fields}
    key = text_of(entry.key)
    if sum(map(len, raw.values())) > LONGEST_ENTRY:
        return Rejected(line, f"The entry is longer than {LONGEST_ENTRY:,} characters.", key)
    if any(_NOT_UTF8.search(value) for value in (entry.key, *raw.values())):
        return Rejected(line, f"The entry has {NOT_UTF8}.")
    if any(_depth(value) > DEEPEST for value in raw.values()):
        return Rejected(line, f"The entry has more than {DEEPEST} braces within braces.", key)

    members = {name: value if name in ("url", "doi") else decode(value) for name, value in raw.items()}
    people = [
        decode(names.parse_single_name_into_parts(name, strict=False).merge_first_name_first)
        for name in names.split_multiple_persons_names(raw.get("author") or raw.get("editor", ""))
        if name.strip() not in ("", "others")
    ]
    arxiv = (
        members.get("eprint") if members.get("archiveprefix", members.get("eprinttype", "")).lower() == "arxiv" else ""
    )
    record = {
        "id": key,
        "title": members.get("title"),
        "abstract": members.get("abstract"),
        "authors": people,
        "year": members.get("year") or members.get("date"),
        "venue": next((members[name] for name in ("journal", "journaltitle", "booktitle") if members.get(name)), ""),
        "types": entry.entry_type,
        "language": members.get("langid") or members.get("language"),
        "fields": _SEPARATORS.split(members.get("keywords", "")),
        "doi": members.get("doi"),
        "pmid": members.get("pmid"),
        "arxiv": arxiv,
        "url": members.get("url"),
    }
    return assemble(line, plain_members(record, _WITH_MARKUP), {}, custom, members)


def _depth(latex: str) -> int:
    deepest = depth = 0
    for brace in _BRACE.findall(latex):
        depth += 1 if brace == "{" else -1
        deepest = max(deepest, depth)
    return deepest
