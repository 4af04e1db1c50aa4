"""Documents of others as papers."""

from __future__ import annotations

from collections.abc import Mapping
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

_NAMES = {name: name for name in ATTRIBUTES}


def record_of(number: int, id_: str, source: Mapping[str, Any], places: tuple[Place, ...]) -> Accepted | Rejected:
    """Return the paper that a document is.

    Args:
        number: Of the document, as the line of its record.
        id_: Of the document.
        source: Its content.
        places: The fields.

    Returns:
        The paper, or why it is none. A value that is not of its field's kind is left out: the document is not ours.
    """
    raw = {place.name: value_at(source, place.source) for place in places}
    if isinstance(raw.get("title"), list):  # as Crossref has it
        raw["title"] = next(iter(raw["title"]), "")
    own = {name: value for name, value in raw.items() if name in _NAMES}
    record = assemble(number, {**own, "id": id_}, _NAMES)
    if isinstance(record, Rejected):
        return record
    extra: dict[str, FieldValue] = {}
    for place in places:
        with suppress(ValueError):
            value = None if place.name in _NAMES else custom_value(place.kind, raw[place.name])
            if value is not None and not is_empty(value):
                extra[place.name] = value
    return replace(record, paper=replace(record.paper, extra=extra))


def as_stored(record: Accepted) -> dict[str, Any]:
    """Return a paper in the form in which indexes of ses keep it."""
    paper = asdict(record.paper)
    extra = paper.pop("extra")
    listed = {name: list(value) if isinstance(value, tuple) else value for name, value in (paper | extra).items()}
    return {name: value for name, value in listed.items() if not is_empty(value) and value != []}
