"""The result of a search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, overload

from corpora.errors import InputError
from corpora.installed import deferred, needing
from corpora.lazy import orjson
from corpora.outgoing import as_html, json_text
from corpora.paper import Paper
from search_plugin.contract.legs import Facets
from search_plugin.pages.hit import Hit, hits_html
from search_plugin.understanding.meaning import QueryChange

if TYPE_CHECKING:
    import pandas as pd


FORMATS: Mapping[str, Callable[[Sequence[Hit]], str]] = {
    name: deferred("search_plugin.pages.formats", name) for name in ("jsonl", "csv", "bibtex", "ris", "csl")
}
"""Functions from hits to text for other programs, by name."""


@dataclass(frozen=True, slots=True, repr=False)
class Page:
    """One page of hits.

    Attributes:
        index: Name of the index searched.
        query: The query as it was searched.
        mode: By words, by meaning or both; `listing` for a search without words.
        fusion: How the legs were joined.
        joined_by: Who joined them: `ses` or `engine`.
        hits: The page.
        candidates: Papers that can be paged through: those that match and those near, each work once if it is asked so.
        window: Maximum papers per leg.
        found: Papers that each leg found.
        facets: Counts, where asked for.
        milliseconds: Time spent, by step: encoding the query, and each stage.
        requests: Requests to a cluster and their purposes, by step.
        rerank: The reranker used; empty for none.
        notes: What the user should know about how the query was understood, one sentence each.
        size: Hits asked for.
        sort: The order of the hits, such as `-year`; empty for the best first.
        changes: How the search went beyond the words as typed, each with the option that undoes it.
        matches: Papers that hold a word of the query, are named by it, or meet the condition that it is; counted
            exactly. None if only meaning was searched.
        near: Papers beside them that are only near in meaning.

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
    changes: tuple[QueryChange, ...] = ()
    matches: int | None = None
    near: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the page as plain values, ready for JSON."""
        return asdict(self)

    def to_dataframe(self) -> pd.DataFrame:
        """Return the hits as a table of pandas: a row for each, with the columns of `format("csv")`.

        Raises `UnavailableError` if pandas isn't installed.
        """
        from search_plugin.pages.formats import facts_of, rows_of

        with needing("A table needs pandas, which is not installed", "pandas"):
            import pandas as pd

        rows = rows_of(self.hits)
        names = list(rows[0] if rows else facts_of(Hit(0, Paper("", ""), 0.0, {}, ())))
        # Else years would be fractions where one is missing.
        return pd.DataFrame(rows, columns=names).astype({"year": "Int64"})

    def format(self, name: str) -> str:
        """Return the page as text for other programs, with its last line ended.

        The name is `json` for the page, or for its hits `jsonl`, `csv`, `bibtex`, `ris` or `csl`; `InputError` if there
        is no such format.
        """
        if name == "json":
            return json_text(orjson.dumps(self.to_dict(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
        if name not in FORMATS:
            raise InputError(f"There is no format {name!r}; choose one of json, {', '.join(FORMATS)}.")
        return FORMATS[name](self.hits)

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
        found = f"{len(self):,} of {self.candidates:,} candidates for “{as_html(self.query)}” in {as_html(self.index)}"
        notes = "".join(f"<p>{as_html(note)}</p>" for note in self.notes)
        return f"<p>{found}</p>{notes}{hits_html(self.hits)}{_facets_html(self.facets) if self.facets else ''}"


def _facets_html(facets: Facets) -> str:
    items = "".join(
        f"<li>{as_html(field)}: "
        + (", ".join(f"{as_html(str(value))} ({count:,})" for value, count in counts) or "no values")
        + "</li>"
        for field, counts in facets.counts.items()
    )
    return f"<ul>{items}</ul><p><small>counted over {facets.matches:,} papers: {as_html(facets.counted)}</small></p>"
