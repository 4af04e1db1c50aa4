"""A stand-in for Elasticsearch's inference module and an Enterprise licence, before a real Elasticsearch without them.

It keeps endpoints and asks the service as the services `openai` and `custom` do. Read in elastic/elasticsearch:
`OpenAiEmbeddingsRequestEntity` at 4979002, `CustomServiceSettings` at 07abc15, `CustomRequest` at 015db29,
`TextEmbeddingResponseParser` at 01276d5. Everything else is answered by the real server.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.engines.ml_commons import RefusedError, answered, body_of
from tests.faults import ALWAYS, FaultProxy, Reply, Request

BATCH = 10
"""Texts in a request of `custom`, where nothing else is said."""


class Inference:
    """The module's state: endpoints by their name, and the ingest pipelines that name them.

    Attributes:
        licence: What the licence is said to be.
    """

    def __init__(self, proxy: FaultProxy) -> None:
        self.licence = "enterprise"
        self.endpoints: dict[str, dict[str, Any]] = {}
        self.pipelines: dict[str, Any] = {}
        self.asked: list[dict[str, Any]] = []
        self._client = httpx.Client(timeout=30, trust_env=False)
        proxy.handle(self._answer, times=ALWAYS)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _answer(self, request: Request, forward: Any) -> Reply | None:
        path = urlsplit(request.path).path
        name = path.rpartition("/")[2]
        if path == "/_license":
            return answered({"license": {"type": self.licence}})
        if path.startswith("/_ingest/pipeline/"):
            return self._pipeline(request, name)
        if not path.startswith("/_inference/"):
            return forward()
        if request.method == "PUT":
            return self._put(path.split("/")[2], name, body_of(request))
        if name == "_all":
            return answered({"endpoints": list(map(_shown, self.endpoints.values()))})
        if name not in self.endpoints:
            return answered({"error": {"type": "resource_not_found_exception", "reason": name}, "status": 404}, 404)
        if request.method == "DELETE":
            del self.endpoints[name]
            return answered({"acknowledged": True})
        return answered({"endpoints": [_shown(self.endpoints[name])]})

    def _pipeline(self, request: Request, name: str) -> Reply:
        if request.method == "PUT":
            self.pipelines[name] = body_of(request)
        elif request.method == "DELETE":
            self.pipelines.pop(name, None)
        begins = name.removesuffix("*")
        fits = {one: body for one, body in self.pipelines.items() if one == name or (begins != name and begins in one)}
        return answered(fits, 200 if fits or request.method != "GET" or begins != name else 404)

    def _put(self, task: str, name: str, body: dict[str, Any]) -> Reply:
        if name in self.endpoints:
            return answered(
                {"error": {"type": "resource_already_exists_exception", "reason": name}, "status": 400}, 400
            )
        assert task == "text_embedding"
        settings = body["service_settings"]
        # throwIfNotEmptyMap: a setting that the service does not know is an error.
        known = {
            "openai": {"api_key", "model_id", "url", "similarity", "dimensions", "max_input_tokens", "rate_limit"},
            "custom": {"secret_parameters", "url", "headers", "request", "response", "similarity", "dimensions"},
        }[body["service"]]
        assert set(settings) <= known, settings
        assert set(body["task_settings"]) <= {"openai": {"user"}, "custom": {"parameters"}}[body["service"]]
        self.endpoints[name] = {"inference_id": name, "task_type": task, **body}
        try:
            # An endpoint is tried before it is kept.
            self.encode(name, ["how big"])
        except RefusedError as refused:
            del self.endpoints[name]
            return answered({"error": {"type": "status_exception", "reason": refused.reason}, "status": 400}, 400)
        return answered(_shown(self.endpoints[name]))

    def encode(self, name: str, texts: list[str]) -> list[list[float]]:
        """Return vectors, in the batches of the service."""
        endpoint = self.endpoints[name]
        settings = endpoint["service_settings"]
        found: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            if endpoint["service"] == "openai":
                asked = {"input": batch, "model": settings["model_id"], "user": endpoint["task_settings"]["user"]}
                headers = {"Authorization": f"Bearer {settings['api_key']}", "Content-Type": "application/json"}
                reply = self._post(settings["url"], json.dumps(asked), headers)
                found += [one["embedding"] for one in reply["data"]]
            else:
                reply = self._custom(endpoint, {"input": batch})
                found += extracted(reply, settings["response"]["json_parser"]["text_embeddings"])
        return found

    def _custom(self, endpoint: dict[str, Any], values: dict[str, Any]) -> Any:
        settings = endpoint["service_settings"]
        secrets = settings["secret_parameters"]
        # In headers and URL a value stands as it is, in the body as JSON (ValidatingSubstitutor).
        headers = {name: _filled(value, secrets) for name, value in settings["headers"].items()}
        places = {name: json.dumps(value) for name, value in {**secrets, **values}.items()}
        return self._post(_filled(settings["url"], secrets), _filled(settings["request"], places), headers)

    def _post(self, url: str, payload: str, headers: dict[str, str]) -> Any:
        self.asked.append(json.loads(payload))
        reply = self._client.post(url, content=payload.encode(), headers=headers)
        if reply.status_code != 200:
            raise RefusedError(reply.status_code, f"Received an unsuccessful status code: {reply.text}")
        return reply.json()


def extracted(value: Any, path: str) -> Any:
    """Return what is under a path, as MapPathExtractor reads it: lists inside of lists are kept."""
    assert path.startswith("$")
    return _navigated(value, path[1:])


def _navigated(value: Any, path: str) -> Any:
    if not path:
        return value
    if path.startswith("[*]"):
        assert isinstance(value, list)
        return [_navigated(one, path[3:]) for one in value]
    found = re.match(r"\.([^.\[]+)(.*)", path)
    return _navigated(value[found[1]], found[2])


def _filled(template: str, values: dict[str, str]) -> str:
    filled = re.sub(r"\$\{([^}]+)\}", lambda found: values.get(found[1], found[0]), template)
    assert "${" not in re.sub(r'"(?:[^"\\]|\\.)*"', "", filled), filled
    return filled


def _shown(endpoint: dict[str, Any]) -> dict[str, Any]:
    """Return an endpoint as the module shows it: without secrets, and with its own defaults."""
    settings = {
        name: value
        for name, value in endpoint["service_settings"].items()
        if name not in ("api_key", "secret_parameters")
    }
    return {
        **endpoint,
        "service_settings": {**settings, "rate_limit": {"requests_per_minute": 10_000}, "batch_size": 10},
    }
