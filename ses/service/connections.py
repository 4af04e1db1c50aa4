"""Connections: the head of a request has limits of size and time, and so has a client that does not read.

uvicorn has neither: without these, a client that never ends its headers, or never reads, keeps a connection for ever.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar

from uvicorn import Config, Server
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

if TYPE_CHECKING:
    import socket

    from ses.service.service import Service


class GuardedServer(Server):
    """Runs a service, and leaves no client without an answer or an end when it stops.

    Args:
        config: How it is run.
        service: What the application answers by.
    """

    def __init__(self, config: Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let running requests end in time, answer the others, and close all connections."""
        self._service.stopping = True
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            connection.transport.close()
        await asyncio.sleep(0)


class GuardedProtocol(HttpToolsProtocol):
    """HTTP/1.1 over one connection, with limits against clients that send or read without end."""

    head_bytes: ClassVar[int] = 131_072
    """Largest request line and headers together: 10,000 characters of a query may be 90,000 bytes in an address."""
    head_seconds: ClassVar[float] = 10.0
    """How long a client may take to send them."""
    reading_seconds: ClassVar[float] = 30.0
    """How long a client may leave an answer unread."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._received = 0
        self._refused = False
        self._head_timer: asyncio.TimerHandle | None = None
        self._reading_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._stop(self._head_timer)
        self._stop(self._reading_timer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a part of a request, unless its head is too large."""
        if self._refused:
            return
        if self._waits():
            self._received += len(data)
        super().data_received(data)
        if self._refused or self.transport.is_closing() or not self._waits():
            return
        if self._received > self.head_bytes:
            self._refuse(431, b"The address and the headers are too large.")
        elif self._head_timer is None:
            self._await_head()

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._size = 0

    def on_url(self, url: bytes) -> None:
        """Read a part of the address."""
        self._size += len(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Read a header."""
        self._size += len(name) + len(value)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Answer the request, or refuse it if its head is too large."""
        self._stop(self._head_timer)
        self._head_timer, self._received = None, 0
        if self._size > self.head_bytes:
            self._refuse(431, b"The address and the headers are too large.")
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Read a part of the body, unless the request is refused."""
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request, unless it is refused."""
        if not self._refused:
            super().on_message_complete()

    def pause_writing(self) -> None:
        """Wait until the client reads, for a while."""
        super().pause_writing()
        self._reading_timer = self.loop.call_later(self.reading_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on, since the client reads."""
        self._stop(self._reading_timer)
        super().resume_writing()

    def _waits(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(
            self.head_seconds, self._refuse, 408, b"The request took too long; send it faster."
        )

    def _refuse(self, status: int, sentence: bytes) -> None:
        if self._refused or self.transport.is_closing():
            return
        self._refused = True
        headers = b"content-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[status] + headers % len(sentence) + sentence)
        self.transport.close()

    @staticmethod
    def _stop(timer: asyncio.TimerHandle | None) -> None:
        if timer:
            timer.cancel()
