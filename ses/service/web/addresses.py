"""The addresses of pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

if TYPE_CHECKING:
    from fastapi import Request


def address(path: str, *, name: str = "", ending: str = "", **parameters: Any) -> str:
    """Return the address of a page, without host, and without the path under which a proxy serves the site.

    Args:
        path: The page, such as `/papers/`.
        name: What follows it, such as the id of a paper; any text.
        ending: Ending for another form of the page, such as `.json`.
        **parameters: Its parameters; empty ones are left out.

    Returns:
        The address in ASCII.
    """
    given = {key: value for key, value in parameters.items() if value not in ("", None, (), [])}
    # A browser removes `//`, `.` and `..` from paths, unless the slashes are escaped.
    odd = {"", ".", ".."} & set(name.split("/"))
    query = f"?{urlencode(given, doseq=True)}" if given else ""
    return f"{path}{quote(name, safe='' if odd else '/:@,;')}{ending}{query}"


def site_address(request: Request) -> str:
    """Return the address of the site for readers, such as `https://library.example/ses`, without a slash at its end."""
    own: str = request.app.state.service.settings.public_url
    return (own or str(request.base_url)).rstrip("/")
