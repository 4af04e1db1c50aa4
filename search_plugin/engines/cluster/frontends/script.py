"""A page as what another program has to do for it: its requests, and the joining of legs between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from encoders.models.formats import Similarity
from search_plugin.engines.cluster.frontends.http import HttpRequest
from search_plugin.engines.cluster.product import ProductName

VECTOR, WORDS, IDS, FOUND, NEAR = "vector", "words", "ids", "found", "near"
"""The parameters: the query's vector and words; the ids of the page, of all papers found, and of the best papers."""

VectorWay = Literal["words", "table", "feedback", "service"]
"""Where a program gets the vector of a query: the cluster's words, a table, the first papers by words, or ses serve."""

TERMS = "terms"
"""The parameter that holds the words of a query as the cluster names them."""

SPELLED = "spelled"
"""The variable that holds the words of a query with their other spellings."""

TABLE_FILE = "query-table.safetensors"
"""The table that a program reads in its working directory."""


MADE: Mapping[VectorWay, str] = {
    "words": "The cluster holds the vector of each word; the vector of the query is the direction of their sum.",
    "table": f"{TABLE_FILE} in the working directory holds the vectors of pieces of words; ses models table writes it.",
    "feedback": "The vector of the words is the mean direction of the vectors of the first papers by words.",
    "service": "ses serve makes the vector of the words, at http://127.0.0.1:8765 or where SES_SERVICE says.",
}
"""Where the vector comes from, for the reader of the program."""


@dataclass(frozen=True, slots=True)
class QueryVector:
    """How a program makes the vector of the words that it was given.

    Attributes:
        way: Where it gets the vector.
        request: What it asks for it first; None for a table.
        field: The field of the papers' vectors in the reply, for feedback.
    """

    way: VectorWay
    request: HttpRequest | None = None
    field: str = ""


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
class NeighbourVectors:
    """How a program lets neighbours count among the papers that it has joined (`search_plugin.ranking.neighbours`).

    Attributes:
        weight: How much neighbours count.
        pool: The best papers, among which neighbours are looked for.
        nearest: Neighbours of a paper.
        first: The part of the first paper in what neighbours give.
        field: The field of the vectors in the reply.
        scaled: Whether the best possible score is 1, as of min-max; else it is that of the first paper.
        request: What it asks for the vectors of the best papers.
    """

    weight: float
    pool: int
    nearest: int
    first: float
    field: str
    scaled: bool
    request: HttpRequest


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
        parameters: The parameters that the sender fills.
        vector_from: A sentence that says where the vector comes from.
        counted_apart: Whether the counts of the page are in the aggregations of `page_request.MATCHES`.
        neighbours: How neighbours count; None if they do not.
        query_vector: How the program itself makes the vector of the words that it is given; None if it reads it.
        spelled: Whether the program searches the words that it is given in other spellings too.
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
    parameters: tuple[str, ...]
    vector_from: str
    counted_apart: bool = False
    neighbours: NeighbourVectors | None = None
    query_vector: QueryVector | None = None
    spelled: bool = False

    @property
    def requests(self) -> tuple[HttpRequest, ...]:
        """All requests in their order."""
        between = [self.neighbours.request] if self.neighbours else []
        return (*self.searches, *between, *([self.papers] if self.papers else []))
