"""What an engine reports about itself and its indexes, in the same form for every engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

from search_plugin.contract.legs import Join
from search_plugin.contract.schema import IndexSchema, Unit

_STEP = 1024
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


@dataclass(frozen=True, slots=True)
class VectorCount:
    """How many papers have a vector in a field, and how long the vectors are.

    Two attributes are those of the model, if the vectors are not of the index's model. `unit` says whether a paper has
    one of these vectors, or one for each of its passages.
    """

    field: str
    dimension: int
    count: int
    model: str = ""
    fingerprint: str = ""
    unit: Unit = "paper"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found: a fact for programs, by name; the same as a line for people; a problem, and what to do."""

    name: str = ""
    value: Any = None
    line: str = ""
    trouble: str = ""


S = TypeVar("S")

Check = Callable[[S], Iterator[Finding]]
"""Looks at what is examined, such as a cluster, and yields what it finds; each diagnosis has a list of them."""


def run_checks(checks: Iterable[Check[S]], examined: S) -> tuple[Finding, ...]:
    """Return what some checks find, in their order."""
    return tuple(finding for check in checks for finding in check(examined))


class Examined:
    """What checks looked at: the base of dataclasses whose attribute `findings` is what they found, in their order."""

    __slots__ = ()
    findings: tuple[Finding, ...]

    @property
    def details(self) -> dict[str, Any]:
        """Facts for programs, by name."""
        return {finding.name: finding.value for finding in self.findings if finding.name}

    @property
    def lines(self) -> tuple[str, ...]:
        """The same for people."""
        return tuple(finding.line for finding in self.findings if finding.line)

    @property
    def troubles(self) -> tuple[str, ...]:
        """The problems, each once."""
        return tuple(dict.fromkeys(finding.trouble for finding in self.findings if finding.trouble))

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes and the facts for programs as JSON shows them."""
        own = (one.name for one in fields(self) if one.name != "findings")  # type: ignore[arg-type]  # of a dataclass
        return {**{name: _plain(getattr(self, name)) for name in own}, "details": self.details}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if isinstance(value, Examined):
        return value.to_dict()
    return asdict(value) if is_dataclass(value) else value  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class IndexDiagnosis(Examined):
    """The state of an index; what can't be read keeps its default.

    `generation` is the version that is searched, and `previous` the one that a rollback restores. `leftovers` are being
    built, or were left by interrupted builds. The rest is about the searched version, `disk_bytes` about all copies.
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
    findings: tuple[Finding, ...] = ()

    def plus(self, *findings: Finding) -> IndexDiagnosis:
        """Return a copy with more findings."""
        return replace(self, findings=(*self.findings, *findings))

    def with_papers(self, schema: IndexSchema, papers: int, count: Callable[[str], int]) -> IndexDiagnosis:
        """Return a copy with what the searched version holds; `count` counts the papers with a vector of a leg."""
        own = (VectorCount(one.format, one.dimension, count(one.format), unit=one.unit) for one in schema.vectors)
        foreign = (
            VectorCount(one.format, one.dimension, count(one.format), one.model, one.fingerprint, one.unit)
            for one in (*schema.own, *schema.worded, *schema.own_models)
        )
        return replace(
            self,
            papers=papers,
            vectors=(*own, *foreign),
            model=schema.model,
            fingerprint=schema.model_fingerprint,
            quantization=schema.quantization,
        )


@dataclass(frozen=True, slots=True)
class Diagnosis(Examined):
    """The state of an engine and of the indexes of ses in it.

    `joins` says who can join the legs of a hybrid search: always ses, and possibly the engine itself. Problems of the
    indexes are among the findings.
    """

    product: str
    version: str
    joins: tuple[Join, ...]
    indexes: tuple[IndexDiagnosis, ...]
    findings: tuple[Finding, ...]


def troubles_of(indexes: Iterable[IndexDiagnosis]) -> Iterator[Finding]:
    """Yield the problems of indexes."""
    for index in indexes:
        yield from (Finding(trouble=trouble) for trouble in index.troubles)


def of_versions(
    name: str, current: int, previous: int, present: Sequence[int], is_written: Callable[[], bool]
) -> IndexDiagnosis:
    """Return what the numbers of versions tell of an index: 0 is none, `is_written` whether one is being built now."""
    leftovers = tuple(sorted(set(present) - {current, previous}))
    written = bool(leftovers) and is_written()
    kept = previous if previous in present and not 0 < current < previous else None
    index = IndexDiagnosis(name, current or None, kept, leftovers, findings=(Finding("being_written", written),))
    if written or not leftovers:
        return index
    left = f"An interrupted build of the index {name} has left version {', '.join(map(str, leftovers))}"
    way = "any with <fresh>" if current else "drop the index"
    return index.plus(Finding(trouble=f"{left}; index the same papers again to finish it, or {way}."))


def missing_vectors(index: IndexDiagnosis) -> Iterator[Finding]:
    """Yield a problem for every field in which papers lack their vectors, so that searches by meaning miss them."""
    for vector in index.vectors:
        if (lacking := index.papers - vector.count) > 0:
            problem = f"In the index {index.name}, {lacking:,} of {index.papers:,} papers have no {vector.field} vector"
            yield Finding(trouble=f"{problem}; index again with <fresh>.")


def human_bytes(size: int) -> str:
    """Return a size for people, such as `1.5 GiB`."""
    value, unit = float(size), 0
    while value >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    return f"{value:,.1f} {_UNITS[unit]}" if unit else f"{size:,} {_UNITS[0]}"
