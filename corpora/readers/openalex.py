"""OpenAlex's works: the snapshot's JSON lines, or works saved from the API (docs.openalex.org/api-entities/works).

Abstracts are inverted indexes (word to positions) and are put together again. A work that was updated stands in several
parts of the snapshot, whose folders are named after dates; parts are read in that order, and the index keeps the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from corpora.accounting import accounted
from corpora.assembling import assemble
from corpora.cleaning import text_of
from corpora.custom import CustomField
from corpora.errors import require
from corpora.markup import plain_members
from corpora.opening import PLAIN, Opening
from corpora.paper import Record, Rejected
from corpora.readers.jsonl import json_files, read_file
from corpora.reading import read_each

LONGEST_ABSTRACT = 200_000
"""In words; the positions of a damaged abstract can be any numbers."""

_FIELDS = ("topics", "concepts", "keywords")


def read(
    path: Path,
    columns: Mapping[str, str],  # noqa: ARG001  # every reader is given it
    custom: Sequence[CustomField] = (),
    opening: Opening = PLAIN,
) -> Iterator[Record]:
    """Read works lazily, from a file or a folder of them, such as `data/works` of the snapshot; see `Reader`.

    Custom fields can be any plain member of a work, such as `cited_by_count`, `publication_date` or `fwci`; also
    `oa_status`, `institutions`, `countries` and `publisher`.
    """
    files = [path]
    if path.is_dir():
        files = json_files(path)
        require(files, f"{path} holds no .gz or .jsonl file, as OpenAlex's snapshot does: name another folder.")
    yield from read_each(path, files, lambda file: _read_file(file, custom, opening.encoding))


def _read_file(path: Path, custom: Sequence[CustomField], encoding: str) -> Iterator[Record]:
    for item in read_file(path, "OpenAlex's works in JSON", encoding):
        if isinstance(item, Rejected):
            yield item
        else:
            yield accounted(item.members, partial(_work, item.line, custom=custom))


def _work(line: int, work: Mapping[str, object], custom: Sequence[CustomField]) -> Record:
    id_ = short_id(text_of(work.get("id")))
    try:
        abstract = text_of(work.get("abstract")) or abstract_of(work.get("abstract_inverted_index"))
    except ValueError as error:
        return Rejected(line, f"The abstract can't be put together: {error}.", id_)
    place = _at(work, "primary_location") or _at(work, "host_venue")
    source = _at(place, "source") or place
    authorships = [author for author in _list(work, "authorships") if isinstance(author, dict)]
    fields = [field for name in _FIELDS for field in _list(work, name) if not _is_guess(field)]
    record = {
        "id": id_,
        "title": text_of(work.get("title")) or work.get("display_name"),
        "abstract": abstract,
        "authors": [text_of(author.get("author")) or author.get("raw_author_name") for author in authorships],
        "year": work.get("publication_year") or work.get("publication_date"),
        "venue": source.get("display_name"),
        "types": work.get("type"),
        "language": work.get("language"),
        "fields": fields,
        "ids": {"doi": work.get("doi"), "pmid": work.get("pmid"), **_at(work, "ids"), "openalex": id_},
        "references": [short_id(text_of(cited)) for cited in _list(work, "referenced_works")],
        "url": place.get("landing_page_url") or work.get("doi") or work.get("id"),
        "is_retracted": work.get("is_retracted"),
        **{name: _at(work, "biblio").get(name) for name in ("volume", "issue", "first_page", "last_page")},
        "publisher": source.get("host_organization_name"),
        "issn": [text_of(source.get("issn_l")), *_list(source, "issn")],
    }
    beside = {
        **work,
        "oa_status": _at(work, "open_access").get("oa_status"),
        "publisher": source.get("host_organization_name"),
        "institutions": [name for author in authorships for name in _list(author, "institutions")],
        "countries": [code for author in authorships for code in _list(author, "countries")],
    }
    return assemble(line, plain_members(record, ("title", "abstract", "venue")), {}, custom, beside)


def abstract_of(index: object) -> str:
    """Return the text of an inverted index, `{"plants": [2], "of": [1, 4]}`; empty for None.

    Raises `ValueError` if it is something else, or has more than `LONGEST_ABSTRACT` words.
    """
    if index is None:
        return ""
    if not isinstance(index, dict):
        raise ValueError("it is no index of words")  # noqa: TRY004  # one kind of error for all damage
    placed = []
    for word, positions in index.items():
        if not isinstance(positions, list) or not all(isinstance(position, int) for position in positions):
            raise ValueError("a word has no list of positions")
        placed += [(position, word) for position in positions]
        if len(placed) > LONGEST_ABSTRACT:
            raise ValueError(f"it has more than {LONGEST_ABSTRACT:,} words")
    return " ".join(word for _, word in sorted(placed))


def short_id(text: str) -> str:
    """Return `W2741809807` of `https://openalex.org/W2741809807`; citations name works in the same way."""
    return text.rpartition("/")[2] if text.startswith(("https://openalex.org/", "http://openalex.org/")) else text


def _is_guess(field: object) -> bool:
    """Return whether it is a concept of score 0: a parent of another one, which OpenAlex adds to each work."""
    return isinstance(field, dict) and field.get("score") == 0


def _at(record: Mapping[str, object], name: str) -> dict[str, object]:
    value = record.get(name)
    return value if isinstance(value, dict) else {}


def _list(record: Mapping[str, object], name: str) -> list[object]:
    value = record.get(name)
    return value if isinstance(value, list) else []
