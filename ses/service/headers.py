"""Headers of every response that tell browsers what a page may do, and which sites may read answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders
from starlette.middleware.cors import CORSMiddleware

from ses.service.http_layer import HttpLayer

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from ses.service.service import Service

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
"""The content security policy: nothing inline, and nothing from other hosts."""

_HEADERS = {
    # A client keeps an answer, and asks each time whether it is still right; caches that clients share keep none.
    "Cache-Control": "private, no-cache",
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # addresses hold what readers search for
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=(), browsing-topics=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_HTTPS_ONLY = "max-age=31536000"
_READABLE = "ETag Link Location RateLimit RateLimit-Policy RateLimit-Limit RateLimit-Remaining RateLimit-Reset"


class SecurityHeaders(HttpLayer):
    """A layer that adds the headers of browsers' security, and over https that this site is never asked by http."""

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and add to the response."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if scope["scheme"] == "https":
                    headers["Strict-Transport-Security"] = _HTTPS_ONLY
            await send(message)

        await self.app(scope, receive, send_with_headers)


def other_origins(app: ASGIApp, service: Service) -> ASGIApp:
    """Return a layer that lets pages of the declared origins read answers; without any, the application itself."""
    if not service.settings.origins:
        return app
    return CORSMiddleware(
        app,
        allow_origins=service.settings.origins,
        allow_methods=("GET", "HEAD", "POST", "PUT", "DELETE"),
        allow_headers=("Authorization", "X-API-Key", "Content-Type", "If-None-Match"),
        expose_headers=(*_READABLE.split(), "Retry-After", "Server-Timing", "X-Request-ID"),
    )
