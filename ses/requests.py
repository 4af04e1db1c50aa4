"""Options of a page beside the query: as arguments in Python, and as the options of a command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from search_plugin.contract.legs import Join
    from search_plugin.contract.ordering import Sort
    from search_plugin.contract.tree import Filter
    from search_plugin.fusion.boosting import Boost
    from search_plugin.request import Mode
    from search_plugin.understanding.expansion.expand import Synonyms


class PageOptions(TypedDict, total=False):
    """The attributes of `SearchRequest` that `make_request` takes; defaults and checks are there.

    Attributes:
        mode: `lexical`, `vector` or `hybrid`.
        fusion: How the legs are joined.
        weights: Of the legs, by name; or texts such as `lexical=0.7`.
        filter: A condition such as `year>=2020 and not journal=Nature`, or several that must all hold.
        facets: Fields to count the matches by.
        size: Hits on the page; 0 for facets alone.
        offset: Hits before the page.
        window: Candidates per leg.
        exact: Compare with every vector.
        collapse: Show only the best paper for each value of this field.
        rerank: Name of the reranker.
        join: Who joins the legs.
        title_boost: Weight of the title's own BM25.
        literal: Take the query as plain words; of a search only.
        verbatim: Search the words as typed alone: none is corrected, and no other spelling is searched.
        synonyms: What else to search for, by words in small letters, instead of those of the settings.
        sort: `title`, or a field of numbers or dates such as `year`; with `-` before it, the largest value first.
        boost: A forecast such as `impact`, or `impact=0.1` with a strength; papers of a higher one move a little up.
    """

    mode: Mode
    fusion: str
    weights: Mapping[str, float] | Sequence[str]
    filter: str | Sequence[str] | Filter
    facets: str | Sequence[str]
    size: int
    offset: int
    window: int
    exact: bool
    collapse: str
    rerank: str
    join: Join
    title_boost: float
    literal: bool
    verbatim: bool
    synonyms: Synonyms
    sort: str | Sort
    boost: str | Boost


def given_options(options: Mapping[str, Any]) -> PageOptions:
    """Return the page options that the user gave to a command (`ses.terminal.options.page_options`)."""
    named: Any = {name: options.get(name) for name in PageOptions.__annotations__}
    named |= {"filter": options["filters"], "join": options["executor"] or options["join"]}
    del named["synonyms"]  # a file, which the settings hold
    given: PageOptions = {name: value for name, value in named.items() if value not in (None, "", ())}  # type: ignore[assignment]
    return given
