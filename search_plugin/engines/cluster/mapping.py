"""The index as a cluster sees it: mappings and settings in full, with nothing left to defaults that move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING, Any

import orjson

from corpora.errors import UnavailableError
from encoders.formats import Format
from search_plugin.engines.cluster.dialect import Dialect, vectors_of
from search_plugin.schema import FIELDS, LATER_FIELDS, IndexSchema

if TYPE_CHECKING:
    from search_plugin.schema import Bm25, FieldKind

TEXT = "text"
"""Title and abstract together, which is what words are looked for in."""

_TYPES: dict[FieldKind, dict[str, Any]] = {
    "number": {"type": "integer"},
    "keyword": {"type": "keyword"},
    "keywords": {"type": "keyword"},
    "flag": {"type": "boolean"},
}
_STORED = {"type": "keyword", "index": False, "doc_values": False}

LOADING = {
    "refresh_interval": "-1",
    "auto_expand_replicas": "false",
    "number_of_replicas": 0,
    "merge.policy.segments_per_tier": 100,
}
"""Nobody searches yet, and a copy is quicker made at the end. What is refreshed is what `bulk` asks to be, and what
that makes is merged once at the end instead of again and again: each merge builds graphs anew."""

SERVING = {"refresh_interval": "1s", "auto_expand_replicas": "0-1", "merge.policy.segments_per_tier": 10}
"""A copy wherever there is a second node."""


def body_of(schema: IndexSchema, source: str, dialect: Dialect, shards: int) -> dict[str, Any]:
    """Return the body that creates an empty index for loading.

    Args:
        schema: What it holds.
        source: Of the papers, to know an interrupted build by.
        dialect: Of the product.
        shards: How many parts the index is cut into.

    Returns:
        Mappings and settings.

    Raises:
        InputError: If the product can't keep such vectors.
    """
    return {
        "settings": {
            "index": {
                "number_of_shards": shards,
                "similarity": similarity_of(schema.bm25),
                **LOADING,
                **dialect.settings(),
            }
        },
        "mappings": {
            "dynamic": "strict",
            "_meta": {"ses": {"schema": asdict(schema), "source": source}},
            "properties": properties_of(schema, dialect),
        },
    }


def similarity_of(bm25: Bm25) -> dict[str, Any]:
    """Return the setting by which words are scored."""
    return {"default": {"type": "BM25", "k1": float(bm25.k1), "b": float(bm25.b)}}


def properties_of(schema: IndexSchema, dialect: Dialect) -> dict[str, Any]:
    """Return the mappings of all fields."""
    english = {"type": "text", "analyzer": "english"}
    return {
        **{name: _TYPES[kind] for name, kind in FIELDS.items()},
        "title": {**english, "copy_to": [TEXT]},
        "abstract": {"type": "text", "index": False, "copy_to": [TEXT]},
        TEXT: english,
        "url": _STORED,
        "content_hash": {"type": "keyword", "index": False},
        **vectors_of(schema, dialect),
    }


def later_properties(mappings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mappings of those fields that an index of an earlier version lacks."""
    there = mappings.get("properties", {})
    return {name: _TYPES[FIELDS[name]] for name in LATER_FIELDS if name not in there}


def schema_of(mappings: Mapping[str, Any], told: str) -> IndexSchema:
    """Read back the schema of an index, or raise `UnavailableError` if ses did not make it.

    Args:
        mappings: As the cluster gives them.
        told: What to call the index.

    Returns:
        The schema it was made with.

    Raises:
        UnavailableError: If there is none to be read.
    """
    from pydantic import TypeAdapter

    try:
        stored = mappings["_meta"]["ses"]["schema"]
        schema = TypeAdapter(IndexSchema).validate_python(stored)
        # A field's name stands in scripts, so it is none but a format's; what a newer ses may have added matters.
        formats = {Format(field.name) for field in schema.vectors}
        understood = orjson.loads(orjson.dumps(schema))
        sound = len(formats) == len(schema.vectors) and all(understood.get(name) == stored[name] for name in stored)
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
            f"POST /{physical}/_open, and run the same command again."
        )


def check_unchanged(
    mappings: Mapping[str, Any], settings: Mapping[str, Any], schema: IndexSchema, dialect: Dialect, told: str
) -> None:
    """Raise `UnavailableError` if somebody has changed what the fields of an index are, or how words are scored."""
    properties = properties_of(schema, dialect)
    lacking = later_properties(mappings)
    expected = {"dynamic": "strict", "properties": {n: kept for n, kept in properties.items() if n not in lacking}}
    added = (f"properties.{name}" for name in mappings.get("properties", {}) if name not in properties)
    if changed := next(chain(_differences(expected, mappings, ""), added), ""):
        raise UnavailableError(
            f"The mapping of {told} was changed by somebody else (at {changed})",
            "undo that, or index again with <fresh>",
        )
    scoring = {"similarity": similarity_of(schema.bm25)}
    if changed := next(_differences(scoring, settings, ""), ""):
        raise UnavailableError(
            f"The setting {changed} of {told} was changed by somebody else, or by a trial of BM25 that was killed",
            "set it back, or index again with <fresh>",
        )


def _differences(expected: Any, found: Any, path: str) -> Any:
    """Yield the places where what was asked for is not there; what the server adds of its own is no difference."""
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
"""Settings that servers leave out when they show a mapping: what is on anyway."""
