"""What an adapter searches: an open index, or one that is opened by its name when it is first used."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpora.errors import require
from corpora.paper import Paper, is_empty
from eval.trec.runs import in_order
from search_plugin.pages.hit import Hit
from search_plugin.pages.page import Page
from search_plugin.request import DEFAULTS
from ses.indexes.open_index import OpenIndex
from ses.indexes.searchable import SearchableIndex

PLAIN: Mapping[str, Any] = {"literal": True, "verbatim": True}
"""Options for the queries of experiments: no operators, no corrections, no other spellings."""


@dataclass(frozen=True, eq=False)
class SearchedIndex:
    """An index with options of its searches.

    Attributes:
        index: An open index, of an engine or of a service, or the name of one; if empty, the default index.
        engine: Where the named index is, as `ses.open` takes it: a folder, or the URL of a cluster or a service.
        options: Options of every search (`search_plugin.request.PageOptions`).
    """

    index: str | OpenIndex = ""
    engine: str | Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        named = isinstance(self.index, str)
        require(
            named or isinstance(self.index, SearchableIndex),
            f"An adapter can't search an object of the type {type(self.index).__name__}",
            "give the name of an index, or an open one such as library['mine']",
        )
        require(named or self.engine is None, "An open index has its engine already", "leave <engine> out")

    @property
    def name(self) -> str:
        """Name of the index as it was given; empty for the default index."""
        return self.index if isinstance(self.index, str) else self.index.name

    @functools.cached_property
    def opened(self) -> OpenIndex:
        """The index; errors as of `ses.open` and `library[name]`."""
        if not isinstance(self.index, str):
            return self.index
        from ses.open_library import open as open_library

        library = open_library(self.engine)
        return library[self.index] if self.index else library.default()

    def search(self, query: str, options: Mapping[str, Any] | None = None) -> Page:
        """Search the index.

        Args:
            query: As `OpenIndex.search` takes it.
            options: Options of this search, which override those of the source. Without a `window`, it is as large as
                the page needs.

        Returns:
            One page of hits; errors as of `OpenIndex.search`.
        """
        asked = {**self.options, **(options or {})}
        if asked.get("window") is None and isinstance(asked.get("size"), int):
            asked["window"] = max(DEFAULTS["window"], (asked.get("offset") or 0) + asked["size"])
        return self.opened.search(query, **asked)

    def to_dict(self) -> dict[str, Any]:
        """Return the source as plain values; `InputError` if it has an open index, which can't be written down."""
        require(
            isinstance(self.index, str),
            "What searches an open index can't be saved",
            "make it with the name of the index and its <engine>",
        )
        engine = f"embedded:{self.engine}" if isinstance(self.engine, Path) else self.engine
        return {"index": self.index, "engine": engine, "options": dict(self.options)}


def text_of(paper: Paper) -> str:
    """Return title and abstract, with an empty line between: what a language model reads of a paper."""
    return "\n\n".join(part for part in (paper.title, paper.abstract) if part)


def metadata_of(hit: Hit) -> dict[str, Any]:
    """Return what there is to say of a hit beside its text, as plain values; missing values are left out."""
    paper = hit.paper
    facts = {
        "id": paper.id,
        "title": paper.title,
        "authors": list(paper.authors),
        "year": paper.year,
        "venue": paper.venue,
        "doi": hit.doi,
        "url": hit.link,
        "retracted": paper.retracted,
        "rank": hit.rank,
        "score": hit.score,
        "why": why_found(hit),
        "weak": hit.weak,
    }
    held = {**paper.extra, **facts}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in held.items()}
    return {name: value for name, value in plain.items() if value != [] and not is_empty(value)}


def why_found(hit: Hit) -> str:
    """Return what the query named a paper by, else its rank in each leg, such as `lexical 2, prx 1`."""
    return hit.known_by or ", ".join(f"{leg} {part.rank}" for leg, part in hit.legs.items())


def scores_of(hits: Sequence[Hit]) -> list[float]:
    """Return a score for each hit, by which measuring libraries restore the order of the hits (`in_order`)."""
    return [score for _, score in in_order([(hit.id, hit.score) for hit in hits])]
