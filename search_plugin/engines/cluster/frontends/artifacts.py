"""What ses keeps in a cluster for other programs: how one is compared, written and removed.

All names begin with `ses-` and the name of the index, and each artifact carries its `Ownership`, so that nothing of
others is ever changed or removed. A new kind is a subclass and one entry of `installation.KINDS`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from search_plugin.contract.schema import IndexSchema
from search_plugin.engines.cluster.transport import Cluster

MARK = "made by ses"
"""What the description of every artifact contains."""

FORM = 2
"""The form of all artifacts: a higher number when a version of ses writes other ones."""

_MARKED = re.compile(rf"{MARK} for the index (?P<index>[a-z0-9][a-z0-9_-]*), form (?P<form>\d+)\b")


@dataclass(frozen=True, slots=True)
class Ownership:
    """Whose an artifact is, as the sentence that every artifact contains.

    Attributes:
        index: The index.
        model: Name and fingerprint of the model whose vectors it searches.
        form: Form of the artifact.
    """

    index: str
    model: str = ""
    form: int = FORM

    def __str__(self) -> str:
        return f"{MARK} for the index {self.index}, form {self.form}, model {self.model}"


def mark_of(index: str, schema: IndexSchema) -> Ownership:
    """Return the mark of the artifacts of an index."""
    return Ownership(index, f"{schema.model} ({schema.fingerprint})")


def marked_index(text: str) -> str:
    """Return the index whose mark a text contains; empty if it contains none."""
    found = _MARKED.search(text)
    return found["index"] if found else ""


@dataclass(frozen=True)
class Artifact(ABC):
    """Something that ses keeps in a cluster.

    Attributes:
        name: Its name in the cluster.
        kind: What it is, for people.
    """

    name: str
    kind: ClassVar[str]

    @abstractmethod
    def wanted(self) -> Any:
        """Return its content as the cluster returns it, to compare it with what is there."""

    @abstractmethod
    def stored(self, cluster: Cluster) -> Any:
        """Return the content that is in the cluster under its name; None if there is nothing."""

    @abstractmethod
    def described(self, stored: Any) -> str:
        """Return the text in some stored content that would contain the mark; empty if there is none."""

    @abstractmethod
    def write(self, cluster: Cluster) -> None:
        """Write it, or replace what ses has written before."""

    @abstractmethod
    def delete(self, cluster: Cluster) -> None:
        """Delete it; one that is not there is ignored."""

    @classmethod
    @abstractmethod
    def listed(cls, cluster: Cluster, prefix: str) -> Iterable[Artifact]:
        """Yield what is in the cluster of this kind under names that begin with a prefix, of whomever it is."""

    def obstacle(self, cluster: Cluster) -> str:  # noqa: ARG002 - for subclasses
        """Return why this cluster can't hold it, as a clause about the cluster; empty if it can."""
        return ""

    def told(self, cluster: Cluster) -> str:  # noqa: ARG002 - for subclasses
        """Return what people should know of it once it is there, in a few words; empty for nothing."""
        return ""

    def check(self, cluster: Cluster) -> None:  # noqa: B027 - for subclasses
        """Raise `InputError` if writing it would touch what others have; asked before anything is written."""
