"""The artifacts of an index together: written, compared and removed, and nothing of others touched.

Everything is checked before anything is written. Each artifact is complete by itself, so a run that is stopped is
completed by the next one, and `remove` finds what is there by its mark, also from another version of ses.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import orjson

from corpora.errors import InputError
from search_plugin.engines.cluster.frontends.artifacts import Artifact, marked_index
from search_plugin.engines.cluster.frontends.connectors import ModelGroup, RemoteModel, TrustedAddress
from search_plugin.engines.cluster.frontends.inference import InferenceEndpoint
from search_plugin.engines.cluster.frontends.query_words import QueryWords
from search_plugin.engines.cluster.frontends.stored import (
    ComponentTemplate,
    IndexTemplate,
    IngestPipeline,
    SearchPipeline,
    StoredTemplate,
)
from search_plugin.engines.cluster.transport import Cluster

KINDS: tuple[type[Artifact], ...] = (
    TrustedAddress,
    ModelGroup,
    RemoteModel,
    InferenceEndpoint,
    IngestPipeline,
    SearchPipeline,
    ComponentTemplate,
    IndexTemplate,
    StoredTemplate,
    QueryWords,
)
"""All kinds, each after those that it names: they are removed from the last to the first."""


@dataclass(frozen=True, slots=True)
class Installed:
    """What was done, or would be done, with an artifact.

    Attributes:
        kind: What it is, for people.
        name: Its name in the cluster.
        change: What is done with it.
        why: Why it was left out, as a sentence; empty otherwise.
        lines: What changes in its content, as lines of a unified diff.
        note: What people should know of it, such as its size; empty for nothing.
    """

    kind: str
    name: str
    change: Literal["new", "changed", "unchanged", "left out", "removed"]
    why: str = ""
    lines: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Installation:
    """The artifacts of an index.

    Attributes:
        cluster: The cluster.
        index: Name of the index.
        wanted: The artifacts that it should have, each after those that it names.
    """

    cluster: Cluster
    index: str
    wanted: Sequence[Artifact] = ()

    def install(self) -> list[Installed]:
        """Write what is missing or different, and nothing else.

        Returns:
            What was done with each artifact.

        Raises:
            InputError: If an artifact would replace or catch something of others; then nothing is written.
            UnavailableError: If the cluster does not answer, or the user may not do this.
        """
        done = []
        for artifact, outcome in list(self._planned()):
            if outcome.change in ("new", "changed"):
                artifact.write(self.cluster)
            done.append(outcome if outcome.why else replace(outcome, note=artifact.told(self.cluster)))
        return done

    def difference(self) -> list[Installed]:
        """Return what `install` would do, without doing it; raises the same errors."""
        return [outcome for _, outcome in self._planned()]

    def remove(self) -> list[Installed]:
        """Delete all that is marked as made for the index, also by another version of ses.

        Returns:
            What was deleted.

        Raises:
            InputError: If others use one of them; then those before it are deleted already.
            UnavailableError: If the cluster does not answer, or the user may not do this.
        """
        removed = []
        for artifact in list(self.there()):
            artifact.delete(self.cluster)
            removed.append(Installed(artifact.kind, artifact.name, "removed"))
        return removed

    def there(self) -> Iterator[Artifact]:
        """Yield what is in the cluster and marked as made for the index, each before those that it names."""
        for kind in reversed(KINDS):
            for artifact in kind.listed(self.cluster, f"ses-{self.index}"):
                if self._is_ours(artifact, artifact.stored(self.cluster)):
                    yield artifact

    def _planned(self) -> Iterator[tuple[Artifact, Installed]]:
        """Yield each wanted artifact with what is to be done, after all were checked."""
        plans = []
        for artifact in self.wanted:
            if why := artifact.obstacle(self.cluster):
                told = f"{self.cluster.product.name} at {self.cluster.url} {why}"
                shown = _compared(artifact, None).lines
                plans.append((artifact, Installed(artifact.kind, artifact.name, "left out", told, shown)))
                continue
            stored = artifact.stored(self.cluster)
            if stored is not None and not self._is_ours(artifact, stored):
                raise InputError(
                    f"{self.cluster.url} has a {artifact.kind} {artifact.name} that ses did not make for this index",
                    "rename or delete it, and try again",
                )
            artifact.check(self.cluster)
            plans.append((artifact, _compared(artifact, stored)))
        yield from plans

    def _is_ours(self, artifact: Artifact, stored: Any) -> bool:
        return stored is not None and marked_index(artifact.described(stored)) == self.index


def _compared(artifact: Artifact, stored: Any) -> Installed:
    before, after = _lines(stored), _lines(artifact.wanted())
    if before == after:
        return Installed(artifact.kind, artifact.name, "unchanged")
    label = f"{artifact.kind} {artifact.name}"
    shown = difflib.unified_diff(before, after, f"{label} in the cluster", f"{label} wanted", lineterm="")
    return Installed(artifact.kind, artifact.name, "new" if stored is None else "changed", lines=tuple(shown))


def _lines(content: Any) -> list[str]:
    """Return content as JSON in lines, the same for the same content; that of a template line by line."""
    if content is None:
        return []
    options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
    return [part for line in orjson.dumps(content, option=options).decode().split("\n") for part in line.split("\\n")]
