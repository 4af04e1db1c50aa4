"""A stand-in for OpenSearch's plugin ml-commons, before a real OpenSearch that lacks it.

It answers the requests that ses and neural-search send to the plugin, and asks the service as the plugin does. What it
does was read in the sources of opensearch-project/ml-commons at the tags 2.19.1.0 (430241e9) and 3.6.0.0 (4f7054ff),
and of opensearch-project/neural-search at 3.6.0.0 (84943265); the comments name the class. Everything else is answered
by the real server.
"""

from __future__ import annotations

import itertools
import json
import re
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.faults import ALWAYS, FaultProxy, Reply, Request

TRUSTED = "plugins.ml_commons.trusted_connector_endpoints_regex"
PRIVATE = "plugins.ml_commons.connector.private_ip_enabled"
OTHERS = ["^https://api\\.openai\\.com/.*$", "^https://api\\.cohere\\.ai/.*$"]
"""Entries that the list of trusted addresses has by default."""

_PLACE = re.compile(r"\$\{parameters\.([^}]+)\}")


class RefusedError(Exception):
    """An error as the plugin answers it."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class MlCommons:
    """The plugin's state: models, groups and settings."""

    def __init__(self, proxy: FaultProxy) -> None:
        self.settings: dict[str, Any] = {PRIVATE: "true"}
        self.models: dict[str, dict[str, Any]] = {}
        self.groups: dict[str, dict[str, Any]] = {}
        self.asked: list[dict[str, Any]] = []
        """Bodies that the service was asked with."""
        self._ids = itertools.count(1)
        self._unseen = False  # a model was deleted, and a search still finds it
        # MLHttpClientFactory: one client for a connector, with 30 connections.
        self._client = httpx.Client(limits=httpx.Limits(max_connections=30), timeout=30, trust_env=False)
        proxy.handle(self._answer, times=ALWAYS)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _answer(self, request: Request, forward: Any) -> Reply | None:
        path = urlsplit(request.path).path
        try:
            if path.startswith("/_plugins/_ml/"):
                return answered(self._ml(request.method, path.removeprefix("/_plugins/_ml/"), body_of(request)))
            if path == "/_cluster/settings":
                return answered(self._set(body_of(request)) if request.method == "PUT" else self._shown())
        except RefusedError as refused:
            return answered(
                {
                    "error": {"root_cause": [], "type": "status_exception", "reason": refused.reason},
                    "status": refused.status,
                },
                refused.status,
            )
        return forward()

    def _set(self, body: Any) -> Any:
        for name, value in body["persistent"].items():
            assert name in (TRUSTED, PRIVATE)
            self.settings.pop(name, None) if value is None else self.settings.update({name: value})
        return {"acknowledged": True}

    def _shown(self) -> Any:
        defaults = {TRUSTED: OTHERS, PRIVATE: "false"}
        left = {name: value for name, value in defaults.items() if name not in self.settings}
        return {"persistent": self.settings, "transient": {}, "defaults": left}

    def _ml(self, method: str, path: str, body: Any) -> Any:
        kind, _, rest = path.partition("/")
        held = {"models": self.models, "model_groups": self.groups}[kind]
        if rest == "_search":
            return self._found(held, body.get("query", {"prefix": {"name.keyword": ""}}))
        if rest == "_register":
            return self._registered(held, body)
        id_, _, what = rest.partition("/")
        if id_ not in held:
            raise RefusedError(404, f"Failed to find {kind} with the provided id: {id_}")
        one = held[id_]
        if method == "POST":
            if what == "_predict":
                return {"inference_results": [{"output": self.predict(id_, body["parameters"]), "status_code": 200}]}
            assert what == "_undeploy"
            one["model_state"] = "UNDEPLOYED"
        elif method == "PUT":
            self._changed(one, body)
        elif method == "DELETE":
            self._deleted(held, id_)
        elif one.get("model_state") == "DEPLOYING":
            one["model_state"] = "DEPLOYED"
            return {**_shown(one), "model_state": "DEPLOYING"}
        return _shown(one)

    def _deleted(self, held: dict[str, Any], id_: str) -> None:
        # DeleteModelTransportAction, DeleteModelGroupTransportAction.
        if held[id_].get("model_state") == "DEPLOYED":
            raise RefusedError(400, "Model cannot be deleted in deploying or deployed state. Try undeploy model first")
        late, self._unseen = self._unseen and held is self.groups, held is self.models
        if late or any(model.get("model_group_id") == id_ for model in self.models.values()):
            raise RefusedError(409, "Cannot delete the model group when it has associated model versions")
        del held[id_]

    @staticmethod
    def _found(held: dict[str, Any], query: Any) -> Any:
        ((kind, clause),) = query.items()
        name = clause["name.keyword"]
        fits = (lambda one: one["name"] == name) if kind == "term" else (lambda one: one["name"].startswith(name))
        hits = [{"_id": id_, "_source": _shown(one)} for id_, one in held.items() if fits(one)]
        return {"hits": {"hits": hits}}

    def _registered(self, held: dict[str, Any], body: dict[str, Any]) -> Any:
        id_ = f"id{next(self._ids)}"
        if held is self.groups:
            held[id_] = body
            return {"model_group_id": id_, "status": "CREATED"}
        # MLRegisterModelInput.parse: how the configuration is parsed depends on the name that was read before.
        names = list(body)
        assert names.index("function_name") < names.index("model_config" if "model_config" in body else "connector")
        assert body["function_name"] == "remote"
        assert body["model_group_id"] in self.groups
        if config := body.get("model_config"):
            assert config["model_type"]
            assert config["model_type"] != "text_embedding"  # RemoteModelConfig then needs more
        assert body["connector"]["credential"]
        self._check(body["connector"])
        held[id_] = {**body, "model_state": "DEPLOYING"}
        return {"task_id": "t", "status": "CREATED", "model_id": id_}

    def _changed(self, one: dict[str, Any], body: dict[str, Any]) -> None:
        # UpdateModelTransportAction and HttpConnector.update.
        connector = {**one.get("connector", {}), **body.get("connector", {})}
        if "connector" in body:
            self._check(connector)
            one["connector"] = connector
        one["description"] = body["description"]

    def _check(self, connector: dict[str, Any]) -> None:
        (action,) = connector["actions"]
        if not any(re.fullmatch(one, action["url"]) for one in self.settings.get(TRUSTED, OTHERS)):
            raise RefusedError(400, "Connector URL is not matching the trusted connector endpoint regex")

    def encode(self, model: str, texts: list[str], content_type: str) -> list[list[float]]:
        """Return the vectors of texts, as neural-search asks a model for them (NeuralSearchMLInputBuilder)."""
        config = self.models[model].get("model_config", {}).get("additional_config", {})
        if config.get("is_asymmetric") is True:
            tensors = self.predict(model, {"texts": _compact(texts), "content_type": content_type})
        else:
            tensors = self.predict(model, {"input": _gson(texts)})  # OpenAIEmbeddingPreProcessFunction
        return [tensor["data"] for tensor in tensors]

    def rerank(self, model: str, query: str, documents: list[str]) -> list[float]:
        """Return the scores of documents, as the processor `rerank` asks for them (CohereRerankPreProcessFunction)."""
        asked = {"query": query, "documents": _gson(documents), "top_n": _gson(len(documents))}
        return [tensor["data"][0] for tensor in self.predict(model, asked)]

    def predict(self, model: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
        """Ask the service as RemoteConnectorExecutor, HttpConnector and ConnectorUtils do."""
        connector = self.models[model]["connector"]
        (action,) = connector["actions"]
        given = {name: value if isinstance(value, str) else _gson(value) for name, value in parameters.items()}
        # escapeRemoteInferenceInputData: objects and arrays in JSON are left as they are.
        given = {name: value if _is_json(value) else json.dumps(value)[1:-1] for name, value in given.items()}
        payload = _PLACE.sub(lambda found: given.get(found[1], found[0]), action["request_body"])
        if left := _PLACE.findall(payload):
            raise RefusedError(400, f"Some parameter placeholder not filled in payload: {', '.join(left)}")
        if not _is_json(payload):
            raise RefusedError(400, f"Invalid payload: {payload}")
        self._check(connector)
        host = urlsplit(action["url"]).hostname
        if not ip_address(host).is_global and self.settings.get(PRIVATE) != "true":
            raise RefusedError(400, f"Remote inference host name has private ip address: {host}")
        self.asked.append(json.loads(payload))
        key = connector["credential"]["key"]
        headers = {name: value.replace("${credential.key}", key) for name, value in action["headers"].items()}
        reply = self._client.post(
            action["url"], content=payload.encode(), headers={"Content-Type": "application/json", **headers}
        )
        # MLSdkAsyncHttpResponseHandler.
        if not 200 <= reply.status_code <= 300:
            raise RefusedError(reply.status_code, f"Error from remote service: {reply.text}")
        return _POST_PROCESSING[action["post_process_function"]](json.loads(reply.text))


def _embeddings(answer: Any) -> list[dict[str, Any]]:
    # EmbeddingPostProcessFunction on $.data[*].embedding.
    found = [one["embedding"] for one in answer["data"]]
    assert all(isinstance(one, list) and one for one in found)
    return [{"name": "sentence_embedding", "data_type": "FLOAT32", "shape": [len(one)], "data": one} for one in found]


def _ranked(answer: Any) -> list[dict[str, Any]]:
    # CohereRerankPostProcessFunction on $.results: the array is as long as the results, and scores are cast to Double.
    results = answer["results"]
    scores: list[Any] = [None] * len(results)
    for one in results:
        if type(one["relevance_score"]) is not float:
            raise RefusedError(500, "class java.lang.Integer cannot be cast to class java.lang.Double")
        scores[one["index"]] = one["relevance_score"]
    return [{"name": "similarity", "data_type": "FLOAT32", "shape": [1], "data": [one]} for one in scores]


_POST_PROCESSING = {
    "connector.post_process.openai.embedding": _embeddings,
    "connector.post_process.cohere.rerank": _ranked,
}


def _shown(one: dict[str, Any]) -> dict[str, Any]:
    """Return a model as the plugin shows it: without the key, and with its own defaults."""
    if "connector" not in one:
        return one
    connector = {name: value for name, value in one["connector"].items() if name != "credential"}
    connector["client_config"] = {
        "max_retry_times": 0,
        "retry_backoff_policy": "constant",
        **connector["client_config"],
    }
    return {**one, "connector": connector, "algorithm": "REMOTE", "model_version": "1"}


def _gson(value: Any) -> str:
    """Return JSON as gson writes it, which escapes what HTML could read."""
    return re.sub(r"[<>&=']", lambda found: f"\\u{ord(found[0]):04x}", _compact(value))


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except ValueError:
        return False


def body_of(request: Request) -> Any:
    """Return what a request brought."""
    return json.loads(request.body) if request.body else None


def answered(content: Any, status: int = 200) -> Reply:
    """Return an answer in JSON."""
    return Reply(status, [("Content-Type", "application/json")], json.dumps(content).encode())
