"""Where an index of others keeps the fields of a paper, found in its mapping; and its documents as papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from corpora.aliases import ATTRIBUTES, COLLECTED, IDENTIFIERS, OF_PUBLICATION, SINGLE
from corpora.assembling import assemble
from corpora.custom import FieldKind, FieldValue, custom_value
from corpora.errors import InputError
from corpora.paper import Accepted, Rejected, is_empty
from corpora.readers.index import value_at
from search_plugin.contract.schema import ALIASES, IDENTIFIER_FIELDS, PAPER_FIELDS, Field

_TYPES: dict[str, FieldKind] = {
    **dict.fromkeys(("text", "match_only_text", "search_as_you_type"), "text"),
    **dict.fromkeys(("keyword", "constant_keyword", "wildcard"), "keywords"),
    **dict.fromkeys(("long", "integer", "short", "byte", "unsigned_long"), "number"),
    **dict.fromkeys(("double", "float", "half_float", "scaled_float"), "number"),
    **dict.fromkeys(("date", "date_nanos"), "date"),
    "boolean": "boolean",
}
"""What ses can do with the fields of a type."""

_TAKEN = {
    "id": "A document's id is that of the index",
    "origins": "Origins are the corpora of an index that ses made, and an attached index has none",
}
_TEXTS = ("title", "abstract")
_OWN = {field.name: field for field in PAPER_FIELDS if field.name not in ("id", "origins")}


@dataclass(frozen=True, slots=True)
class FieldMapping:
    """Where an index keeps a field.

    Attributes:
        name: Name of the field: an attribute of papers, a kind of identifier, or a name that the user has chosen.
        path: The name that queries use.
        source: Path of the value in a document; another than `path` for multi-fields and aliases of fields.
        kind: Kind of the values, by the mapping's type.
        nested: The path of the nested objects that hold it; empty if there are none.
    """

    name: str
    path: str
    source: str
    kind: FieldKind
    nested: str = ""


def find_field_mappings(
    mappings: Mapping[str, Any], fields: Mapping[str, str], target: str
) -> tuple[FieldMapping, ...]:
    """Return where fields are by the mappings of an index, or of all indexes behind an alias.

    `fields` gives the index's fields by names of ses; `title` is among them. `target` is the user's name of the index.
    Raises `InputError` if a field is missing, or is of a type that can't serve as this field.
    """
    found: list[FieldMapping] = []
    for given, path in fields.items():
        name = given.strip().lower()
        name = ALIASES.get(name) or IDENTIFIER_FIELDS.get(name, name)
        if name in _TAKEN or name in (mapped.name for mapped in found):
            problem = _TAKEN.get(name, f"The field {name} is given twice")
            raise InputError(f"{problem}; leave one {given}={path} out.")
        found.append(_field_mapping(mappings, name, path, target))
    return tuple(found)


def check_field_mappings(mappings: Mapping[str, Any], field_mappings: tuple[FieldMapping, ...], target: str) -> None:
    """Raise `InputError` if the owner of an index has removed the title, or has given a field another type."""
    for mapped in field_mappings:
        there = [found for kept in mappings.values() if (found := look_up(kept.get("mappings", {}), mapped.path))]
        kinds = {(_TYPES.get(found.mapping.get("type", "")), found.nested) for found in there}
        # An index that was deleted and made again may have no document with some field yet.
        if kinds != {(mapped.kind, mapped.nested)} and (kinds or mapped.name == "title"):
            raise InputError(
                f"{target} was changed by its owner: its field {mapped.path} is "
                f"{'of another type' if there else 'gone'}, from which {mapped.name} is taken",
                "attach it again with the fields that it has now",
            )


def fields_of(field_mappings: tuple[FieldMapping, ...]) -> tuple[Field, ...]:
    """Return the fields that users can name in an attached index."""
    names = {"id", *(mapped.name for mapped in field_mappings)}
    if not names.isdisjoint(IDENTIFIERS):
        names.add("identifiers")
    own = tuple(field for field in PAPER_FIELDS if field.name in names)
    known = (*_OWN, *IDENTIFIERS)
    return (*own, *(Field(p.name, p.kind, p.kind != "text") for p in field_mappings if p.name not in known))


def _field_mapping(mappings: Mapping[str, Any], name: str, path: str, target: str) -> FieldMapping:
    there = {index: found for index, kept in mappings.items() if (found := look_up(kept.get("mappings", {}), path))}
    if not there:
        known = {field for kept in mappings.values() for field in kept.get("mappings", {}).get("properties", {})}
        listed = ", ".join(sorted(known)) or "none"
        raise InputError(f"{target} has no field {path} for {name}; its fields are {listed}.")
    field_mappings = {index: _checked(found, name, path, index) for index, found in there.items()}
    distinct = set(field_mappings.values())
    if len(distinct) > 1:
        first, second = (f"{p.kind} in {index}" for index, p in list(field_mappings.items())[:2])
        raise InputError(
            f"The field {path} is not the same in all indexes behind {target} (such as {first}, {second}); attach each "
            "index by its own name."
        )
    return distinct.pop()


def _checked(found: Located, name: str, path: str, index: str) -> FieldMapping:
    wanted = _wanted(name)
    mapping, at = found.mapping, found.path
    kind = _kind(mapping, path, index)
    if wanted == "keywords" and kind == "text":
        # The usual multi-field beside an analysed text.
        subfields = mapping.get("fields", {})
        exact = next((sub for sub, kept in subfields.items() if _TYPES.get(kept.get("type")) == "keywords"), "")
        if not exact:
            raise InputError(
                f"The field {path} of {index} is analysed text, whose values can't be compared or counted; name a "
                f"keyword field for {name}."
            )
        mapping, kind, at = subfields[exact], "keywords", f"{at}.{exact}"
    # A year may be kept as a number, or as the date of publication.
    fits = kind in ("number", "date") if name == "year" else wanted in ("", kind)
    if not fits:
        needed = "a number or a date" if name == "year" else wanted
        raise InputError(
            f"The field {path} of {index} is of the type {mapping['type']}, and {name} has to be {needed}; name "
            "another field."
        )
    if name in _TEXTS and found.nested:
        raise InputError(f"The field {path} of {index} is in nested objects, so it can't be the {name} of a paper.")
    if mapping.get("index") is False:
        raise InputError(f"The field {path} of {index} is not indexed there, so nothing can be searched by it.")
    if mapping.get("doc_values") is False and kind != "text" and name not in (*IDENTIFIERS, "identifiers", "url"):
        raise InputError(
            f"The field {path} of {index} has no doc_values in its mapping, so papers can't be counted or sorted by "
            "it; name another field."
        )
    return FieldMapping(name, at, found.source, kind, found.nested)


def _wanted(name: str) -> FieldKind | str:
    """Return the kind that a field has to be; empty if any will do."""
    if name in _TEXTS:
        return "text"
    if name in IDENTIFIERS or name in COLLECTED:
        return "keywords"
    if name in SINGLE:
        kind = _OWN[name].kind
        return "keywords" if kind == "keyword" else kind
    return ""


def _kind(mapping: Mapping[str, Any], path: str, index: str) -> FieldKind:
    if "properties" in mapping:
        raise InputError(
            f"The field {path} of {index} is an object; name one of its fields, such as "
            f"{path}.{next(iter(mapping['properties']), 'name')}."
        )
    kind = _TYPES.get(mapping.get("type", ""))
    if kind is None:
        raise InputError(
            f"The field {path} of {index} is of the type {mapping.get('type', 'object')}, which ses can't search by; "
            f"name one of text, keyword, numbers, dates or booleans."
        )
    return kind


@dataclass(frozen=True, slots=True)
class Located:
    """A field that a path leads to: its mapping, its path in queries and in documents, and its nested objects' path."""

    mapping: Mapping[str, Any]
    path: str
    source: str
    nested: str


