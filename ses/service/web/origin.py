"""Forms of the page come from the page: what other sites make a browser send is refused."""

from __future__ import annotations

from urllib.parse import urlsplit

from fastapi import Request
from starlette.exceptions import HTTPException

from ses.service.web.address import site_address

_REFUSED = "This form was not sent by a page of this site; open the page and send it from there."


def same_origin(request: Request) -> None:
    """Refuse a request that another site's page made a browser send, or that says not where it is from.

    Browsers say it by `Sec-Fetch-Site` (Fetch Metadata), or by `Origin` (RFC 6454), which scripts can't change.
    """
    site = request.headers.get("sec-fetch-site", "")
    if site:
        if site != "same-origin":
            raise HTTPException(403, _REFUSED)
        return
    own, given = urlsplit(site_address(request)), urlsplit(request.headers.get("origin", ""))
    if not given.netloc or (given.scheme, given.netloc) != (own.scheme, own.netloc):
        raise HTTPException(403, _REFUSED)
