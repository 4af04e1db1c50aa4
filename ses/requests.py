"""What may be asked of a page beside the query: the arguments in Python, and those that a command was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from search_plugin.filters.tree import Filter
    from search_plugin.request import Join, Mode


class PageOptions(TypedDict, total=False):
    """The attributes of `SearchRequest`, which has the defaults and the checks, as `make_request` takes them.

    Attributes:
        mode: `lexical`, `vector` or `hybrid`.
        fusion: How the legs are joined.
        weights: Of the legs, by name.
        filter: A condition such as `year>=2020 and not journal=Nature`, or several that must all hold.
        facets: Fields to count the matches by.
        size: Hits on the page.
        offset: Hits before the page.
        window: How deep each leg looks.
        exact: Look at every vector.
        collapse: Show only the best of papers that share a value of this field.
        rerank: What ranks the papers found again.
        join: Who joins the legs.
        title_boost: Weight of the title's own BM25.
    """

    mode: Mode
    fusion: str
    weights: Mapping[str, float]
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


def given_options(options: Mapping[str, Any]) -> PageOptions:
    """Return what the user gave of a command's options for pages (`ses.options.page_options`)."""
    named: Any = {name: options.get(name) for name in PageOptions.__annotations__}
    named |= {"filter": options["filters"], "join": options["executor"] or options["join"]}
    given: PageOptions = {name: value for name, value in named.items() if value not in (None, "", ())}  # type: ignore[assignment]
    return given