def look_up(mapping: Mapping[str, Any], path: str) -> Located | None:
    """Follow a path through the objects of a mapping, and at its end through a multi-field or an alias of a field."""
    field: Mapping[str, Any] = mapping
    nested, parts, at = "", path.split("."), 0
    while at < len(parts):
        inside = field.get("properties", {})
        # Where `subobjects` is off, names hold the dots.
        end = next((end for end in range(len(parts), at, -1) if ".".join(parts[at:end]) in inside), 0)
        if not end:
            last = field.get("fields", {}).get(parts[at]) if at == len(parts) - 1 else None
            return Located(last, path, ".".join(parts[:-1]), nested) if last else None
        field, at = inside[".".join(parts[at:end])], end
        if field.get("type") == "nested":
            nested = ".".join(parts[:at])
    return look_up(mapping, field["path"]) if field.get("type") == "alias" else Located(field, path, path, nested)


_DAY = "yyyy-MM-dd"
_NAMES = {name: name for name in ATTRIBUTES}


def read_from(field_mappings: Sequence[FieldMapping]) -> dict[str, Any]:
    """Return the part of a search that asks for what `record_of` reads of a hit."""
    # A mapping may have any format of dates, and numbers of seconds: only the cluster reads them all.
    dates = sorted({mapped.path for mapped in filter(_is_column, field_mappings)})
    columns = [{"field": path, "format": _DAY} for path in dates]
    sources = sorted({mapped.source for mapped in field_mappings})
    return {"_source": sources, **({"docvalue_fields": columns} if columns else {})}


def record_of(number: int, hit: Mapping[str, Any], field_mappings: tuple[FieldMapping, ...]) -> Accepted | Rejected:
    """Return the paper that a document is, or why it is none, from a hit of a search with `read_from`.

    A value that is not of its field's kind is left out: the document is not ours.
    """
    raw = {mapped.name: value_at(hit.get("_source", {}), mapped.source) for mapped in field_mappings}
    for mapped in filter(_is_column, field_mappings):
        days = hit.get("fields", {}).get(mapped.path, [])
        if len(days) == 1:  # several are in another order than in the document
            raw[mapped.name] = days[0]
    if isinstance(raw.get("title"), list):  # as Crossref has it
        raw["title"] = next(iter(raw["title"]), "")
    own = {name: value for name, value in raw.items() if name in _NAMES}
    record = assemble(number, {**own, "id": str(hit["_id"])}, _NAMES)
    if isinstance(record, Rejected):
        return record
    extra: dict[str, FieldValue] = {}
    for mapped in field_mappings:
        with suppress(ValueError):
            own_name = mapped.name in _NAMES and mapped.name not in (*OF_PUBLICATION, "issn")
            value = None if own_name else custom_value(mapped.kind, raw[mapped.name])
            if value is not None and not is_empty(value):
                extra[mapped.name] = value
    return replace(record, paper=replace(record.paper, extra=extra))


def _is_column(mapped: FieldMapping) -> bool:
    return mapped.kind == "date" and not mapped.nested


def as_stored(record: Accepted) -> dict[str, Any]:
    """Return a paper in the form in which indexes of ses keep it."""
    paper = asdict(record.paper)
    extra = paper.pop("extra")
    del paper["publication"]
    listed = {name: list(value) if isinstance(value, tuple) else value for name, value in (paper | extra).items()}
    return {name: value for name, value in listed.items() if not is_empty(value) and value != []}
