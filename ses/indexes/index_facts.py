"""What an index is: counts, model, fields, origins and size, for `ses indexes` and Python programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from search_plugin.contract.engine import Index
from search_plugin.contract.schema import IndexSchema

_ORIGINS = 1_000


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """Facts about the version of an index that is searched.

    Attributes:
        name: Name of the index.
        default: Whether it is used where none is named.
        generation: Number of the version.
        published: When that version was published; None if it is not known. Later updates do not change it.
        papers: Number of papers.
        vectors: Number of papers that have a vector, by format, or by field of an attached index's owner.
        origins: Number of papers by corpus, up to 1,000 corpora.
        schema: Model, fields, language, quantization and BM25's constants.
        disk_bytes: Size of all copies.
        attached: Place of the vectors of an index that ses did not make.
    """

    name: str
    default: bool
    generation: int
    published: datetime | None
    papers: int
    vectors: Mapping[str, int]
    origins: Mapping[str, int]
    schema: IndexSchema
    disk_bytes: int
    attached: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        facts = asdict(self)
        for one in facts["schema"]["projection"]:
            del one["directions"]  # too long to show
        for one in facts["schema"]["words"]:
            del one["terms"], one["directions"], one["scales"]
        return facts


def facts_of(index: Index, published: float, *, default: bool) -> IndexFacts:
    """Read the facts of the version of an index that is searched.

    `published` is when that was, in seconds since 1970, 0 if it is not known. Raises `UnavailableError` if the
    index is damaged, or the engine does not answer.
    """
    schema = index.schema
    return IndexFacts(
        name=index.name,
        default=default,
        generation=index.generation,
        published=datetime.fromtimestamp(published, UTC) if published else None,
        papers=index.count(),
        vectors={field.format: index.count(field.format) for field in (*schema.written, *schema.foreign)},
        origins={str(origin): count for origin, count in index.value_counts("origins", _ORIGINS)},
        schema=schema,
        disk_bytes=index.disk_bytes(),
        attached=getattr(index, "attached_to", ""),  # only an index of a cluster can be attached
    )
