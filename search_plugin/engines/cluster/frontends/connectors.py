"""OpenSearch asks the service of ses for vectors: what its plugin ml-commons keeps for that.

A remote model has a connector inside: a template of the request, and functions that make its parameters and read its
answer. The plugin `neural-search` sends texts to such a model in the processor `text_embedding` and in the query
`neural`. From version 3.5 it says whether a text is a query or a passage; before, each has a model.

Read in the sources of ml-commons and neural-search at their tags 2.19.1.0, 3.5.0.0 and 3.6.0.0: `ConnectorUtils`,
`MLPreProcessFunction`, `MLPostProcessFunction`, `HttpConnector`, `UpdateModelTransportAction`,
`NeuralSearchMLInputBuilder`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from corpora.errors import InputError, UnavailableError
from search_plugin.engines.cluster.errors import ClusterError, ignoring_missing
from search_plugin.engines.cluster.frontends.artifacts import FORM, MARK, Artifact, marked_index
from search_plugin.engines.cluster.frontends.http import replaced
from search_plugin.engines.cluster.frontends.stored import IngestPipeline, Pipeline, SearchPipeline, StoredTemplate
from search_plugin.engines.cluster.frontends.vector_service import VectorService
from search_plugin.engines.cluster.transport import Cluster

TRUSTED = "plugins.ml_commons.trusted_connector_endpoints_regex"
PRIVATE = "plugins.ml_commons.connector.private_ip_enabled"
PLUGIN = "opensearch-ml"

ONE_MODEL_SINCE = (3, 5)
"""The version from which neural-search tells a model whether a text is a query."""

READ_TIMEOUT = 30
"""Seconds for an answer; the default is 30 from version 3.6, and more than 8 hours before."""

_DEPLOYING = 30.0
_MOST = 1_000


def lacks_ml_commons(cluster: Cluster) -> str:
    """Return that a cluster lacks ml-commons, as a clause about it, or nothing; it is asked once."""
    if "ml-commons" not in cluster.lacking:
        try:
            cluster.call("POST", "/_plugins/_ml/models/_search", {"size": 0})
        except ClusterError as error:
            if "no handler found" in str(error):
                cluster.lacking.add("ml-commons")
            elif error.status != 404:
                raise
    return f"lacks the plugin {PLUGIN}, which asks for vectors" if "ml-commons" in cluster.lacking else ""


class _OfMlCommons(Artifact):
    """An artifact that needs ml-commons."""

    def obstacle(self, cluster: Cluster) -> str:
        """Return that the plugin is missing."""
        return lacks_ml_commons(cluster)


@dataclass(frozen=True)
class TrustedAddress(_OfMlCommons):
    """An entry of the list of URLs that connectors may ask; the list is shared with others.

    An entry is a regular expression for a whole URL. What it must not be followed by is the mark, which at the end of
    a URL changes nothing.

    Attributes:
        index: The index.
        service: The service.
        kind: What it is.
    """

    index: str
    service: VectorService = field(default_factory=lambda: VectorService(""))
    kind: ClassVar[str] = "trusted address"

    def wanted(self) -> Any:
        """Return the regular expression."""
        mark = f"{MARK} for the index {self.index}, form {FORM}"
        return f"^{re.escape(self.service.url)}/v1/(embeddings|rerank)$(?!{mark})"

    def stored(self, cluster: Cluster) -> Any:
        """Return the entry that has the mark."""
        return next(iter(self._mine(_trusted(cluster))), None)

    def described(self, stored: Any) -> str:
        """Return the entry."""
        return str(stored)

    def check(self, cluster: Cluster) -> None:
        """Raise `InputError` if connectors of this cluster may not ask an address like that of the service."""
        settings = _settings(cluster)
        if TRUSTED in settings["transient"]:
            raise InputError(
                f"The transient setting {TRUSTED} of {cluster.url} hides the persistent one",
                "make it persistent, and try again",
            )
        if self.service.is_private and _effective(settings, PRIVATE) not in (True, "true"):
            raise InputError(
                f"Connectors of {cluster.url} may not ask private addresses such as {self.service.url}",
                f"set {PRIVATE} to true in the cluster, which holds for the connectors of others too",
            )

    def write(self, cluster: Cluster) -> None:
        """Add the entry, in place of an older one."""
        listed = _trusted(cluster)
        mine = self._mine(listed)
        _trust(cluster, [*(one for one in listed if one not in mine), self.wanted()])

    def delete(self, cluster: Cluster) -> None:
        """Take the entry out, and leave the others."""
        listed = _trusted(cluster)
        if mine := self._mine(listed):
            _trust(cluster, [one for one in listed if one not in mine])

    @classmethod
    def listed(cls, cluster: Cluster, prefix: str) -> Iterator[Artifact]:
        """Yield the entries with a mark."""
        if _is_without(cluster):
            return
        for one in _trusted(cluster):
            index = marked_index(one)
            if index and f"ses-{index}".startswith(prefix):
                yield cls(f"ses-{index}", index)

    def _mine(self, listed: list[str]) -> list[str]:
        return [one for one in listed if marked_index(one) == self.index]


def _is_without(cluster: Cluster) -> bool:
    return cluster.product.kind != "opensearch" or bool(lacks_ml_commons(cluster))


def _settings(cluster: Cluster) -> Mapping[str, Mapping[str, Any]]:
    """Return the cluster's settings by where they are set: `transient`, `persistent`, `defaults`."""
    # In the path, because the clients would treat some of these as their own parameters.
    reply = cluster.call("GET", "/_cluster/settings?include_defaults=true&flat_settings=true")
    return {level: reply.get(level, {}) for level in ("transient", "persistent", "defaults")}


