"""What an engine tells about itself and its indexes, the same for every engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from search_plugin.request import Join

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
    """How an index is.

    Attributes:
        name: As the user calls it.
        generation: The version that is searched; None where none was ever published, or it can't be read.
        previous: The version kept for `--rollback`.
        leftovers: Versions under way or left by interrupted builds.
        papers: How many the searched version holds.
        vectors: By field.
        model: That made the vectors; empty where it can't be read.
        fingerprint: Of that model.
        quantization: How vectors are kept.
        disk_bytes: Of the searched version, with all its copies.
        details: What this kind of engine has to say beside that, for programs.
        lines: The same for people.
    """

    name: str
    generation: int | None
    previous: int | None
    leftovers: tuple[int, ...]
    papers: int
    vectors: tuple[VectorCount, ...]
    model: str
    fingerprint: str
    quantization: str
    disk_bytes: int
    details: Mapping[str, Any]
    lines: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON shows it."""
        told = asdict(self)
        del told["lines"]
        return told


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """How an engine is.

    Attributes:
        product: What answers, such as `OpenSearch`.
        version: Its version.
        joins: Who can join the legs of a hybrid search there: ses always, the engine itself perhaps.
        indexes: Those of ses.
        troubles: Each one line that says what to do.
        details: What this kind of engine has to say beside that, for programs.
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
        return {
            "product": self.product,
            "version": self.version,
            "joins": list(self.joins),
            "details": self.details,
            "indexes": [index.to_dict() for index in self.indexes],
        }


def human_bytes(size: int) -> str:
    """Return a size for people, such as `1.5 GiB`."""
    value, unit = float(size), 0
    while value >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    return f"{value:,.1f} {_UNITS[unit]}" if unit else f"{size:,} {_UNITS[0]}"


def versions_told(name: str, published: int | None, leftovers: Sequence[int], *, written: bool) -> list[str]:
    """Return the troubles with versions of an index that were begun and never published.

    Args:
        name: Of the index.
        published: The version that is searched, if there is one.
        leftovers: Those versions.
        written: Whether somebody writes the index now: then nothing is wrong.

    Returns:
        No line or one.
    """
    if not leftovers or written:
        return []
    listed = ", ".join(map(str, leftovers))
    told = f"An interrupted build of the index {name} has left version {listed}; run the same `ses index` again, which "
    return [told + ("goes on with it." if published is None else "goes on with it, or any with --fresh to replace it.")]


def missing_vectors(index: str, papers: int, vectors: Sequence[VectorCount]) -> list[str]:
    """Return a line for every field in which papers lack their vectors, so that searches by meaning miss them."""
    return [
        f"In the index {index} {papers - vector.count:,} of {papers:,} papers have no {vector.field} vector; "
        "index again with --fresh."
        for vector in vectors
        if vector.count < papers
    ]
