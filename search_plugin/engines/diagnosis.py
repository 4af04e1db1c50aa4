"""What an engine reports about itself and its indexes, in the same form for every engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from search_plugin.request import Join
    from search_plugin.schema import IndexSchema

_STEP = 1024
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


@dataclass(frozen=True, slots=True)
class VectorCount:
    """How many papers have a vector in a field, and how long the vectors are."""

    field: str
    dimension: int
    count: int


@dataclass(frozen=True, slots=True)
class IndexDiagnosis:
    """The state of an index; what can't be read keeps its default.

    Attributes:
        name: As the user calls it.
        generation: The version that is searched; None if none was published, or it can't be read.
        previous: The version that a rollback restores.
        leftovers: Versions that are being built, or that interrupted builds left behind.
        papers: In the searched version, as are all that follow.
        vectors: By field.
        model: That made the vectors.
        fingerprint: Of that model.
        quantization: How vectors are kept.
        disk_bytes: Of all copies.
        details: More about it, for programs; each kind of engine has its own.
        lines: The same for people.
        troubles: Each one line that says what to do.
    """

    name: str
    generation: int | None = None
    previous: int | None = None
    leftovers: tuple[int, ...] = ()
    papers: int = 0
    vectors: tuple[VectorCount, ...] = ()
    model: str = ""
    fingerprint: str = ""
    quantization: str = ""
    disk_bytes: int = 0
    details: Mapping[str, Any] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    troubles: tuple[str, ...] = ()

    def read(self, schema: IndexSchema, papers: int | None, vectors: tuple[VectorCount, ...]) -> IndexDiagnosis:
        """Return a copy with the data of the searched version; `papers` is None if they could not be counted."""
        return replace(
            self,
            papers=papers or 0,
            vectors=vectors,
            model=schema.model,
            fingerprint=schema.fingerprint,
            quantization=schema.quantization,
            troubles=(*self.troubles, *missing_vectors(self.name, papers or 0, vectors)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON shows it."""
        return {key: value for key, value in asdict(self).items() if key not in ("lines", "troubles")}


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The state of an engine.

    Attributes:
        product: Its name, such as `OpenSearch`.
        version: Its version.
        joins: Who can join the legs of a hybrid search: always ses, and possibly the engine itself.
        indexes: Those of ses.
        troubles: Each one line that says what to do.
        details: More about it, for programs; each kind of engine has its own.
        lines: The same for people.
    """

    product: str
    version: str
    joins: tuple[Join, ...]
    indexes: tuple[IndexDiagnosis, ...]
    troubles: tuple[str, ...]
    details: Mapping[str, Any]
    lines: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON shows it."""
        told = {name: getattr(self, name) for name in ("product", "version", "joins", "details")}
        return told | {"indexes": [index.to_dict() for index in self.indexes]}


def human_bytes(size: int) -> str:
    """Return a size for people, such as `1.5 GiB`."""
    value, unit = float(size), 0
    while value >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    return f"{value:,.1f} {_UNITS[unit]}" if unit else f"{size:,} {_UNITS[0]}"


def versions_told(name: str, published: int | None, leftovers: Sequence[int], *, written: bool) -> list[str]:
    """Return one line if builds of an index were interrupted; none if a build is running (`written`)."""
    if not leftovers or written:
        return []
    resume = "index the same papers again to finish it, or " + ("any with <fresh>" if published else "drop the index")
    return [f"An interrupted build of the index {name} has left version {', '.join(map(str, leftovers))}; {resume}."]


def missing_vectors(index: str, papers: int, vectors: Sequence[VectorCount]) -> list[str]:
    """Return a line for every field in which papers lack their vectors, so that searches by meaning miss them."""
    return [
        f"In the index {index}, {papers - vector.count:,} of {papers:,} papers have no {vector.field} vector; "
        "index again with <fresh>."
        for vector in vectors
        if vector.count < papers
    ]
