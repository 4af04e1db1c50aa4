"""Spans of requests and of their stages, in memory."""

from __future__ import annotations

import pytest
from fastapi import FastAPI, Response
from starlette.testclient import TestClient

from ses.service.logs import RequestLog
from ses.service.metrics import Metrics
from ses.service.proxies import Proxies
from ses.service.settings import load_service_settings

pytest.importorskip("opentelemetry.sdk")
from types import SimpleNamespace

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from ses.service.tracing import Tracing, traced

pytestmark = pytest.mark.serve

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"  # the example of W3C Trace Context


@pytest.fixture
def exported():
    return InMemorySpanExporter()


@pytest.fixture
def asking(exported):
    """Make a client of a traced application, from an address."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exported))
    app = FastAPI()

    @app.get("/papers/{name}")
    def papers(name: str):
        return Response("{}", headers={"Server-Timing": "read;dur=1.50, retrieve;dur=20.25, total"})

    @app.get("/fault")
    def fault():
        return Response(status_code=503)

    app.add_middleware(Tracing, provider=provider)
    settings = load_service_settings(proxies="10.0.0.0/8")
    service = SimpleNamespace(settings=settings, metrics=Metrics(), stopping=False)
    app.add_middleware(RequestLog, service=service)
    app.add_middleware(Proxies, service=service)
    return lambda address: TestClient(app, client=(address, 1))


def test_a_request_is_a_span_and_each_stage_one_below(asking, exported):
    reply = asking("192.0.2.1").get("/papers/secret?query=private", headers={"traceparent": PARENT})
    read, retrieve, request = exported.get_finished_spans()
    assert (request.name, request.kind, request.parent) == ("GET /papers/{name}", SpanKind.SERVER, None)
    assert request.attributes["http.route"] == "/papers/{name}"
    assert request.attributes["http.response.status_code"] == 200
    assert request.attributes["http.request.method"] == "GET"
    assert request.attributes["url.scheme"] == "http"
    assert request.attributes["ses.request_id"] == reply.headers["X-Request-ID"]
    assert "private" not in request.to_json()
    assert "secret" not in request.to_json()
    assert [(one.name, one.end_time - one.start_time) for one in (read, retrieve)] == [
        ("read", 1_500_000),
        ("retrieve", 20_250_000),
    ]
    assert retrieve.start_time == read.end_time
    assert read.parent.span_id == retrieve.parent.span_id == request.context.span_id


def test_only_a_declared_proxy_gives_the_trace(asking, exported):
    asking("10.0.0.1").get("/papers/x", headers={"traceparent": PARENT})
    assert f"{exported.get_finished_spans()[-1].context.trace_id:032x}" == PARENT.split("-")[1]


def test_an_error_of_the_service_is_one_of_its_span(asking, exported):
    asking("10.0.0.1").get("/fault")
    assert exported.get_finished_spans()[-1].status.status_code is StatusCode.ERROR


def test_it_is_off_unless_asked_for():
    app = FastAPI()
    off, on = (SimpleNamespace(settings=load_service_settings(telemetry=one)) for one in ("no", "yes"))
    assert traced(app, off) is app
    assert isinstance(traced(app, on), Tracing)
