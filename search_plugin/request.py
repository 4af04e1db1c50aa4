"""A user's search request, checked."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from dataclasses import fields as attributes_of
from typing import Any, Literal, get_args

from corpora.errors import InputError
from corpora.markup import plain_text
from search_plugin.contract.fields import PAPER_FIELDS, Field
from search_plugin.contract.legs import Join
from search_plugin.contract.ordering import Sort, parse_sort
from search_plugin.contract.plan import TITLE_BOOST, check_boost
from search_plugin.contract.tree import Filter, all_of
from search_plugin.fusion.boosting import Boost, parse_boost
from search_plugin.fusion.fusions import DEFAULT_FUSION
from search_plugin.fusion.search_settings import SearchSettings
from search_plugin.understanding.expansion.expand import Synonyms
from search_plugin.words.languages import DEFAULT_LANGUAGE

Mode = Literal["lexical", "vector", "hybrid"]

MAX_QUERY = 10_000
MAX_WINDOW = 10_000


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search as the user requested it.

    Attributes:
        query: The query as the user typed it, without control characters. If there are no words, papers are listed.
        mode: By words (BM25), by meaning (vectors) or both.
        fusion: How the legs of a hybrid search are joined; a name in `FUSIONS`, `rrf` also as `rrf@20`.
        weights: The weights of the legs in the fusion, by name (`lexical`, `prx`); 1 where absent.
        filter: A condition that holds for every hit.
        facets: Fields to count the matches by.
        size: Hits on the page; 0 for counts alone.
        offset: Hits before the page.
        window: Papers per leg; paging ends there.
        exact: Compare with every vector instead of using an approximate index.
        collapse: Field of one value; of papers that share one only the best is shown. Empty for none.
        rerank: The reranker; a name in `RERANKERS`, or empty.
        join: Who joins the legs of a hybrid search.
        title_boost: Weight of the title's own BM25, added to that of title and abstract together.
        words: The words that are searched, encoded and highlighted; the query itself if None.
        notes: How the query was understood, one sentence each.
        sort: Order of the papers found, instead of the best first; a listing is by year, newest first, if None.
        boost: A boost by a forecast; none if None.
        verbatim: Search the words as typed alone: none is corrected, and no other spelling is searched.
        synonyms: What else to search for, by words in small letters; if the query is not verbatim.

    Raises:
        InputError: If the query is too long, or a number is out of bounds.
    """

    query: str
    mode: Mode = "hybrid"
    fusion: str = DEFAULT_FUSION
    weights: Mapping[str, float] = field(default_factory=dict)
    filter: Filter | None = None
    facets: tuple[str, ...] = ()
    size: int = 10
    offset: int = 0
    window: int = 100
    exact: bool = False
    collapse: str = ""
    rerank: str = ""
    join: Join = "ses"
    title_boost: float = TITLE_BOOST
    words: str | None = None
    notes: tuple[str, ...] = ()
    sort: Sort | None = None
    boost: Boost | None = None
    verbatim: bool = False
    synonyms: Synonyms = field(default_factory=dict)

    @property
    def searched(self) -> str:
        """The words that are searched, encoded and highlighted; papers are listed if there are none."""
        return self.query if self.words is None else self.words

    def __post_init__(self) -> None:
        object.__setattr__(self, "query", clean_query(self.query))
        if self.mode not in get_args(Mode):
            raise InputError(f"There is no mode {self.mode!r}; choose one of {', '.join(get_args(Mode))}.")
        if self.join not in get_args(Join):
            raise InputError(f"The legs can't be joined by {self.join!r}; choose one of {', '.join(get_args(Join))}.")
        check_page(0, 0, self.window)
        check_page(self.size, self.offset, self.window if self.query else MAX_WINDOW)
        if self.rerank and self.window > MAX_WINDOW // 2:
            # Two legs find up to twice as many papers, and no engine returns more than MAX_WINDOW at once.
            raise InputError(
                f"A window of {self.window:,} is too large to rank again; choose up to {MAX_WINDOW // 2:,}."
            )
        check_boost(self.title_boost)


DEFAULTS: Mapping[str, Any] = {option.name: option.default for option in attributes_of(SearchRequest)}
"""Defaults of a search, for help texts and APIs."""

OPTIONS = DEFAULTS.keys() - {"query", "words", "notes"}
"""What the user may give beside the query."""


