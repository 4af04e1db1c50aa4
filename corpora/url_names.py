"""Any text as the end of a URL's path, such as the id of a paper, so that nothing on the way changes it."""

from __future__ import annotations

from urllib.parse import quote, unquote

_SAFE = "/:@,;"


def escaped_name(name: str) -> str:
    """Return a name as the end of a URL's path, in ASCII.

    Browsers, clients and proxies remove `//`, `.` and `..` from a path, and proxies also do so with the escaped forms,
    which they read first. So a name with one of these, or with `%`, is escaped twice.
    """
    if not changes_on_the_way(name) and "%" not in name:
        return quote(name, safe=_SAFE)
    once = quote(name, safe="")
    # `quote` leaves dots as they are, and these are all of the name.
    return quote(once if name not in (".", "..") else once.replace(".", "%2E"), safe="")


def unescaped_name(path: str) -> str:
    """Return the name that `escaped_name` was given, from the end of a path that a server has unescaped once."""
    return path if "/" in path else unquote(path)


def escaped_path(path: str) -> str:
    """Return a path, without the slash at its beginning, for a link within the site; none leads to another host."""
    return quote(path, safe="" if changes_on_the_way(path) else _SAFE)


def changes_on_the_way(path: str) -> bool:
    """Say whether clients and proxies would change a path."""
    return not {"", ".", ".."}.isdisjoint(path.split("/"))
