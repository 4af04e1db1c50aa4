"""Custom fields: values that a corpus gives for its papers beyond the attributes of `Paper`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, Never, get_args

from corpora.cleaning import flag_of, normal_date, text_of, texts_of
from corpora.errors import InputError
from corpora.plain import Unreadable

FieldKind = Literal["text", "keyword", "keywords", "number", "date", "boolean"]
"""Searchable words, one exact string, a list of exact strings, one number, one day, or true (a missing
value means false). A date is `YYYY-MM-DD`, `YYYY-MM` or `YYYY`, and stands for its first day."""

FieldValue = str | int | float | bool | tuple[str, ...]
"""By kind: text, keyword and date are strings, keywords a tuple, number int or float, boolean True."""

LONGEST_KEYWORD = 8_000
"""Most characters of a keyword. Search servers refuse a document with an exact value of more than 32,766 bytes."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,49}")
_RESERVED = ("and", "or", "not", "in", "exists", "text", "title_abstract", "title_order", "content_hash", "lexical")
_RESERVED_PREFIX = "vector_"
_EXAMPLES: dict[FieldKind, str] = {
    "text": "text",
    "keyword": f"text of at most {LONGEST_KEYWORD:,} characters",
    "keywords": f"texts of at most {LONGEST_KEYWORD:,} characters",
    "number": "a number",
    "date": "a date such as 2020-03-16",
    "boolean": "true or false",
}


@dataclass(frozen=True, slots=True)
class CustomField:
    """A custom field and where a corpus keeps it.

    Attributes:
        name: Name in the index, in filters and in facets.
        kind: Kind of its values.
        column: Column or key of the corpus that holds it; the name itself if empty.
    """

    name: str
    kind: FieldKind
    column: str = ""

    @property
    def source(self) -> str:
        """The column or key to read."""
        return self.column or self.name


def check_field_name(name: str) -> str:
    """Return a name that a field can have, or raise `InputError`."""
    if not _NAME.fullmatch(name) or name in _RESERVED or name.startswith(_RESERVED_PREFIX):
        raise InputError(
            f"A field can't be named {name[:60]!r}; use small letters, digits and _, beginning with a letter, and none "
            f"of {', '.join(_RESERVED)} or {_RESERVED_PREFIX}*."
        )
    return name


def parse_custom_field(text: str) -> CustomField:
    """Return the custom field of a declaration, `NAME=KIND`; its column is its name. `InputError` if it is none."""
    name, equals, kind = (part.strip() for part in text.partition("="))
    kinds = get_args(FieldKind)
    if not equals or kind not in kinds:
        raise InputError(
            f"The field {text[:60]!r} can't be read; write it as NAME=KIND, such as collection=keyword, with a kind of "
            f"{', '.join(kinds)}."
        )
    return CustomField(check_field_name(name), kind)  # type: ignore[arg-type]  # one of the kinds


def parse_fields(texts: Iterable[str]) -> dict[str, FieldKind]:
    """Return the kinds of custom fields by name, from declarations `NAME=KIND`; `InputError` if one can't be read."""
    kinds: dict[str, FieldKind] = {}
    for field in map(parse_custom_field, texts):
        if field.name in kinds:
            raise InputError(f"The field {field.name} is declared twice; give one of them.")
        kinds[field.name] = field.kind
    return kinds


def declared(kinds: Mapping[str, str], columns: Mapping[str, str]) -> tuple[tuple[CustomField, ...], dict[str, str]]:
    """Return custom fields with their columns, and the columns of attributes.

    `kinds` are by name of the field, `columns` by name of a field or an attribute. Raises `InputError` if a name or a
    kind can't be a field's.
    """
    fields = [parse_custom_field(f"{name}={kind}") for name, kind in kinds.items()]
    rest = {name: column for name, column in columns.items() if name not in kinds}
    return tuple(replace(field, column=columns.get(field.name, "")) for field in fields), rest


def custom_value(kind: FieldKind, raw: object) -> FieldValue | None:
    """Return a field's value, cleaned, from a corpus's raw value; None for nothing, blanks, NaN, or false.

    The raw value is a string, a number, a list of them, or an object with a name. Raises `ValueError` if it can't be
    read as that kind; the text says what it should be.
    """
    if isinstance(raw, Unreadable):
        return _refuse(kind, raw.description)
    if isinstance(raw, bool) and kind != "boolean":
        return _refuse(kind, str(raw).lower())
    shown = text_of(raw)
    match kind:
        case "keywords":
            values = texts_of(raw)
            return values if all(len(value) <= LONGEST_KEYWORD for value in values) else _refuse(kind, shown)
        case "boolean":
            said = flag_of(raw)
            return _refuse(kind, shown) if said is None else said or None
        case _ if not shown:
            return None
        case "number":
            return _number(shown)
        case "date":
            return _date(shown)
        case "keyword" if len(shown) > LONGEST_KEYWORD:
            return _refuse(kind, shown)
        case _:
            return shown


def placed(
    custom: Iterable[CustomField],
    columns: Sequence[str],
    corpus: object,
    known: Mapping[str, str] = MappingProxyType({}),
) -> tuple[CustomField, ...]:
    """Return custom fields with the columns that hold them, in the corpus's own spelling.

    `corpus` names the corpus in messages. `known` gives the columns of fields for which the corpus has another name.
    Raises `InputError` if a column isn't there.
    """
    by_lower = {name.lower(): name for name in reversed(columns)}
    found = []
    for field in custom:
        wanted = field.column or (field.name if field.name in by_lower else known.get(field.name, field.name))
        if (column := by_lower.get(wanted.strip().lower())) is None:
            raise InputError(
                f"{corpus} has no column {wanted} for the field {field.name}; its columns are: "
                f"{', '.join(filter(None, columns))}",
                f"name one with <columns={field.name}=COLUMN>",
            )
        found.append(replace(field, column=column))
    return tuple(found)


def read_custom(fields: Iterable[CustomField], raw: Mapping[str, object]) -> dict[str, FieldValue]:
    """Return the values of those custom fields that have one, by name, from raw values by name.

    Raises `ValueError` if a value can't be read; the text is a sentence that says what it should be.
    """
    values: dict[str, FieldValue] = {}
    for field in fields:
        try:
            value = custom_value(field.kind, raw.get(field.name))
        except ValueError as error:
            raise ValueError(f"The field {field.name} should be {error}.") from None
        if value not in (None, ()):
            values[field.name] = value
    return values


def _number(text: str) -> int | float:
    try:
        number = float(text)
    except ValueError:
        return _refuse("number", text)
    if not math.isfinite(number):
        return _refuse("number", text)
    # A double, as engines keep it; whole numbers are shown without a fraction.
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _date(text: str) -> str:
    return normal_date(text) or _refuse("date", text)


def _refuse(kind: FieldKind, shown: str) -> Never:
    raise ValueError(f"{_EXAMPLES[kind]}, not {shown[:40] or 'something else'}")
