"""The state of an attached index."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from corpora.errors import UnavailableError
from search_plugin.engines.cluster.attached.opening import open_attached
from search_plugin.engines.diagnosis import IndexDiagnosis, VectorCount

if TYPE_CHECKING:
    from search_plugin.engines.cluster.attached.attachment import Attachment
    from search_plugin.engines.cluster.dialect import Dialect
    from search_plugin.engines.cluster.transport import Cluster


def check_attached(cluster: Cluster, dialect: Dialect, attachment: Attachment) -> IndexDiagnosis:
    """Return the state of an attached index, whose own settings and shards are its owner's."""
    name, schema = attachment.name, attachment.schema
    found = IndexDiagnosis(
        name,
        1,
        model=schema.model,
        fingerprint=schema.fingerprint,
        quantization=schema.quantization,
        details={"attached_to": attachment.target, "beside": attachment.beside},
        lines=(f"attached to {attachment.target}, {attachment.told}",),
    )
    try:
        index = open_attached(cluster, dialect, attachment)
        papers, documents = index.count(), index.count_all()
        vectors = tuple(VectorCount(f.format, f.dimension, index.count(f.format)) for f in schema.vectors)
        size = index.disk_bytes()
    except UnavailableError as error:
        return replace(found, troubles=(error.marked,))
    late = documents - papers
    troubles = (
        f"In the attached index {name}, {late:,} of {documents:,} documents have no vector; attach it with <update>.",
    )
    return replace(found, papers=papers, vectors=vectors, disk_bytes=size, troubles=troubles if late > 0 else ())
