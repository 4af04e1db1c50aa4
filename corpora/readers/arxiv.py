"""arXiv's metadata snapshot in JSON lines (kaggle.com/datasets/Cornell-University/arxiv)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from corpora.accounting import accounted
from corpora.assembling import assemble
from corpora.cleaning import normal_date, text_of
from corpora.custom import CustomField
from corpora.markup import with_accents
from corpora.names import whole_name
from corpora.opening import PLAIN, Opening
from corpora.paper import Record, Rejected
from corpora.readers.jsonl import read_file
from corpora.sniffing import refuse_folder

URL = "https://arxiv.org/abs/{}"

_CREATED = re.compile(r"(\d{1,2}) ([A-Z][a-z]{2}) (\d{4})")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def read(
    path: Path,
    columns: Mapping[str, str],  # noqa: ARG001  # every reader is given it
    custom: Sequence[CustomField] = (),
    opening: Opening = PLAIN,
) -> Iterator[Record]:
    """Read arXiv's metadata lazily; see `Reader`.

    A paper's year is that of its first version, its fields are arXiv's categories. Custom fields can be `journal_ref`,
    `comments`, `license`, `submitter`, `report_no`, `update_date`, and `published`, the date of the first version.
    """
    refuse_folder(path, "arXiv's metadata in JSON")
    for item in read_file(path, "arXiv's metadata in JSON", opening.encoding):
        if isinstance(item, Rejected):
            yield item
        else:
            yield accounted(item.members, partial(_paper, item.line, custom=custom))


def _paper(line: int, entry: Mapping[str, object], custom: Sequence[CustomField]) -> Record:
    id_ = text_of(entry.get("id"))
    published = _published(entry.get("versions"))
    parsed = entry.get("authors_parsed")
    record = {
        "id": id_,
        "title": with_accents(text_of(entry.get("title"))),
        "abstract": with_accents(text_of(entry.get("abstract"))),
        "authors": [_name(author) for author in parsed] if isinstance(parsed, list) else entry.get("authors"),
        "year": published or entry.get("update_date"),
        "venue": "arXiv",
        "fields": text_of(entry.get("categories")).split(),
        "arxiv": id_,
        "doi": entry.get("doi"),
        "url": URL.format(id_),
    }
    return assemble(line, record, {}, custom, {**entry, **_by_python_names(entry), "published": published})


def _by_python_names(entry: Mapping[str, object]) -> dict[str, object]:
    return {name.replace("-", "_"): value for name, value in entry.items()}


def _name(author: object) -> str:
    """Return "Csaba Balázs Jr" of `["Balázs", "Csaba", "Jr"]`; what follows is an affiliation."""
    last, first, suffix = (*map(text_of, author), "", "", "")[:3] if isinstance(author, list) else ("", "", "")
    return whole_name(last, first, suffix)


def _published(versions: object) -> str:
    """Return the date of the first version, whose `created` is `Mon, 2 Apr 2007 19:18:42 GMT`."""
    first = versions[0] if isinstance(versions, list) and versions else None
    found = _CREATED.search(text_of(first.get("created")) if isinstance(first, dict) else "")
    if found is None or found[2] not in _MONTHS:
        return ""
    return normal_date(f"{found[3]}-{_MONTHS.index(found[2]) + 1}-{found[1]}") or ""
