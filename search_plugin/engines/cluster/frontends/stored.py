"""The kinds of artifacts that clusters have by themselves: search templates, pipelines, templates of indexes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from corpora.errors import InputError
from search_plugin.engines.cluster.errors import ClusterError, ignoring_missing
from search_plugin.engines.cluster.frontends.artifacts import FORM, Artifact
from search_plugin.engines.cluster.transport import Cluster

PRIORITY = 200
"""Priority of index templates: above those that the products bring with them, which have up to 100."""


class StoredArtifact(Artifact):
    """An artifact that a cluster keeps under a path of its own.

    Attributes:
        path: Where the cluster keeps artifacts of its kind.
    """

    path: ClassVar[str]

    def write(self, cluster: Cluster) -> None:
        """Store it."""
        cluster.call("PUT", f"{self.path}/{self.name}", self.wanted())

    def delete(self, cluster: Cluster) -> None:
        """Delete it; one that is not there is ignored."""
        with ignoring_missing():
            cluster.call("DELETE", f"{self.path}/{self.name}")


@dataclass(frozen=True)
class StoredTemplate(StoredArtifact):
    """A search template: a stored script in mustache, which is the body of a search with places for parameters.

    Attributes:
        source: The template. Its first line is a comment with the mark.
        kind: What it is.
        path: Where clusters keep scripts.
    """

    source: str
    kind: ClassVar[str] = "search template"
    path: ClassVar[str] = "/_scripts"

    def wanted(self) -> Any:
        """Return the script."""
        return {"lang": "mustache", "source": self.source}

    def stored(self, cluster: Cluster) -> Any:
        """Return the existing script."""
        return _kept_under(cluster, f"{self.path}/{self.name}").get("script")

    def described(self, stored: Any) -> str:
        """Return the template's first line."""
        lines: list[str] = str(stored.get("source", "")).splitlines()
        return lines[0] if lines else ""

    def write(self, cluster: Cluster) -> None:
        """Store the script."""
        cluster.call("PUT", f"{self.path}/{self.name}", {"script": self.wanted()})

    @classmethod
    def listed(cls, cluster: Cluster, prefix: str) -> Iterator[Artifact]:
        """Yield the stored scripts, which only the cluster's state lists."""
        # In the path, because the clients would treat it as their own parameter.
        path = "/_cluster/state/metadata?filter_path=metadata.stored_scripts"
        scripts = _kept_under(cluster, path).get("metadata", {}).get("stored_scripts", {})
        for name in sorted(scripts):
            if name.startswith(prefix):
                yield cls(name, str(scripts[name].get("source", "")))

    def obstacle(self, cluster: Cluster) -> str:
        """Return that a cluster has no search templates, if it lacks mustache; it is asked once."""
        if "mustache" not in cluster.lacking:
            try:
                cluster.call("POST", "/_render/template", {"source": "{}"})
            except ClusterError as error:
                if "no handler found" not in str(error):
                    raise
                cluster.lacking.add("mustache")
        return "has no search templates (the module lang-mustache)" if "mustache" in cluster.lacking else ""


@dataclass(frozen=True)
class Pipeline(StoredArtifact):
    """A pipeline.

    Attributes:
        body: The pipeline, with its description.
    """

    body: Mapping[str, Any]

    def wanted(self) -> Any:
        """Return the pipeline."""
        return {"version": FORM, **self.body}

    def stored(self, cluster: Cluster) -> Any:
        """Return the existing pipeline."""
        found = _kept_under(cluster, f"{self.path}/{self.name}").get(self.name)
        return _undated(found) if found else None

    def described(self, stored: Any) -> str:
        """Return the description."""
        return str(stored.get("description", ""))

    @classmethod
    def listed(cls, cluster: Cluster, prefix: str) -> Iterator[Artifact]:
        """Yield the pipelines."""
        for name, body in sorted(_kept_under(cluster, f"{cls.path}/{prefix}*").items()):
            yield cls(name, body)


class SearchPipeline(Pipeline):
    """A search pipeline of OpenSearch, which joins the legs of a hybrid query."""

    kind: ClassVar[str] = "search pipeline"
    path: ClassVar[str] = "/_search/pipeline"

    @classmethod
    def listed(cls, cluster: Cluster, prefix: str) -> Iterator[Artifact]:
        """Yield the search pipelines; Elasticsearch has none."""
        return super().listed(cluster, prefix) if cluster.product.kind == "opensearch" else iter(())


class IngestPipeline(Pipeline):
    """An ingest pipeline, which documents pass that are written through it."""

    kind: ClassVar[str] = "ingest pipeline"
    path: ClassVar[str] = "/_ingest/pipeline"


class _Template(StoredArtifact):
    """A template for new indexes: its mark is in its metadata, and replies hold lists of templates."""

    def stored(self, cluster: Cluster) -> Any:
        """Return the existing template."""
        return next((_undated(content) for _, content in self._all(cluster, f"/{self.name}")), None)

    def described(self, stored: Any) -> str:
        """Return the description in the metadata."""
        return str((stored.get("_meta") or {}).get("description", ""))

    @classmethod
    def _all(cls, cluster: Cluster, under: str = "") -> list[tuple[str, Mapping[str, Any]]]:
        """Return names and contents of the templates under a path, by name."""
        name = cls.path.removeprefix("/_")
        found = _kept_under(cluster, f"{cls.path}{under}").get(f"{name}s", ())
        return sorted(((str(one["name"]), one[name]) for one in found), key=lambda one: one[0])


