"""A page as what another program has to do for it: its requests, and the joining of legs between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from encoders.models.formats import Similarity
from search_plugin.engines.cluster.frontends.http import HttpRequest
from search_plugin.engines.cluster.product import ProductName

VECTOR, WORDS, IDS, FOUND = "vector", "words", "ids", "found"
"""The parameters: the query's vector and words, the ids of the page, and those of all papers that the legs found."""


@dataclass(frozen=True, slots=True)
class Joining:
    """How a program joins the legs that it has searched, as ses does (`search_plugin.fusion.fusions`).

    Attributes:
        weights: Weight of each leg, in the order of the replies; they sum to 1, unless the fusion is by ranks.
        measures: Measure of each leg's vectors; None for words.
        constant: The rank constant of reciprocal rank fusion; 0 for min-max.
        window: Papers of each leg that count.
        offset: Papers before the page.
        size: Papers of the page.
    """

    weights: tuple[float, ...]
    measures: tuple[Similarity | None, ...]
    constant: int
    window: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class PageScript:
    """The requests of a page.

    Attributes:
        url: URL of a node of the cluster.
        index: Name of the index.
        product: Which product it is.
        scheme: Scheme of the header `Authorization`; empty where the cluster asks for none.
        certificates: Whether its certificates are in a file of their own.
        searches: The requests that are sent first: the page, or its legs.
        papers: The request for the papers and facets of a page of legs that are joined; None where there are no such.
        joining: How the legs are joined; None where nothing is joined by the sender.
        values: The present value of every parameter.
        asked: The parameters that the sender fills.
        vector_from: A sentence that says where the vector comes from.
        counted_apart: Whether the counts of the page are in the aggregations of `page_request.MATCHES`.
    """

    url: str
    index: str
    product: ProductName
    scheme: str
    certificates: bool
    searches: tuple[HttpRequest, ...]
    papers: HttpRequest | None
    joining: Joining | None
    values: Mapping[str, Any]
    asked: tuple[str, ...]
    vector_from: str
    counted_apart: bool = False

    @property
    def requests(self) -> tuple[HttpRequest, ...]:
        """All requests in their order."""
        return (*self.searches, *([self.papers] if self.papers else []))
