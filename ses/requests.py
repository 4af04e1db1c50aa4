"""Requests for a page, the same for Python and the command line; `SearchRequest` checks them and has the defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from search_plugin.filters.tree import Filter
    from search_plugin.request import Mode, SearchRequest
    from search_plugin.search_settings import SearchSettings


class PageOptions(TypedDict, total=False):
    """What may be asked for beside the query; `SearchRequest` says what each means, and has the defaults.

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
        executor: Who joins the legs.
        title_boost: Weight of the title's own BM25.
    """

    mode: Mode
    fusion: str
    weights: Mapping[str, float]
    filter: str | Sequence[str] | Filter | None
    facets: str | Sequence[str]
    size: int
    offset: int
    window: int
    exact: bool
    collapse: str
    executor: str
    title_boost: float


def make_request(
    query: str, options: PageOptions, tuned: SearchSettings | None = None, mode: Mode = "hybrid"
) -> SearchRequest:
    """Return the request for a page.

    Args:
        query: Plain words.
        options: What was given, and nothing else.
        tuned: Fitted settings, for what was not given.
        mode: If none was given.

    Returns:
        The request, checked.

    Raises:
        InputError: If something can't be asked so.
    """
    from search_plugin.filters.parse import parse_filters
    from search_plugin.request import SearchRequest

    asked: dict[str, Any] = {"mode": mode, **options}
    if tuned:
        # Weights are of the legs of a hybrid search; other searches have one leg.
        weights = tuned.weights if asked["mode"] == "hybrid" else {}
        asked = {"fusion": tuned.name, "title_boost": tuned.title_boost, "weights": weights, **asked}
    where = asked.get("filter")
    if isinstance(where, str):
        where = [where]
    if isinstance(where, Sequence):
        asked["filter"] = parse_filters(where)
    facets = asked.get("facets", ())
    asked["facets"] = (facets,) if isinstance(facets, str) else tuple(facets)
    return SearchRequest(query, **asked)


def given_options(options: Mapping[str, Any]) -> PageOptions:
    """Return what the user gave of a command's options for pages (`ses.options.page_options`)."""
    from ses.arguments import parse_weights

    given: PageOptions = {}
    for name in PageOptions.__annotations__.keys() & options.keys() - {"weights"}:
        if options[name] is not None:
            given[name] = options[name]  # type: ignore[literal-required] # the names are those of the annotations
    if options["weights"]:
        given["weights"] = parse_weights(options["weights"])
    return {**given, "filter": options["filters"]}