@dataclass(frozen=True)
class ComponentTemplate(_Template):
    """A component template: mappings, and the settings that they need, for indexes that others make.

    Attributes:
        template: Settings and mappings.
        description: The text with the mark.
        kind: What it is.
        path: Where clusters keep component templates.
    """

    template: Mapping[str, Any]
    description: str
    kind: ClassVar[str] = "component template"
    path: ClassVar[str] = "/_component_template"

    def wanted(self) -> Any:
        """Return the template as clusters return it: with settings as text."""
        settings = _texts(self.template.get("settings", {}))
        return {
            "template": {**self.template, "settings": settings},
            "version": FORM,
            "_meta": {"description": self.description},
        }

    def delete(self, cluster: Cluster) -> None:
        """Delete the template, or raise `InputError` if an index template of others uses it."""
        try:
            super().delete(cluster)
        except ClusterError as error:
            if error.status != 400:
                raise
            users = re.search(r"index templates \[([^\]]*)\]", str(error))
            used = f"index templates of others ({users[1]})" if users else "an index template of others"
            raise InputError(
                f"The {self.kind} {self.name} is still in use by {used}", "take it out of them, and try again"
            ) from error

    @classmethod
    def listed(cls, cluster: Cluster, prefix: str) -> Iterator[Artifact]:
        """Yield the component templates."""
        for name, content in cls._all(cluster, f"/{prefix}*"):
            yield cls(name, content.get("template", {}), "")


@dataclass(frozen=True)
class IndexTemplate(_Template):
    """An index template: new indexes whose names match its patterns get the mappings of a component template.

    Attributes:
        patterns: Patterns of names.
        component: Name of the component template.
        description: The text with the mark.
        kind: What it is.
        path: Where clusters keep index templates.
    """

    patterns: tuple[str, ...]
    component: str
    description: str
    kind: ClassVar[str] = "index template"
    path: ClassVar[str] = "/_index_template"

    def wanted(self) -> Any:
        """Return the template."""
        return {
            "index_patterns": list(self.patterns),
            "composed_of": [self.component],
            "priority": PRIORITY,
            "version": FORM,
            "_meta": {"description": self.description},
        }

    def check(self, cluster: Cluster) -> None:
        """Raise `InputError` if the patterns match indexes of ses, or those of another template."""
        for pattern in self.patterns:
            check_pattern(pattern)
        stored = self.stored(cluster)
        if stored and stored["index_patterns"] == list(self.patterns):
            return
        for name, other in self._all(cluster):
            # Of two templates that match a name, clusters refuse the second one only if both have the same priority.
            if name == self.name or int(other.get("priority") or 0) != PRIORITY:
                continue
            for pattern in self.patterns:
                if any(_overlap(pattern, there) for there in other["index_patterns"]):
                    raise InputError(
                        f"The pattern {pattern} matches the same names as the index template {name}, which has the "
                        f"same priority {PRIORITY}",
                        "choose another <pattern>",
                    )

    @classmethod
    def listed(cls, cluster: Cluster, prefix: str) -> Iterator[Artifact]:
        """Yield the index templates."""
        for name, content in cls._all(cluster, f"/{prefix}*"):
            yield cls(name, tuple(content["index_patterns"]), "", "")


_PATTERN = re.compile(r"[a-z0-9][a-z0-9._-]*\*?")


def check_pattern(pattern: str) -> None:
    """Raise `InputError` if a pattern of index names can't be read, or matches indexes of ses."""
    if not _PATTERN.fullmatch(pattern) or len(pattern) > _LONGEST:
        raise InputError(
            f"The pattern {pattern[:_LONGEST]!r} can't be used: it is small letters, digits, dots, _ and -, with * at "
            "the end",
            "write it like <pattern=papers-*>",
        )
    if _overlap(pattern, "ses.*"):
        raise InputError(f"The pattern {pattern} matches the indexes of ses", "choose another <pattern>")


_LONGEST = 100


def _overlap(one: str, other: str) -> bool:
    """Return whether a name can match two patterns; of the first, only a star at the end is read."""
    from fnmatch import fnmatchcase

    begun, starred = one.removesuffix("*"), one.endswith("*")
    if not starred:
        return fnmatchcase(begun, other)
    begins = other.partition("*")[0]
    return begins.startswith(begun) or (begun.startswith(begins) and "*" in other)


def _kept_under(cluster: Cluster, path: str) -> Mapping[str, Any]:
    """Return what is under a path; nothing if that is not there."""
    with ignoring_missing():
        reply: Mapping[str, Any] = cluster.call("GET", path)
        return reply
    return {}


def _undated(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return a template without the times that newer versions add."""
    return {name: value for name, value in stored.items() if not name.endswith(("_date", "_date_millis"))}


def _texts(settings: Any) -> Any:
    """Return settings as clusters return them: each value as text."""
    if isinstance(settings, Mapping):
        return {name: _texts(value) for name, value in settings.items()}
    if isinstance(settings, list | tuple):
        return [_texts(value) for value in settings]
    return str(settings).lower() if isinstance(settings, bool) else str(settings)
