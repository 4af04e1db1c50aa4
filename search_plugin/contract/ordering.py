"""The order of papers that are not ranked: by title, or by a field of numbers or dates, the same on every engine."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from corpora.cleaning import first_day
from corpora.custom import FieldValue
from corpora.errors import InputError
from search_plugin.contract.schema import ALIASES, PAPER_FIELDS, Field

TITLE = "title"
LONGEST_KEY = 200
"""Characters of a title's sort key. Titles that begin with the same ones are ordered by id."""

_BETWEEN_WORDS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Sort:
    """An order of papers by their titles, or by a field of numbers or dates.

    Papers without a value come last in both directions, and equal ones are ordered by id.
    """

    field: str
    descending: bool = False

    def __str__(self) -> str:
        return f"-{self.field}" if self.descending else self.field


NEWEST_FIRST = Sort("year", descending=True)
BY_ID = Sort("id")
"""An order that no change of a paper disturbs."""


def parse_sort(text: str, fields: Sequence[Field] = PAPER_FIELDS) -> Sort:
    """Read an order: the name of a field, with `-` before it for the largest value first.

    Raises `InputError` if there is no such field, or its values have no order.
    """
    name = text.strip().lower()
    wanted = name.removeprefix("-").strip()
    sortable = [TITLE, *(field.name for field in fields if field.kind in ("number", "date"))]
    found = next((field for field in (wanted, ALIASES.get(wanted, "")) if field in sortable), "")
    if not found:
        raise InputError(
            f"Papers can't be sorted by {text[:60]!r}; choose one of {', '.join(sortable)}, with - before it for the "
            "largest value first."
        )
    return Sort(found, name.startswith("-"))


def title_key(title: str) -> str:
    """Return what titles are sorted by: letters and digits without case and accents; empty where there are none."""
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", title).casefold())
    if not decomposed.isascii():
        decomposed = "".join(char for char in decomposed if not unicodedata.combining(char))
    return _BETWEEN_WORDS.sub(" ", decomposed).strip()[:LONGEST_KEY].strip()


def sorted_ids(values: Mapping[str, FieldValue], ids: Iterable[str], order: Sort) -> list[str]:
    """Return ids in an order, by their values of its field; ids without a value are absent from `values`."""
    by_id = sorted(ids)
    keys = {id_: key for id_ in by_id if (key := position_key(values.get(id_), order)) not in (None, "")}
    having = sorted((id_ for id_ in by_id if id_ in keys), key=keys.__getitem__, reverse=order.descending)
    return [*having, *(id_ for id_ in by_id if id_ not in keys)]


def position_key(value: FieldValue | None, order: Sort) -> str | float | None:
    """Return what a paper is sorted by, given its value of the field or the key itself; None where it has none."""
    if value is None or order == BY_ID:
        return None
    if order.field == TITLE:
        return title_key(str(value)) or None
    return date.fromisoformat(first_day(value)).toordinal() if isinstance(value, str) else value  # type: ignore[return-value]
