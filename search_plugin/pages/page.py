"""The result of a search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, overload

from corpora.links import identifier_of, link_of
from corpora.paper import Paper
from search_plugin.contract.legs import Contribution
from search_plugin.pages.formats.registry import get_format

if TYPE_CHECKING:
    import pandas as pd

    from search_plugin.pages.highlights import Snippet


@dataclass(frozen=True, slots=True)
class Facets:
    """Counts by field over all matches.

    Attributes:
        matches: How many papers were counted.
        counted: Description of the counted papers.
        counts: By field, the most frequent values with their counts; equal counts by value.
    """

    matches: int
    counted: str
    counts: Mapping[str, tuple[tuple[str | int | float, int], ...]]


@dataclass(frozen=True, slots=True, repr=False)
class Hit:
    """One paper found.

    Attributes:
        rank: From 1, over all pages.
        paper: The paper as indexed.
        score: Fused score; comparable within one search only.
        legs: Each leg's rank, raw score and contribution; legs that did not find it are absent.
        snippets: Where the query's words stand.
        collapsed: Candidates not shown because they share this one's value of the field collapsed by.
        known_by: What the query named the paper by, such as `DOI 10.1000/182` or `title`; empty if it was ranked.
        weak: Whether the paper matches weakly; never for models without a fitted floor (docs/ranking.md).

    Example:
        >>> hit = library["mine"].search("masks", mode="lexical")[0]
        >>> hit.rank, hit.title, hit.paper.year
        (1, 'Masks and the spread of a virus', 2020)
    """

    rank: int
    paper: Paper
    score: float
    legs: Mapping[str, Contribution] = field(hash=False)
    snippets: tuple[Snippet, ...]
    collapsed: int = 0
    known_by: str = ""
    weak: bool = False

    @property
    def id(self) -> str:
        """The paper's id."""
        return self.paper.id

    @property
    def title(self) -> str:
        """The paper's title."""
        return self.paper.title

    @property
    def doi(self) -> str:
        """The paper's DOI; empty where it has none."""
        return identifier_of(self.paper, "doi")

    @property
    def link(self) -> str:
        """Where to read the paper: by its DOI, its own address or another identifier; empty where there is none."""
        return link_of(self.paper)

    def __repr__(self) -> str:
        facts = ", ".join(str(fact) for fact in (self.paper.year, self.paper.venue, self.id) if fact)
        return f"{self.rank:3}. {self.title} ({facts}) {self.score:.4f}"

    def _repr_html_(self) -> str:
        from search_plugin.pages.notebook import hits_html

        return hits_html([self])


@dataclass(frozen=True, slots=True, repr=False)
class Page:
    """One page of hits.

    Attributes:
        index: Name of the index searched.
        query: As it was searched.
        mode: By words, by meaning or both; `listing` for a search without words.
        fusion: How the legs were joined.
        joined_by: Who joined them: `ses` or `engine`.
        hits: The page.
        candidates: Papers that any leg found, which can be paged through; in a listing, all that match.
        window: Maximum papers per leg.
        found: Papers that each leg found.
        facets: Counts, where asked for.
        milliseconds: Time spent, by step: encoding the query, and each stage.
        requests: Requests to a cluster and their purposes, by step.
        rerank: The reranker used; empty for none.
        notes: What the user should know about how the query was understood, one sentence each.
        size: Hits asked for.
        sort: The order of the hits, such as `-year`; empty for the best first.

    Example:
        >>> page = library["mine"].search("virus", mode="lexical", facets="venue")
        >>> len(page), page.candidates, page.facets.counts["venue"]
        (2, 2, (('Nature', 1), ('The Lancet', 1)))
    """

    index: str
    query: str
    mode: str
    fusion: str
    joined_by: str
    hits: tuple[Hit, ...]
    candidates: int
    window: int
    found: Mapping[str, int]
    facets: Facets | None
    milliseconds: Mapping[str, float]
    requests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rerank: str = ""
    notes: tuple[str, ...] = ()
    size: int = 10
    sort: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the page as plain values, ready for JSON."""
        return asdict(self)

    def to_dataframe(self) -> pd.DataFrame:
        """Return the hits as a table of pandas: a row for each, with the columns of `format("csv")`.

        Raises `UnavailableError` if pandas isn't installed.
        """
        from corpora.installed import needing
        from search_plugin.pages.formats.exported import facts_of, rows_of

        with needing("A table needs pandas, which is not installed", "pandas"):
            import pandas as pd

        rows = rows_of(self.hits)
        names = list(rows[0] if rows else facts_of(Hit(0, Paper("", ""), 0.0, {}, ())))
        # Else years would be fractions where one is missing.
        return pd.DataFrame(rows, columns=names).astype({"year": "Int64"})

    def format(self, name: str) -> str:
        """Return the page as text for other programs.

        Args:
            name: `json` for the page, or for its hits one of `search_plugin.pages.formats.registry`: `jsonl`, `csv`,
                `bibtex`, `ris`.

        Returns:
            The text, with its last line ended.

        Raises:
            InputError: If there is no such format.
        """
        if name == "json":
            import orjson

            from corpora.outgoing import json_text

            return json_text(orjson.dumps(self.to_dict(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
        return get_format(name)(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, position: int) -> Hit: ...

    @overload
    def __getitem__(self, position: slice) -> tuple[Hit, ...]: ...

    def __getitem__(self, position: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[position]

    def __repr__(self) -> str:
        head = f"{len(self)} of {self.candidates:,} candidates for {self.query!r} in {self.index}"
        return "\n".join([head, *map(repr, self.hits)])

    def _repr_html_(self) -> str:
        from search_plugin.pages.notebook import page_html

        return page_html(self)
