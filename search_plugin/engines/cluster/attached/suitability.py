"""Whether documents of others can hold vectors without a loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError
from search_plugin.engines.cluster.attached.attachment import HASH, NAMESPACE

if TYPE_CHECKING:
    from search_plugin.contract.schema import IndexSchema
    from search_plugin.engines.cluster.dialect import Dialect

_BLOCKS = ("blocks.write", "blocks.read_only", "blocks.metadata")


def own_properties(schema: IndexSchema, dialect: Dialect) -> dict[str, Any]:
    """Return the mapping of the one field that ses adds to an index of others."""
    vectors = {field.name.partition(".")[2]: dialect.vector(field, schema.quantization) for field in schema.vectors}
    hashes = {HASH.partition(".")[2]: {"type": "keyword", "index": False}}
    return {NAMESPACE: {"properties": {**hashes, **vectors}}}


def check_readable(mappings: Mapping[str, Any], target: str) -> None:
    """Raise `InputError` if documents can't be read back, or are those of ses."""
    for index, kept in mappings.items():
        if index.startswith("ses."):
            raise InputError(f"{target} is an index of ses already", "search it as it is")
        if kept.get("mappings", {}).get("_source", {}).get("enabled") is False:
            raise InputError(
                f"The index {index} does not keep its documents (_source is disabled in its mapping), so they can't be "
                "read; index the papers from where they came."
            )


def why_beside(described: Mapping[str, Any], dialect: Dialect) -> str:
    """Return why vectors have to be kept beside the documents; empty if the documents can hold them.

    Args:
        described: By index its mapping and its settings, these flat, as the cluster gives them.
        dialect: Of the product.

    Returns:
        A clause with the index in it.
    """
    return next((reason for index, facts in described.items() for reason in _reasons(index, facts, dialect)), "")


def _reasons(index: str, facts: Mapping[str, Any], dialect: Dialect) -> Iterator[str]:
    own, mapping = facts.get("settings", {}), facts.get("mappings", {})
    if "data_stream" in facts:
        yield f"the index {index} is a part of a data stream, whose documents are not to be changed"
    for setting, value in dialect.settings().items():
        if str(own.get(f"index.{setting}", "false")) != str(value).lower():
            yield f"the index {index} was made without index.{setting}"
    source = mapping.get("_source", {})
    if source.get("includes") or source.get("excludes"):
        # A partial update writes a document again from its _source, without what that lacks.
        yield f"the index {index} keeps some fields out of _source, and they would be lost by an update"
    mode = own.get("index.mapping.source.mode") or own.get("index.mode", "standard")
    if source.get("mode", "stored") != "stored" or mode not in ("standard", "stored"):
        yield f"the index {index} does not keep its documents as they were written ({source.get('mode') or mode})"
    for block in _BLOCKS:
        if str(own.get(f"index.{block}", "false")) == "true":
            yield f"the index {index} is read-only (index.{block})"
    taken = mapping.get("properties", {}).get(NAMESPACE)
    if taken is not None and HASH.partition(".")[2] not in taken.get("properties", {}):
        yield f"the index {index} has a field {NAMESPACE} of its own"
