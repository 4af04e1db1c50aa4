"""Converts a record of any shape into a `Paper`, or gives the reason why that is impossible."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from corpora.aliases import COLLECTED, EXTERNAL, IDENTIFIERS, OF_PUBLICATION, SINGLE, normal_name
from corpora.cleaning import clean_text, flag_of, text_of, texts_of, url_of, year_of
from corpora.custom import CustomField, read_custom
from corpora.identifiers import identifier_of, identifiers_of
from corpora.names import divided_names
from corpora.paper import TYPES, Accepted, Paper, Rejected
from corpora.plain import UnreadableError
from corpora.publication import PARTS, publication_of

RETRACTED_TYPE = "retracted publication"
"""The publication type, in lower case, of a retracted paper in PubMed and in databases that use its types."""

LONGEST_ID_BYTES = 512
LONGEST_TITLE = 10_000
LONGEST_ABSTRACT = 1_000_000
"""Most characters of a title and of an abstract. Real texts are kept whole; a model reads as much as it accepts.

A longer one is a damaged file, not a paper: it is rejected, not cut."""

_OWN_WAY = ("id", "authors", "identifiers", "url")
_TEXTS = tuple(name for name in SINGLE if TYPES.get(name) is str and name not in _OWN_WAY)
_LISTS = tuple(name for name in SINGLE if TYPES.get(name) == tuple[str, ...] and name not in _OWN_WAY)
_COLLECTED = tuple(name for name in COLLECTED if name in TYPES and name not in _OWN_WAY)
"""Attributes that are read by their type alone."""

_KINDS = {name: kind for kind, names in IDENTIFIERS.items() for name in names}
_NAMES_APART = re.compile(r"[;|](?=\s|[a-z_]+\d?:)")
_OTHER_LIST = re.compile(r"[;|]|^\s*\[")
_COMMA = re.compile(r"(?<!\d),(?![\s\d])")
_SCOPUS_NUMBER = re.compile(r"\s*\(\d+\)\s*$")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def assemble(
    line: int,
    record: Mapping[str, object],
    columns: Mapping[str, str],
    custom: Sequence[CustomField] = (),
    beside: Mapping[str, object] | None = None,
    named_by: Sequence[str] = (),
) -> Accepted | Rejected:
    """Make a paper from a record whose keys are among those in `corpora.aliases`.

    Args:
        line: Line on which the record begins.
        record: The corpus's values, by its own names.
        columns: Attribute or kind of identifier to the key that holds it, instead of the aliases.
        custom: Custom fields to read as well.
        beside: Where the values of custom fields are, if not in the record.
        named_by: Kinds of identifiers that are the id of a record without one, in order; if there is none of them, the
            id is a hash. Empty if a record must have an id.

    Returns:
        The paper, or why there is none: no id or title, an id that can't be a key, a text no paper has, a mark of
        retraction that says neither yes nor no, a value that is not of its field's kind, or one that can't be read.
    """
    try:
        return _assembled(line, record, columns, custom, record if beside is None else beside, named_by)
    except UnreadableError as error:
        known = record.get(columns.get("id", "id"))
        return Rejected(line, str(error), text_of(known) if isinstance(known, str | int) else "")


def _assembled(
    line: int,
    record: Mapping[str, object],
    columns: Mapping[str, str],
    custom: Sequence[CustomField],
    among: Mapping[str, object],
    named_by: Sequence[str],
) -> Accepted | Rejected:
    values = _by_normal_name(record)
    among_all = _external(values) | values

    def all_of(attribute: str, names: tuple[str, ...], among: Mapping[str, object]) -> Iterator[object]:
        if attribute in columns:
            yield record.get(columns[attribute])
        else:
            yield from (among[name] for name in names if name in among)

    def first_of(attribute: str) -> object:
        return next((value for value in all_of(attribute, SINGLE[attribute], values) if text_of(value)), None)

    def collected(attribute: str) -> tuple[str, ...]:
        held = (_divided(attribute, value, named_by) for value in all_of(attribute, COLLECTED[attribute], values))
        return tuple(dict.fromkeys(text for value in held for text in texts_of(value)))

    kinds = {kind: names for kind, names in IDENTIFIERS.items() if named_by or kind != "key"}
    named = (
        name
        for kind, names in kinds.items()
        for value in all_of(kind, names, among_all)
        for name in identifiers_of(kind, value)
    )
    raw_id = record.get(columns["id"]) if "id" in columns else _own_id(values, named_by)
    plain: dict[str, Any] = {name: text_of(first_of(name)) for name in _TEXTS}
    plain |= {name: texts_of(first_of(name)) for name in _LISTS}
    plain |= {name: collected(name) for name in _COLLECTED}
    mark = next(all_of("retracted", SINGLE["retracted"], values), None)
    retracted = flag_of(mark)
    paper = Paper(
        **plain,
        id=raw_id.strip() if isinstance(raw_id, str) else text_of(raw_id),
        authors=texts_of(_people(first_of("authors")) if named_by else first_of("authors")),
        # "In press" in one column must not hide the date in another.
        year=next(filter(None, map(year_of, all_of("year", SINGLE["year"], values))), None),
        identifiers=tuple(dict.fromkeys((*collected("identifiers"), *named))),
        url=url_of(first_of("url")),
        retracted=bool(retracted) or RETRACTED_TYPE in map(str.lower, plain["types"]),
        publication=publication_of([text_of(first_of(name)) for name in OF_PUBLICATION], collected("issn")),
    )
    if named_by and not paper.id:
        paper = replace(paper, id=_id_of(paper, named_by))
    if (own := f"key:{paper.id}") in paper.identifiers:
        paper = replace(paper, identifiers=tuple(name for name in paper.identifiers if name != own))
    if retracted is None:
        shown = text_of(mark)[:40] or "something else"
        return Rejected(line, f"Whether the paper is retracted should be true or false, not {shown}.", paper.id, paper)
    if custom:
        raw = {field.name: among.get(field.source, values.get(normal_name(field.source))) for field in custom}
        try:
            paper = replace(paper, extra=read_custom(custom, raw))
        except ValueError as error:
            return Rejected(line, str(error), paper.id, paper)
    return validate(line, paper)


def _divided(attribute: str, value: object, named_by: Sequence[str]) -> object:
    """Return the parts of a text of identifiers, which may have semicolons inside, or of keywords, which have none."""
    if isinstance(value, str) and attribute == "identifiers":
        return _NAMES_APART.split(value)
    if isinstance(value, str) and attribute == "fields" and named_by and not _OTHER_LIST.search(value):
        # "Models, Biological" is one keyword, and Rayyan's "moths,sleep" are two.
        return _COMMA.split(value)
    return value


def _people(value: object) -> object:
    """Return the names in a text of several; a list that is spelled out stays as it is."""
    if not isinstance(value, str) or value.lstrip().startswith("["):
        return value
    # Scopus: "Sample, Ana (570000); ..."
    return [_SCOPUS_NUMBER.sub("", name) for name in divided_names(clean_text(value))]


def _by_normal_name(record: Mapping[str, object]) -> dict[str, object]:
    """Return the values of a record, and those inside of the publication, which the JSON of a paper has."""
    values = {normal_name(key): value for key, value in record.items() if value not in (None, "")}
    held = values.get("publication")
    return {**(held if isinstance(held, Mapping) and set(PARTS).issuperset(held) else {}), **values}


def _external(values: Mapping[str, object]) -> dict[str, object]:
    """Return the identifiers in objects that hold them by kind."""
    held = [value for key in EXTERNAL if isinstance(value := values.get(key), Mapping)]
    return {normal_name(str(kind)): value for one in held for kind, value in one.items()}


def _own_id(values: Mapping[str, object], named_by: Sequence[str]) -> object:
    """Return the value of the first name of an id, except for kinds that `named_by` puts in an order of their own."""
    for name in (name for name in SINGLE["id"] if name in values):
        kind = _KINDS.get(name)
        # An identifier of a known kind can stand for none: 0 is no PMID.
        said = text_of(values[name]) if kind is None else any(identifiers_of(kind, values[name]))
        if said and kind not in named_by:
            return values[name]
    return None


def _id_of(paper: Paper, kinds: Sequence[str]) -> str:
    """Return the first identifier of some kinds, or an id that stays the same where the record moves in its file."""
    for kind in kinds:
        if value := identifier_of(paper, kind):
            return f"WOS:{value}" if kind == "wos" else value
    # A title alone, such as "Editorial", may be that of many papers.
    more = () if paper.authors else (paper.venue, identifier_of(paper, "key"))
    text = "\n".join((paper.title, " ".join(paper.authors), str(paper.year or ""), *more))
    return f"hash-{hashlib.blake2b(text.encode(errors='replace'), digest_size=8).hexdigest()}"


def validate(line: int, paper: Paper) -> Accepted | Rejected:
    """Accept a paper that an index can hold; reject any other with the first reason found."""
    if not paper.id:
        return Rejected(line, "The record has no id.", "", paper)
    if _CONTROL.search(paper.id):
        return Rejected(line, "The id has control characters or text that isn't Unicode in it.", "", paper)
    if len(paper.id.encode()) > LONGEST_ID_BYTES:
        return Rejected(line, f"The id is longer than {LONGEST_ID_BYTES} bytes.", "", paper)
    if not paper.title:
        lacks = "no title" if paper.abstract else "neither title nor abstract"
        return Rejected(line, f"The record has {lacks}.", paper.id, paper)
    if len(paper.title) > LONGEST_TITLE:
        return Rejected(line, f"The title is longer than {LONGEST_TITLE:,} characters.", paper.id, paper)
    if len(paper.abstract) > LONGEST_ABSTRACT:
        return Rejected(line, f"The abstract is longer than {LONGEST_ABSTRACT:,} characters.", paper.id, paper)
    return Accepted(line, paper)
