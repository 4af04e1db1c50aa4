"""The style sheet, the script and the logo of the web page, at addresses that hold their version.

The style sheet and the script are one file each, made from those of a folder in their order.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, Response
from starlette.exceptions import HTTPException

from ses.service.parameters import ServiceOf
from ses.service.web.colours import accent_rules

router = APIRouter(include_in_schema=False)

_FOLDER = Path(__file__).parent / "static"
_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
_FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}
"""The address of a file has its version, so it never changes."""

_PICTURE = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
"""An SVG that somebody opens by itself runs no scripts."""

LOGO_TYPES = {
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
}
"""Media type of a logo by the ending of its file."""


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file that browsers keep.

    Attributes:
        content: Its bytes.
        version: Hash of the content, which is part of its address.
        kind: The ending of its name, with the dot.
    """

    content: bytes
    version: str
    kind: str = ""

    @property
    def address(self) -> str:
        """Path of a logo."""
        return f"/static/{self.version}/logo{self.kind}"


def _file(content: bytes, kind: str = "") -> StaticFile:
    return StaticFile(content, hashlib.blake2b(content, digest_size=8).hexdigest(), kind)


@functools.cache
def static_file(kind: str, *, accent: str = "") -> StaticFile:
    """Return the style sheet (`css`), with the colour of a site, or the script (`js`) of all pages."""
    parts = [path.read_bytes() for path in sorted((_FOLDER / kind).glob(f"*.{kind}"))]
    if kind == "css" and accent:
        parts.append(accent_rules(accent).encode())
    return _file(b"\n".join(parts))


@functools.cache
def logo_of(path: Path | None) -> StaticFile | None:
    """Return a site's logo; None if it has none."""
    return _file(path.read_bytes(), path.suffix.lower()) if path else None


@router.get("/static/{version}/page.{kind}")
def static(service: ServiceOf, version: str, kind: str) -> Response:  # noqa: ARG001 - any version is answered by the one there is
    """Return the style sheet or the script."""
    if kind not in _TYPES:
        raise HTTPException(404)
    found = static_file(kind, accent=service.settings.site.accent)
    return Response(found.content, headers=_FOREVER, media_type=_TYPES[kind])


@router.get("/static/{version}/logo{kind}")
def logo(service: ServiceOf, version: str, kind: str) -> Response:  # noqa: ARG001 - as above
    """Return the logo of the site."""
    found = logo_of(service.settings.site.logo)
    if found is None or found.kind != kind:
        raise HTTPException(404)
    return Response(found.content, headers={**_FOREVER, **_PICTURE}, media_type=LOGO_TYPES[kind])
