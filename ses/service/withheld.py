"""What an error says of the machine, such as paths and the engine's address: for the log, and for keys of admins."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from corpora.errors import SesError, as_argument, written

if TYPE_CHECKING:
    from fastapi import Request

    from ses.settings import Settings

_WITHHELD = "…"
_SHORTEST = 4
"""Characters of a place that is looked for by its name."""

_PLACE = re.compile(
    r"[a-z][a-z0-9+.-]*://[^\s'\"<>()]*[^\s'\"<>().,:;]"  # an address
    r"|(?<![\w.])\d{1,3}(\.\d{1,3}){3}(:\d+)?"  # of IPv4
    r"|\[[0-9a-f]*:[0-9a-f:.]+\](:\d+)?"  # of IPv6
    r"|((?<![\w./…])/|\b[a-z]:\\)[^\s'\"<>();,]*[^\s'\"<>().,:;]",  # a path
    re.IGNORECASE,
)

_log = logging.getLogger("ses.service")


def told(request: Request, error: SesError) -> tuple[str, str]:
    """Return what a client may know of an error: its message and its hint.

    Where they name a place of the machine, which only a key with the scope admin may know, the whole message is logged.
    """
    message, hint = error.message(), written(error.hint, as_argument)
    caller = getattr(request.state, "caller", None)
    if caller and "admin" in caller.scopes:
        return message, hint
    settings = request.app.state.service.library._settings
    shown, advice = (_without_places(one, error, settings) for one in (message, hint))
    if shown != message:
        _log.warning("%s", message, extra={"fields": {"request": getattr(request.state, "request_id", "")}})
    return shown, advice


def told_to_all(error: SesError, settings: Settings) -> str:
    """Return what everybody may know of an error: its message."""
    return _without_places(error.message(), error, settings)


def _without_places(text: str, error: SesError, settings: Settings) -> str:
    for place in sorted(_places(settings), key=len, reverse=True):
        text = text.replace(place, _WITHHELD)
    # Other errors hold what the client sent, such as the address of a paper.
    ours = error.kind in ("unavailable", "stopped", "conflict")
    return re.sub(f"{_WITHHELD}[\\w./-]*[\\w/-]", _WITHHELD, _PLACE.sub(_WITHHELD, text) if ours else text)


def _places(settings: Settings) -> Iterator[str]:
    """Yield the places that the settings name, as errors write them."""
    engine = settings.engine_url.partition(":")[2]
    folders = [settings.data_dir, settings.cache_dir, Path.home(), Path.cwd()]
    if engine.startswith("//"):
        for one in engine[2:].rpartition("@")[2].split(","):
            named = urlsplit(f"//{one}")
            yield from (text for text in (named.netloc, named.hostname) if text and len(text) >= _SHORTEST)
    else:
        folders.append(Path(engine).expanduser())
    folders += [
        path for path in (settings.tuned, settings.synonyms, Path(settings.model)) if path and path.is_absolute()
    ]
    for folder in folders:
        yield from (text for text in {str(folder), str(folder.resolve())} if len(text) >= _SHORTEST)
