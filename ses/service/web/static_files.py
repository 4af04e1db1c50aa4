"""The style sheet and the scripts of the web page."""

from __future__ import annotations

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse
from starlette.exceptions import HTTPException

from ses.service.web.render import HERE

router = APIRouter(include_in_schema=False)

_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


@router.get("/static/{name}")
def static(name: str) -> Response:
    """Return a file of the web page."""
    path = HERE / "static" / name
    if path.suffix not in _TYPES or path not in (HERE / "static").iterdir():
        raise HTTPException(404)
    return FileResponse(path, media_type=_TYPES[path.suffix])
