"""Where to read a paper: its DOI, and a link made of its identifiers."""

from __future__ import annotations

from typing import Protocol
from urllib.parse import quote

_RESOLVERS = {
    "arxiv": "https://arxiv.org/abs/{}",
    "pmid": "https://pubmed.ncbi.nlm.nih.gov/{}/",
    "pmc": "https://pmc.ncbi.nlm.nih.gov/articles/{}/",
}
"""Addresses by kind of identifier, in the order in which they are tried."""

_UNQUOTED = "/:;()@!$&'*+,=~"


class Identified(Protocol):
    """What a link is made of; `corpora.paper` imports this module, and so is not named here."""

    @property
    def identifiers(self) -> tuple[str, ...]:
        """Names of the paper as `kind:value`."""

    @property
    def url(self) -> str:
        """Its own address."""


def identifier_of(paper: Identified, kind: str) -> str:
    """Return a paper's first identifier of a kind, without the kind; empty where there is none."""
    return next((one.removeprefix(f"{kind}:") for one in paper.identifiers if one.startswith(f"{kind}:")), "")


def link_of(paper: Identified) -> str:
    """Return a link to a paper: by its DOI, its own address, or another identifier; empty where there is none."""
    if doi := identifier_of(paper, "doi"):
        return f"https://doi.org/{quote(doi, safe=_UNQUOTED)}"
    # A corpus may hold addresses of any scheme, also such as run a script.
    if paper.url.startswith(("https://", "http://")):
        return quote(paper.url, safe=f"{_UNQUOTED}?#[]%")
    found = ((address, identifier_of(paper, kind)) for kind, address in _RESOLVERS.items())
    return next((address.format(quote(value, safe=_UNQUOTED)) for address, value in found if value), "")
