"""The map of a search of an index."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from corpora.lazy import np
from corpora.options import Option, check_options
from products.topics.topics import Projection
from search_plugin.contract.engine import Index
from search_plugin.pages.page import Page
from search_plugin.request import DEFAULTS
from search_plugin.words.languages import get_language

if TYPE_CHECKING:
    from products.maps.maps import PaperMap

MOST_PAPERS = 500
"""Papers of a map; the time for a map grows with the square of their number."""


@dataclass(frozen=True, slots=True)
class MapSettings:
    """What a map takes beside the options of its search; `InputError` if a number is out of bounds.

    Attributes:
        size: Papers of the map.
        topics: Number of topics.
        projection: Method for the places.
    """

    size: Annotated[int, Option("Papers of the map", least=1, most=MOST_PAPERS)] = 300
    topics: Annotated[
        int | None, Option("Number of topics", least=1, most=50, default_help="up to 8, by the number of papers")
    ] = None
    projection: Annotated[Projection, Option("How papers are placed")] = "tsne"

    def __post_init__(self) -> None:
        check_options(self)


def map_of(
    index: Index, search: Callable[..., Page], query: str, options: Mapping[str, Any], settings: MapSettings
) -> PaperMap:
    """Return the map of a search of an index; errors as of `OpenIndex.map`."""
    import re

    from products.maps.maps import MapPoint, PaperMap, places_of, topics_of_papers
    from products.topics.phrases import WORD

    search_options = {**options, "size": settings.size}
    if options.get("mode") == "vector":  # papers near in meaning end with the window
        search_options["window"] = max(
            options.get("window") or DEFAULTS["window"], (options.get("offset") or 0) + settings.size
        )
    page = search(query, **search_options)
    vectors = index.vectors([hit.id for hit in page], index.schema.legs[0])
    hits = [hit for hit in page if hit.id in vectors]
    rows = np.stack([vectors[hit.id] for hit in hits]) if hits else np.zeros((0, 1), np.float32)
    # All the papers are about the words of the query, so these tell no topic from another.
    stop_words = get_language(index.schema.language).stop_words | set(re.findall(WORD, page.query.lower()))
    found, topic_of = topics_of_papers(
        [hit.id for hit in hits], rows, [hit.title for hit in hits], stop_words, settings.topics
    )
    places = places_of(rows, settings.projection)
    points = (
        MapPoint(hit.rank, hit.paper, round(float(x), 4), round(float(y), 4), int(topic))
        for hit, (x, y), topic in zip(hits, places, topic_of, strict=True)
    )
    notes = page.notes
    if lacking := len(page) - len(hits):
        notes = (*notes, f"Papers without a vector, which the map can't show: {lacking:,}.")
    return PaperMap(page.index, page.query, tuple(points), found, page.candidates, notes)
