"""Addresses of pages, and of a page with other parameters: what links, chips and buttons lead to.

Forms come from these pages: what other sites make a browser send is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any
from urllib.parse import quote, urlencode, urlsplit

from fastapi import Path, Request
from pydantic import AfterValidator, Field
from starlette.exceptions import HTTPException

from corpora.url_names import escaped_name, escaped_path, unescaped_name
from ses.service.parameters import NoParameters, Parameters

_STARTS_AGAIN = "offset"
"""A page with other parameters is shown from its first hit."""


@dataclass(frozen=True, slots=True)
class PageAddress:
    """A path with parameters; each method returns another one.

    Attributes:
        path: The path, with that under which a proxy serves ses.
        pairs: Names and values of the parameters, in order.
    """

    path: str
    pairs: tuple[tuple[str, str], ...] = ()

    def having(self, **values: object) -> PageAddress:
        """Return the address with other values of some parameters; an empty value takes the parameter away."""
        kept = tuple(pair for pair in self.pairs if pair[0] not in values and pair[0] != _STARTS_AGAIN)
        return replace(
            self, pairs=(*kept, *((name, str(one)) for name, one in values.items() if one not in ("", None)))
        )

    def adding(self, name: str, value: str) -> PageAddress:
        """Return the address with one more value of a parameter."""
        return self.lacking(name, value)._with((name, value))

    def lacking(self, name: str, value: str | None = None) -> PageAddress:
        """Return the address without a parameter, or without one of its values."""
        kept = (pair for pair in self.pairs if pair[0] != name or (value is not None and pair[1] != value))
        return replace(self, pairs=tuple(pair for pair in kept if pair[0] != _STARTS_AGAIN))

    def other_than(self, *names: str) -> tuple[tuple[str, str], ...]:
        """Return the parameters but some: what a form sends beside its own fields."""
        return tuple(pair for pair in self.pairs if pair[0] not in (*names, _STARTS_AGAIN))

    def _with(self, pair: tuple[str, str]) -> PageAddress:
        return replace(self, pairs=(*self.pairs, pair))

    def __str__(self) -> str:
        return f"{self.path}?{urlencode(self.pairs)}" if self.pairs else self.path


def address(path: str, *, name: str = "", ending: str = "", **parameters: Any) -> str:
    """Return the address of a page in ASCII, without host, and without the path under which a proxy serves the site.

    The name, any text such as the id of a paper, follows the path, such as `/papers/`. `ending` is that of another form
    of the page, such as `.json`. Empty parameters are left out.
    """
    given = {key: value for key, value in parameters.items() if value not in ("", None, (), [])}
    query = f"?{urlencode(given, doseq=True)}" if given else ""
    return f"{path}{escaped_name(name)}{ending}{query}"


def same_path(path: str) -> str:
    """Return the path of a request as a link to it; none leads to another host."""
    return f"/{escaped_path(path.removeprefix('/'))}"


def unapi_id(paper_id: str) -> str:
    """Return an id as a page's `abbr` has it: what has a meaning in an address is percent-encoded."""
    return quote(paper_id, safe="/:;,@")


class PageOnly(NoParameters):
    """The parameters of a page that has none of its own."""

    lang: str = Field("", description="Language of the page; the one that the browser prefers if empty.")


class PageOfIndex(Parameters, PageOnly):
    """The parameters of a page about an index, or about something in it."""


PaperName = Annotated[str, Path(), AfterValidator(unescaped_name)]
"""What follows the path of a page: the name that `address` was given, also where that escaped it twice."""


def site_address(request: Request) -> str:
    """Return the address of the site for readers, such as `https://library.example/ses`, without a slash at its end."""
    own: str = request.app.state.service.settings.public_url
    return (own or str(request.base_url)).rstrip("/")


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
