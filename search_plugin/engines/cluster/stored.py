"""The schema that an index in a cluster stores, and whether its mapping and settings are still those of the schema."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from corpora.errors import UnavailableError
from encoders.models.formats import Format
from search_plugin.contract.schema import from_stored
from search_plugin.engines.cluster.mapping import analysis_of, properties_of, similarity_of

if TYPE_CHECKING:
    from search_plugin.contract.schema import IndexSchema
    from search_plugin.engines.cluster.dialect import Dialect


def schema_of(mappings: Mapping[str, Any], told: str) -> IndexSchema:
    """Read back the schema of an index, or raise `UnavailableError` if ses did not make it.

    Args:
        mappings: As the cluster gives them.
        told: What to call the index.

    Returns:
        The schema it was made with.

    Raises:
        UnavailableError: If there is no readable schema.
    """
    try:
        schema = from_stored(mappings["_meta"]["ses"]["schema"])
        # Each format occurs once, and is one that a model of ses can have.
        sound = len({Format(field.format) for field in schema.vectors}) == len(schema.vectors)
    except (KeyError, TypeError, ValueError):
        sound = False
    if not sound:
        raise UnavailableError(f"{told} is damaged, or not made by this version of ses", "index again with <fresh>")
    return schema


def check_open(settings: Mapping[str, Any], physical: str, told: str) -> None:
    """Raise `UnavailableError` if an index is closed."""
    if settings.get("verified_before_close") == "true":
        raise UnavailableError(
            f"{told[0].upper()}{told[1:]} is closed, by somebody or by a trial of BM25 that was killed; open it with "
            f"POST /{physical}/_open, and try again."
        )


def check_unchanged(
    mappings: Mapping[str, Any], settings: Mapping[str, Any], schema: IndexSchema, dialect: Dialect, told: str
) -> None:
    """Raise `UnavailableError` if somebody has changed what the fields of an index are, or how words are scored."""
    properties = properties_of(schema, dialect)
    expected = {"dynamic": "strict", "properties": properties}
    added = (f"properties.{name}" for name in mappings.get("properties", {}) if name not in properties)
    if changed := next(chain(_differences(expected, mappings, ""), added), ""):
        raise UnavailableError(
            f"The mapping of {told} was changed by somebody else (at {changed})",
            "undo that, or index again with <fresh>",
        )
    scoring = {"similarity": similarity_of(schema.bm25), **analysis_of(schema)}
    if changed := next(_differences(scoring, settings, ""), ""):
        raise UnavailableError(
            f"The setting {changed} of {told} was changed by somebody else, or by a trial of BM25 that was killed",
            "set it back, or index again with <fresh>",
        )


def _differences(expected: Any, found: Any, path: str) -> Any:
    """Yield the places where the actual settings differ from the requested ones, except additions."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        for name, value in expected.items():
            inner = f"{path}.{name}".lstrip(".")
            if name in found:
                yield from _differences(value, found[name], inner)
            elif value not in _UNSAID:
                yield inner
    elif str(expected).lower() != str(found).lower():
        yield path


_UNSAID: tuple[Any, ...] = (True, {})
"""Settings that servers leave out of a mapping because they are the default."""