def _effective(settings: Mapping[str, Mapping[str, Any]], name: str) -> Any:
    return next((level[name] for level in settings.values() if name in level), None)


def _trusted(cluster: Cluster) -> list[str]:
    return list(_effective(_settings(cluster), TRUSTED) or ())


def _trust(cluster: Cluster, listed: list[str]) -> None:
    cluster.call("PUT", "/_cluster/settings", {"persistent": {TRUSTED: listed or None}})


@dataclass(frozen=True)
class _Named(_OfMlCommons):
    """What ml-commons keeps under an id of its own: it is found by its name and the mark in its description.

    Attributes:
        description: The text with the mark.
        path: Where the plugin keeps such things.
    """

    description: str
    path: ClassVar[str]

    def described(self, stored: Any) -> str:
        """Return the description."""
        return str(stored.get("description", ""))

    def found(self, cluster: Cluster) -> tuple[str, Mapping[str, Any]] | None:
        """Return the id and the content of what is there under the name; that of ses first."""
        hits = _found(cluster, self.path, {"term": {"name.keyword": self.name}})
        hits.sort(key=lambda hit: not marked_index(str(hit[1].get("description", ""))))
        return hits[0] if hits else None

    @classmethod
    def listed(cls, cluster: Cluster, prefix: str) -> Iterator[Artifact]:
        """Yield what the plugin keeps of this kind."""
        if _is_without(cluster):
            return
        found = _found(cluster, cls.path, {"prefix": {"name.keyword": prefix}})
        yield from (cls(name, "") for name in sorted(str(one["name"]) for _, one in found))