def make_request(
    query: str,
    *,
    tuned: SearchSettings | None = None,
    fields: Sequence[Field] = PAPER_FIELDS,
    language: str = DEFAULT_LANGUAGE,
    literal: bool = False,
    **given: Any,
) -> SearchRequest:
    """Make a request from the user's input: the same in Python, on the command line and over HTTP.

    Args:
        query: As the user typed it (docs/guide/queries.md).
        tuned: Fitted settings; values given by the user override them.
        fields: Of the index (`IndexSchema.fields`), which a filter may name.
        language: Of the index.
        literal: Whether to take the query as plain words, without operators.
        **given: Attributes of `SearchRequest`; None, an empty text and an empty list count as not given. `filter` may
            also be an expression, or several that must all hold; `weights` may be texts `LEG=NUMBER`; `facets` may be
            a single field; `sort` may be a text such as `-year`, and `boost` one such as `impact=0.1`.

    Returns:
        The request, checked.

    Raises:
        InputError: If one of them is unknown or can't be used.
    """
    from search_plugin.filters.parse import parse_filters

    said = {name: value for name, value in given.items() if value is not None and value not in ("", (), [])}
    if unknown := said.keys() - OPTIONS:
        raise InputError(f"A search takes no {min(unknown)!r}; it takes {', '.join(sorted(OPTIONS | {'literal'}))}.")
    tuned = tuned or SearchSettings()
    # Fitted weights are those of the legs of a hybrid search, and other searches have but one.
    fitted = tuned.weights if said.get("mode", DEFAULTS["mode"]) == "hybrid" else {}
    said = {"fusion": tuned.name, "title_boost": tuned.title_boost, "weights": fitted, **said}
    if not isinstance(said["weights"], Mapping):
        said["weights"] = parse_weights(said["weights"])
    if isinstance(said.get("filter"), str | list | tuple):
        said["filter"] = parse_filters(_listed(said["filter"]), fields)
    if isinstance(said.get("sort"), str):
        said["sort"] = parse_sort(said["sort"], fields)
    if isinstance(said.get("boost"), str):
        said["boost"] = parse_boost(said["boost"], fields)
    said["facets"] = tuple(_listed(said.get("facets", ())))
    return SearchRequest(query, **said) if literal else _typed(typed_query(query), said, fields, language)


def _typed(query: str, said: Mapping[str, Any], fields: Sequence[Field], language: str) -> SearchRequest:
    """Return the request of a typed query."""
    from search_plugin.understanding.queries import read_query

    read = read_query(query, fields, language)
    if read.filter:
        given = said.get("filter")
        said = {**said, "filter": all_of(read.filter, given), "words": read.words}
    return SearchRequest(query, **{**said, "notes": read.notes})


def _listed(value: str | Iterable[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def parse_weights(texts: Iterable[str]) -> dict[str, float]:
    """Read the weights of legs, each as `LEG=NUMBER`; raise `InputError` if one has another form."""
    weights = {}
    for text in _listed(texts):
        leg, _, number = text.partition("=")
        try:
            weights[leg.strip()] = float(number)
        except ValueError:
            raise InputError(
                f"The weight {text!r} can't be read; write it as LEG=NUMBER, such as lexical=0.7."
            ) from None
    return weights


def typed_query(text: str) -> str:
    """Return what a user typed as `clean_query` does, also without markup: a title may be copied from a page."""
    cleaned = clean_query(text)
    return clean_query(plain_text(cleaned)) if "<" in cleaned or "&" in cleaned else cleaned


def clean_query(text: str) -> str:
    """Return the query without control characters and surplus blanks.

    Raises `InputError` if it is longer than `MAX_QUERY`.
    """
    if len(text) > MAX_QUERY:
        raise InputError(f"The query has {len(text):,} characters; shorten it to at most {MAX_QUERY:,}.")
    # A terminal of ASCII hands over the bytes of other letters as surrogates.
    with suppress(UnicodeError):
        text = text.encode("utf-8", "surrogateescape").decode("utf-8")
    if text.isprintable():  # as almost all are
        return " ".join(text.split())
    visible = "".join(" " if unicodedata.category(char) in ("Cc", "Cs", "Co", "Cn") else char for char in text)
    return " ".join(visible.split())


def check_page(size: int, offset: int, window: int) -> None:
    """Raise `InputError` if a page is outside the window."""
    if not 1 <= window <= MAX_WINDOW:
        raise InputError(f"A window of {window} can't be searched; choose 1 to {MAX_WINDOW:,}.")
    if size < 0 or offset < 0:
        raise InputError(f"A page of {size} hits from {offset} can't be shown; size and offset begin at 0.")
    if offset + size > window:
        raise InputError(
            f"Hits {offset + 1} to {offset + size} lie beyond the search window of {window}",
            f"ask for a <window> of at least {offset + size}, or for fewer hits",
        )
