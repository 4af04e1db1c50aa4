"""The style sheet and the script of the web page: each is one file, made from those of a folder in their order."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, Response
from starlette.exceptions import HTTPException

router = APIRouter(include_in_schema=False)

_FOLDER = Path(__file__).parent / "static"
_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
_FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}
"""The address of a file has its version, so it never changes."""


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file that browsers keep.

    Attributes:
        content: Its bytes.
        version: Hash of the content, which is part of its address.
    """

    content: bytes
    version: str


@functools.cache
def static_file(kind: str) -> StaticFile:
    """Return the style sheet (`css`) or the script (`js`) of all pages."""
    content = b"\n".join(path.read_bytes() for path in sorted((_FOLDER / kind).glob(f"*.{kind}")))
    return StaticFile(content, hashlib.blake2b(content, digest_size=8).hexdigest())


@router.get("/static/{version}/page.{kind}")
def static(version: str, kind: str) -> Response:  # noqa: ARG001 - any version is answered by the one there is
    """Return the style sheet or the script."""
    if kind not in _TYPES:
        raise HTTPException(404)
    return Response(static_file(kind).content, headers=_FOREVER, media_type=_TYPES[kind])