def _found(cluster: Cluster, path: str, query: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return ids and contents; nothing if the plugin's index is not there yet."""
    with ignoring_missing():
        reply = cluster.call("POST", f"/_plugins/_ml/{path}/_search", {"query": query, "size": _MOST})
        return [(hit["_id"], hit["_source"]) for hit in reply["hits"]["hits"]]
    return []


@dataclass(frozen=True)
class ModelGroup(_Named):
    """A group of models. Without one, a model makes a group of its own name, which stays when the model is deleted."""

    kind: ClassVar[str] = "model group"
    path: ClassVar[str] = "model_groups"

    def wanted(self) -> Any:
        """Return the description."""
        return {"description": self.description}

    def stored(self, cluster: Cluster) -> Any:
        """Return the description of the existing group."""
        found = self.found(cluster)
        return {"description": found[1].get("description", "")} if found else None

    def write(self, cluster: Cluster) -> None:
        """Register the group, or change its description."""
        if found := self.found(cluster):
            cluster.call("PUT", f"/_plugins/_ml/model_groups/{found[0]}", self.wanted())
        else:
            cluster.call("POST", "/_plugins/_ml/model_groups/_register", {"name": self.name, **self.wanted()})
            _appears(cluster, self)

    def delete(self, cluster: Cluster) -> None:
        """Delete the group; its models have been deleted before, which the plugin may see a second later."""
        until = time.monotonic() + _DEPLOYING
        while found := self.found(cluster):
            try:
                cluster.call("DELETE", f"/_plugins/_ml/model_groups/{found[0]}")
            except ClusterError as error:
                if error.status not in (404, 409) or time.monotonic() > until:
                    raise
            time.sleep(0.1)


def _appears(cluster: Cluster, artifact: _Named) -> tuple[str, Mapping[str, Any]]:
    """Wait until a search finds what was written: it is refreshed once in a second."""
    until = time.monotonic() + _DEPLOYING
    while not (found := artifact.found(cluster)):
        if time.monotonic() > until:
            raise UnavailableError(
                f"{cluster.url} does not list the {artifact.kind} {artifact.name} that was written; try again."
            )
        time.sleep(0.1)
    return found


@dataclass(frozen=True, slots=True)
class Connector:
    """How a model is asked over HTTP.

    Attributes:
        url: The URL.
        request: Template of the body, in which `${parameters.NAME}` are places.
        processing: Which of ml-commons' functions make the parameters and read the answer, such as `openai.embedding`.
        key: The key of the service.
        probe: Parameters of a request that shows whether the service answers.
        answer: The number of values for a text in the answer.
    """

    url: str
    request: str
    processing: str
    key: str = field(repr=False)
    probe: Mapping[str, Any]
    answer: int


@dataclass(frozen=True)
class RemoteModel(_Named):
    """A model that is a service, with its connector.

    Attributes:
        group: Name of its group.
        connector: How the cluster asks for vectors.
        config: What neural-search reads of the model; empty for nothing.
        kind: What it is.
        path: Where the plugin keeps it.
    """

    group: str = ""
    connector: Connector = Connector("", "", "", "", {}, 0)
    config: Mapping[str, Any] = field(default_factory=dict)
    kind: ClassVar[str] = "remote model"
    path: ClassVar[str] = "models"

    def wanted(self) -> Any:
        """Return description, connector and configuration, without the key, which nobody can read again."""
        how = self.connector
        action = {
            "action_type": "PREDICT",
            "method": "POST",
            "url": how.url,
            "headers": {"Authorization": "Bearer ${credential.key}"},
            "request_body": how.request,
            "pre_process_function": f"connector.pre_process.{how.processing}",
            "post_process_function": f"connector.post_process.{how.processing}",
        }
        connector = {
            "name": self.name,
            "description": self.description,
            "version": str(FORM),
            "protocol": "http",
            "actions": [action],
            "client_config": {"max_connection": 30, "connection_timeout": READ_TIMEOUT, "read_timeout": READ_TIMEOUT},
        }
        config = {"model_config": dict(self.config)} if self.config else {}
        return {"description": self.description, "connector": connector, **config}

    def stored(self, cluster: Cluster) -> Any:
        """Return the wanted part of the existing content; servers add to it."""
        found = self.found(cluster)
        return part_of(found[1], self.wanted()) if found else None

    def write(self, cluster: Cluster) -> None:
        """Register and deploy the model, or change it under its id, and ask it for an answer.

        Raises `UnavailableError` if the service does not answer the cluster; a new model is deleted then.
        """
        content = self.wanted()
        content["connector"]["credential"] = {"key": self.connector.key}
        if found := self.found(cluster):
            # Neither can be changed.
            del content["connector"]["protocol"]
            content.pop("model_config", None)
            cluster.call("PUT", f"/_plugins/_ml/models/{found[0]}", content)
            self._try(cluster, found[0])
            return
        group = ModelGroup(self.group, "").found(cluster)
        # How the configuration is read depends on the function's name, so that comes first.
        named = {"name": self.name, "function_name": "remote", **({"model_group_id": group[0]} if group else {})}
        reply = cluster.call("POST", "/_plugins/_ml/models/_register?deploy=true", {**named, **content})
        model = str(reply["model_id"])
        try:
            self._deployed(cluster, model)
            self._try(cluster, model)
        except UnavailableError:
            _delete_model(cluster, model)
            raise
        _appears(cluster, self)

    def delete(self, cluster: Cluster) -> None:
        """Undeploy and delete the model."""
        if found := self.found(cluster):
            _delete_model(cluster, found[0])

    def _deployed(self, cluster: Cluster, model: str) -> None:
        until = time.monotonic() + _DEPLOYING
        while (state := cluster.call("GET", f"/_plugins/_ml/models/{model}").get("model_state")) != "DEPLOYED":
            if state == "DEPLOY_FAILED" or time.monotonic() > until:
                raise UnavailableError(
                    f"{cluster.url} can't deploy the model {self.name}, whose state is {state}",
                    "read the log of the cluster, and try again",
                )
            time.sleep(0.1)

    def _try(self, cluster: Cluster, model: str) -> None:
        """Raise `UnavailableError` if the service does not answer the cluster."""
        how = self.connector
        try:
            reply = cluster.call("POST", f"/_plugins/_ml/models/{model}/_predict", {"parameters": how.probe})
        except ClusterError as error:
            raise UnavailableError(
                f"The cluster got no answer from {how.url} ({error.sentence})",
                "check that it reaches the service under this URL, and the key in SES_CONNECTOR_KEY",
            ) from error
        (tensor,) = reply["inference_results"][0]["output"]
        if len(tensor["data"]) != how.answer:
            raise UnavailableError(
                f"The cluster got {len(tensor['data'])} numbers from {how.url}, and the index has {how.answer}",
                "let the service open the same index",
            )


def _delete_model(cluster: Cluster, model: str) -> None:
    cluster.call("POST", f"/_plugins/_ml/models/{model}/_undeploy")
    cluster.call("DELETE", f"/_plugins/_ml/models/{model}")


def part_of(found: Any, wanted: Any) -> Any:
    """Return that part of some content which is also in another."""
    if isinstance(found, Mapping) and isinstance(wanted, Mapping):
        return {name: part_of(found[name], value) for name, value in wanted.items() if name in found}
    if isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        return [part_of(one, other) for one, other in zip(found, wanted, strict=True)]
    return found


_CALLED = "the model "
"""What stands before a model's name in the content of a pipeline, in the place of its id."""


def called(name: str) -> str:
    """Return how the content of an artifact names a model, whose id only the cluster knows."""
    return f"{_CALLED}{name}"


def _names_by_id(cluster: Cluster) -> Mapping[str, str]:
    """Return how content names each model of ses, by its id."""
    found = _found(cluster, "models", {"prefix": {"name.keyword": "ses-"}})
    return {id_: called(str(one["name"])) for id_, one in found}


def _with_names(cluster: Cluster, content: Any) -> Any:
    """Return content with names of models in the place of their ids."""
    names = _names_by_id(cluster)
    return replaced(content, lambda value: names.get(value, value) if isinstance(value, str) else value)


def _with_ids(cluster: Cluster, content: Any) -> Any:
    """Return content with ids of models in the place of their names; `UnavailableError` if there is no such model."""

    def id_of(value: Any) -> Any:
        if not isinstance(value, str) or not value.startswith(_CALLED):
            return value
        name = value.removeprefix(_CALLED)
        found = RemoteModel(name, "").found(cluster)
        if not found:
            raise UnavailableError(f"{cluster.url} has lost the model {name}; try again.")
        return found[0]

    return replaced(content, id_of)


class _AskingPipeline(_OfMlCommons, Pipeline):
    """A pipeline that names a model: by its id in the cluster, and by its name here."""

    def stored(self, cluster: Cluster) -> Any:
        """Return the existing pipeline, with names of models."""
        return _with_names(cluster, super().stored(cluster))

    def write(self, cluster: Cluster) -> None:
        """Store the pipeline."""
        cluster.call("PUT", f"{self.path}/{self.name}", _with_ids(cluster, self.wanted()))


class NeuralPipeline(_AskingPipeline, SearchPipeline):
    """A search pipeline that adds the model to `neural` queries."""


class EmbeddingPipeline(_AskingPipeline, IngestPipeline):
    """An ingest pipeline that asks a model for vectors."""


class AskingTemplate(_OfMlCommons, StoredTemplate):
    """A search template that names a model, as a pipeline does: its `neural` queries are not all in reach of one."""

    def stored(self, cluster: Cluster) -> Any:
        """Return the existing script, with names of models."""
        if script := super().stored(cluster):
            for id_, name in _names_by_id(cluster).items():
                script["source"] = script["source"].replace(f'"{id_}"', f'"{name}"')
        return script

    def write(self, cluster: Cluster) -> None:
        """Store the script."""

        def id_of(found: re.Match[str]) -> str:
            return f'"{_with_ids(cluster, found[1])}"'

        source = re.sub(f'"({_CALLED}[^"]+)"', id_of, self.source)
        cluster.call("PUT", f"/_scripts/{self.name}", {"script": {**self.wanted(), "source": source}})

    def obstacle(self, cluster: Cluster) -> str:
        """Return that the cluster lacks search templates or ml-commons."""
        return StoredTemplate.obstacle(self, cluster) or super().obstacle(cluster)
