"""The log: one line of JSON on standard error for each request, and for each fault."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
import time
from datetime import UTC, datetime
from ipaddress import ip_network
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Receive, Scope, Send

from ses.service.http_layer import HttpLayer
from ses.service.problems import fault, problem
from ses.service.proxies import address_of

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_QUERY_CHARACTERS = 2_000
_NETWORKS = {4: 24, 6: 48}
"""How many bits of an address a short one has, by the version of IP."""

_log = logging.getLogger("ses.service")


class LogLines(logging.Formatter):
    """Writes a record as one line of JSON, whatever its text holds."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record; its attribute `fields` holds further values."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"time": at, "level": record.levelname.lower(), "message": record.getMessage()}
        line.update(getattr(record, "fields", {}))
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        # In ASCII: no terminal, and no reader of lines, sees other control characters.
        return json.dumps(line, default=str)


CONFIGURATION: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"lines": {"()": LogLines}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
    "loggers": {
        "ses.service": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
        "uvicorn": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
    },
}
"""The configuration of logging for `logging.config.dictConfig`, and so for uvicorn."""


class RequestLog(HttpLayer):
    """A layer that gives each request an id, logs and counts it when it is answered, and answers faults by a problem.

    A declared proxy may give the id as `X-Request-ID`. Requests that still run when `shutdown_seconds` are over are
    cancelled by uvicorn, and answered by a problem.
    """

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, log it and count it."""
        began = time.perf_counter()
        state = scope.setdefault("state", {})
        given = Headers(scope=scope).get("x-request-id", "") if state.get("trusted") else ""
        identity = state["request_id"] = given if _ID.fullmatch(given) else secrets.token_hex(8)
        status, size = 0, 0

        async def send_counted(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status, headers = message["status"], MutableHeaders(scope=message)
                headers["X-Request-ID"] = identity
                if self.service.stopping:
                    headers["Connection"] = "close"
            size += len(message.get("body", b""))
            await send(message)

        try:
            try:
                await self.app(scope, receive, send_counted)
            except asyncio.CancelledError:
                if not self.service.stopping:
                    raise
                if not status:  # or the client sees that its connection ends
                    await problem(503, "The service is stopping; ask again in a few seconds.", request_id=identity)(
                        scope, receive, send_counted
                    )
            except Exception:
                _log.exception("A request failed.", extra={"fields": {"request": identity}})
                if status:  # the response has begun: the client sees that its connection ends
                    raise
                await fault(identity)(scope, receive, send_counted)
        finally:
            seconds = time.perf_counter() - began
            self.service.metrics.observe_request(scope, status or 500, seconds)
            spent = round(seconds * 1000, 1)
            self._write(scope, {"request": identity, "status": status, "ms": spent, "bytes": size})

    def _write(self, scope: Scope, measured: dict[str, Any]) -> None:
        caller = scope["state"].get("caller")
        fields = {
            **measured,
            "method": scope["method"],
            "route": getattr(scope.get("route"), "path", None),
            "key": caller.key if caller else "",
        }
        if self.service.settings.log_addresses != "off":
            fields["address"] = self._address(scope)
        if self.service.settings.log_queries:
            fields["query"] = scope["query_string"][:_QUERY_CHARACTERS].decode("latin-1")
        _log.info("request", extra={"fields": fields})

    def _address(self, scope: Scope) -> str:
        address = address_of(scope)
        if address is None or self.service.settings.log_addresses == "whole":
            return str(address or "")
        return str(ip_network((address, _NETWORKS[address.version]), strict=False))
