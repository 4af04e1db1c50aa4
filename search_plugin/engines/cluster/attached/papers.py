"""Documents of others as papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from corpora.aliases import ATTRIBUTES
from corpora.assembling import assemble
from corpora.custom import custom_value
from corpora.paper import Accepted, Rejected, is_empty
from corpora.readers.index import value_at

if TYPE_CHECKING:
    from corpora.custom import FieldValue
    from search_plugin.engines.cluster.attached.places import Place

_DAY = "yyyy-MM-dd"
_NAMES = {name: name for name in ATTRIBUTES}


def read_from(places: Sequence[Place]) -> dict[str, Any]:
    """Return the part of a search that asks for what `record_of` reads of a hit."""
    # A mapping may have any format of dates, and numbers of seconds: only the cluster reads them all.
    dates = sorted({place.path for place in filter(_is_column, places)})
    columns = [{"field": path, "format": _DAY} for path in dates]
    sources = sorted({place.source for place in places})
    return {"_source": sources, **({"docvalue_fields": columns} if columns else {})}


def record_of(number: int, hit: Mapping[str, Any], places: tuple[Place, ...]) -> Accepted | Rejected:
    """Return the paper that a document is.

    Args:
        number: Of the document, as the line of its record.
        hit: The document, as a search with `read_from` returns it.
        places: The fields.

    Returns:
        The paper, or why it is none. A value that is not of its field's kind is left out: the document is not ours.
    """
    raw = {place.name: value_at(hit.get("_source", {}), place.source) for place in places}
    for place in filter(_is_column, places):
        days = hit.get("fields", {}).get(place.path, [])
        if len(days) == 1:  # several are in another order than in the document
            raw[place.name] = days[0]
    if isinstance(raw.get("title"), list):  # as Crossref has it
        raw["title"] = next(iter(raw["title"]), "")
    own = {name: value for name, value in raw.items() if name in _NAMES}
    record = assemble(number, {**own, "id": str(hit["_id"])}, _NAMES)
    if isinstance(record, Rejected):
        return record
    extra: dict[str, FieldValue] = {}
    for place in places:
        with suppress(ValueError):
            value = None if place.name in _NAMES else custom_value(place.kind, raw[place.name])
            if value is not None and not is_empty(value):
                extra[place.name] = value
    return replace(record, paper=replace(record.paper, extra=extra))


def _is_column(place: Place) -> bool:
    return place.kind == "date" and not place.nested


def as_stored(record: Accepted) -> dict[str, Any]:
    """Return a paper in the form in which indexes of ses keep it."""
    paper = asdict(record.paper)
    extra = paper.pop("extra")
    listed = {name: list(value) if isinstance(value, tuple) else value for name, value in (paper | extra).items()}
    return {name: value for name, value in listed.items() if not is_empty(value) and value != []}
