"""Traces by OpenTelemetry: a span for each request, and one below it for each stage of its search.

Where spans are sent is said by the standard variables of the environment, such as OTEL_EXPORTER_OTLP_ENDPOINT.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from starlette.datastructures import Headers

from corpora.installed import extra, needing

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from ses.service.service import Service

_STAGE = re.compile(r"([\w-]+);dur=([0-9.]+)")
"""A stage in the header `Server-Timing`, with its milliseconds."""


def traced(app: ASGIApp, service: Service) -> ASGIApp:
    """Return a layer that traces requests; without the setting `telemetry`, the application itself."""
    if not service.settings.telemetry:
        return app
    with needing("Telemetry needs OpenTelemetry, which is not installed", extra("telemetry")):
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    provider = TracerProvider(resource=Resource.create({"service.name": "ses"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Tracing(app, provider)


class Tracing:
    """A layer that makes the spans, named as OpenTelemetry's conventions for HTTP say.

    A declared proxy may give the trace of which a request is part, by `traceparent` (W3C Trace Context).

    Args:
        app: The application inside.
        provider: What makes spans and sends them.
    """

    def __init__(self, app: ASGIApp, provider: TracerProvider) -> None:
        self.app, self._provider = app, provider
        self._tracer = provider.get_tracer("ses.service")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on within a span."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            if scope["type"] == "lifespan":
                self._provider.shutdown()
            return
        from opentelemetry.trace import SpanKind, StatusCode
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        trusted = scope.get("state", {}).get("trusted")
        context = TraceContextTextMapPropagator().extract(dict(Headers(scope=scope))) if trusted else None
        began = time.time_ns()
        with self._tracer.start_as_current_span(scope["method"], context, SpanKind.SERVER) as span:

            async def send_traced(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                    if message["status"] >= 500:
                        span.set_status(StatusCode.ERROR)
                    self._stages(Headers(raw=message["headers"]).get("server-timing", ""), began)
                await send(message)

            span.set_attributes({"http.request.method": scope["method"], "url.scheme": scope["scheme"]})
            span.set_attribute("ses.request_id", scope["state"]["request_id"])
            try:
                await self.app(scope, receive, send_traced)
            finally:
                route = getattr(scope.get("route"), "path", "")
                if route:
                    span.update_name(f"{scope['method']} {route}")
                    span.set_attribute("http.route", route)

    def _stages(self, timing: str, began: int) -> None:
        """Make a span for each stage: one begins where the one before ended."""
        for name, milliseconds in _STAGE.findall(timing):
            ended = began + round(float(milliseconds) * 1e6)
            self._tracer.start_span(name, start_time=began).end(ended)
            began = ended
