"""What is attached to what: kept in the cluster, in an index of ses for each attached index.

That index is named `ses.attached.NAME.v1`. Its metadata are the attachment. It holds documents only if the vectors
can't be beside those of the attached index.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from corpora.documents import typed
from corpora.errors import InputError, UnavailableError
from search_plugin.contract.schema import ForeignField, IndexSchema, to_stored
from search_plugin.engines.cluster.attached.field_mappings import FieldMapping, fields_of
from search_plugin.engines.cluster.attached.vectors import described_vectors
from search_plugin.engines.cluster.mapping import schema_of

NAMESPACE = "ses"
"""The object in documents of others in which ses keeps what is its own."""

HASH = f"{NAMESPACE}.hash"

_PHYSICAL = re.compile(r"ses\.attached\.(?P<name>[a-z0-9][a-z0-9_-]*)\.v1")


@dataclass(frozen=True, slots=True)
class Attachment:
    """An attached index.

    Attributes:
        name: Name for users of ses.
        target: The index or alias.
        field_mappings: Where its fields are.
        schema: Model, vectors and fields.
        beside: Why the vectors are in an index beside it; empty if they are in its own documents.
        attached_at: When it was attached, in seconds since 1970.
        indexes: Indexes whose documents may hold vectors, also if the target reaches them no more.
        foreign: Its own vectors that searches use too.
        seen: How far the documents of each index were read, by its unique id: the number of its last change. Those
            changed since have a higher number.
    """

    name: str
    target: str
    field_mappings: tuple[FieldMapping, ...]
    schema: IndexSchema
    beside: str
    attached_at: float
    indexes: tuple[str, ...] = ()
    foreign: tuple[ForeignField, ...] = ()
    seen: Mapping[str, int] = field(default_factory=dict)

    @property
    def searched(self) -> IndexSchema:
        """The schema as searches see it: with the fields and the vectors of the attached index."""
        return replace(self.schema, fields=fields_of(self.field_mappings), foreign=self.foreign)

    @property
    def inside(self) -> bool:
        """Whether ses writes vectors into the documents."""
        return bool(self.schema.vectors) and not self.beside

    @property
    def vectors_place(self) -> str:
        """Where the vectors are, as a clause for people."""
        own = f"vectors beside its documents ({self.beside})" if self.beside else "vectors in its documents"
        return ", ".join(filter(None, [own if self.schema.vectors else "", described_vectors(self.foreign)]))

    def facts(self) -> dict[str, Any]:
        """Return the metadata to store."""
        kept = {name: getattr(self, name) for name in ("target", "beside", "indexes", "seen")}
        kept["moment"] = self.attached_at
        kept["places"] = [asdict(mapped) for mapped in self.field_mappings]
        if self.foreign:
            kept["foreign"] = [asdict(one) for one in self.foreign]
        return {"ses": {"schema": to_stored(self.schema), "source": "", "attached": kept}}


def companion_name(name: str) -> str:
    """Return the name, as of an index of ses, under which an attachment is kept."""
    return f"attached.{name}"


def read_attachments(reply: Mapping[str, Any]) -> list[Attachment]:
    """Return the attachments among the indexes of a reply."""
    return [
        _read(parts["name"], facts.get("mappings", {}))
        for physical, facts in reply.items()
        if (parts := _PHYSICAL.fullmatch(physical))
    ]


def _read(name: str, mappings: Mapping[str, Any]) -> Attachment:
    what = f"What ses keeps of the attached index {name}"
    schema = schema_of(mappings, what)
    try:
        kept = mappings["_meta"]["ses"]["attached"]
        field_mappings = tuple(FieldMapping(**mapped) for mapped in kept["places"])
        indexes = tuple(kept["indexes"])
        foreign = tuple(typed(ForeignField, one) for one in kept.get("foreign", ()))
        seen = {str(uuid): int(last) for uuid, last in kept.get("seen", {}).items()}
        attached_at = float(kept["moment"])
        return Attachment(
            name, kept["target"], field_mappings, schema, kept["beside"], attached_at, indexes, foreign, seen
        )
    except (AttributeError, KeyError, TypeError, ValueError, InputError) as error:
        raise UnavailableError(f"{what} is damaged", "detach it, and attach it again") from error


def not_ours(name: str, what: str, hint: str = "") -> InputError:
    """Return the error for a change of an attached index that is its owner's to make."""
    return InputError(f"The index {name} is attached, not made by ses, so {what}", hint)


def overlaps(
    described: Mapping[str, Any], attachment: Attachment, others: Iterable[Attachment]
) -> Iterator[tuple[str, Attachment]]:
    """Yield the indexes whose documents hold the vectors of another attachment, each with that attachment.

    Nothing overlaps with vectors beside the documents. `described` has the indexes behind the attachment, with their
    aliases, as the cluster describes them.
    """
    for other in others:
        if other.name != attachment.name and other.inside and attachment.inside:
            yield from ((index, other) for index, facts in described.items() if _reaches(other.target, index, facts))


def check_apart(described: Mapping[str, Any], attachment: Attachment, others: Iterable[Attachment], hint: str) -> None:
    """Raise `InputError` if another attachment writes into the same documents; see `overlaps`.

    In the hint, `{other}` stands for the name of the other attachment, and `{target}` for what is attached.
    """
    for index, other in overlaps(described, attachment, others):
        of = "" if index == other.target else f" (by {other.target})"
        raise InputError(
            f"The documents of {index} are attached as {other.name} already{of}, and each would rewrite the vectors of "
            "the other",
            hint.format(other=other.name, target=attachment.target),
        )


def _reaches(target: str, index: str, facts: Mapping[str, Any]) -> bool:
    """Whether a name or a pattern reaches an index: by its own name, an alias or a data stream."""
    # Not asked from the cluster: a user may not have the right to see what others have attached.
    names = {index, *facts.get("aliases", {}), str(facts.get("data_stream", index))}
    patterns = (re.escape(part).replace(r"\*", ".*") for part in target.split(","))
    return any(re.fullmatch(pattern, name) for pattern in patterns for name in names)
