"""A user's search request, checked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from dataclasses import fields as attributes_of
from typing import Annotated, Any, Literal, TypedDict, get_args

from corpora.errors import InputError
from corpora.options import Option, check_options, options_of
from encoders.models.formats import QueryEncoder
from search_plugin.contract.legs import Join, Sort, parse_sort
from search_plugin.contract.plan import TITLE_BOOST, TITLE_WEIGHT
from search_plugin.contract.schema import PAPER_FIELDS, Field
from search_plugin.contract.tree import Filter, all_of
from search_plugin.fusion.boosting import Boost, parse_boost
from search_plugin.fusion.fusions import DEFAULT_FUSION
from search_plugin.fusion.search_settings import SearchSettings
from search_plugin.understanding.expansion import Synonyms
from search_plugin.words.languages import DEFAULT_LANGUAGE

Mode = Literal["lexical", "vector", "hybrid"]

NEIGHBOURS_SHARE = 0.3
"""Default share of neighbours in a score (docs/ranking.md)."""

MAX_QUERY = 10_000
MAX_WINDOW = 10_000
MAX_FACET_SIZE = 1_000

SAME_WORK, NOTHING = "work", "none"
"""What `collapse` may name beside fields: the versions of a work (`search_plugin.words.works`), and nothing."""


class _LegsOptions(TypedDict, total=False):
    """Which legs a search has, and how they are joined; an evaluation compares several of them."""

    mode: Annotated[
        Mode, Option("Search by words, by meaning, or by both", default_help="hybrid; for similar papers, vector")
    ]
    fusion: Annotated[str, Option("How the legs are joined", "NAME", choices="search_plugin.fusion.fusions:FUSIONS")]


class RankingOptions(TypedDict, total=False):
    """The options of a search that decide which papers come first; evaluations take them too."""

    weights: Annotated[
        Mapping[str, float] | Sequence[str],
        Option(
            "Weights of the legs, such as lexical=0.7",
            "LEG=NUMBER",
            default_help="1 for words, 1 for all vectors together; 2/3 for that of a table",
            example=["lexical=0.7"],
        ),
    ]
    title_boost: Annotated[float, TITLE_WEIGHT]
    expand: Annotated[
        bool, Option("Search words of the first papers too, which helps with topics, not with claims", search_only=True)
    ]
    feedback: Annotated[
        float,
        Option(
            "How much the first papers by words move the vector of a hybrid search towards theirs, such as 0.4",
            least=0,
            most=1,
            search_only=True,
        ),
    ]
    neighbours: Annotated[
        float, Option("How much a hybrid search ranks a paper by the papers most like it, from 0 to 1", least=0, most=1)
    ]
    boost: Annotated[
        str | Boost,
        Option(
            "Move papers with a higher forecast a little up, such as impact, or impact=0.1 with a strength",
            "FIELD",
            default_help="no boost",
            example="impact=0.1",
        ),
    ]
    exact: Annotated[bool, Option("Compare with every vector, without an approximate index")]
    rerank: Annotated[
        str,
        Option(
            "Rank the papers found again, by the scores of every leg for every paper, or by a model that reads them",
            "NAME",
            choices="search_plugin.ranking.stages:RERANKERS",
            others="the folder or hub id of a cross-encoder or late-interaction model; a service takes those it lists",
        ),
    ]
    rerank_depth: Annotated[
        int, Option("Papers that a reranking model reads, the best first", least=1, most=MAX_WINDOW)
    ]
    rerank_budget: Annotated[
        str | float,
        Option(
            "Time that a reranking model may take, such as 200ms or 1.5s; papers that it has not read come behind",
            "TIME",
            default_help="no limit",
        ),
    ]
    literal: Annotated[
        bool, Option("Take the query as plain words, without phrases, fields and operators", search_only=True)
    ]
    verbatim: Annotated[bool, Option("Search the words as typed: correct none, and add no spellings", search_only=True)]
    query_encoder: Annotated[
        QueryEncoder,
        Option(
            "What encodes the words: the model of the index, or a small table that stands in for it",
            default_help="as the settings say: model",
            search_only=True,
        ),
    ]


class PageOptions(_LegsOptions, RankingOptions, total=False):
    """The options of a search beside the query, as a user gives them; `make_request` checks them.

    A new option has a line here, or in `RankingOptions` if it decides which papers come first; an attribute of
    `SearchRequest`; and the code that it changes. The command line and the documentation are made from this
    description (`search_options`).
    """

    filter: Annotated[
        str | Sequence[str] | Filter,
        Option(
            "Condition for every hit, such as 'year>=2020 and not journal=Nature'",
            "EXPR",
            example=["year>=2020", "venue=Nature"],
        ),
    ]
    narrow: Annotated[
        str | Sequence[str] | Filter,
        Option(
            "Condition that leaves some of the papers found, as a click on a facet does: it finds no others near in "
            "meaning, as a filter does",
            "EXPR",
            search_only=True,
            example=["venue=Nature"],
        ),
    ]
    facets: Annotated[str | Sequence[str], Option("Field to count the matches by", "FIELD", example=["venue", "year"])]
    facet_size: Annotated[
        int, Option("Values to show of each of these fields, the most frequent first", least=1, most=MAX_FACET_SIZE)
    ]
    sort: Annotated[
        str | Sort,
        Option(
            "Order of the papers: title, year, or a custom field of numbers or dates; -year for the largest first",
            "FIELD",
            default_help="the best first; without words, -year",
            example="-year",
        ),
    ]
    size: Annotated[int, Option("Hits on the page; 0 for facets alone", least=0, most=MAX_WINDOW)]
    offset: Annotated[int, Option("Hits before the page", least=0, most=MAX_WINDOW)]
    window: Annotated[
        int, Option("Papers per leg that are ranked; others that hold a word follow them", least=1, most=MAX_WINDOW)
    ]
    collapse: Annotated[
        str,
        Option(
            "Show only the best paper for each value of a field, such as journal, or of each work: 'work' for versions "
            "such as preprint and article, 'none' to show every paper",
            "FIELD",
            default_help="none; work in the text of the command line and on the web page",
            example="venue",
        ),
    ]
    join: Annotated[Join, Option("Who joins the legs of a hybrid search: ses, or the search engine itself")]
    synonyms: Annotated[
        Synonyms,
        Option("What else to search for, by words in small letters", default_help="those of the settings", typed=False),
    ]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search as the user requested it: the query, and the options of `PageOptions` as checked values.

    `facet_size` values of each facet are counted, if anything was typed only those that contain `facet_typed`.
    `rerank_budget` is in milliseconds, 0 for no limit.
    `words` are searched, encoded and highlighted, the query itself if None; without words, papers are listed. `notes`
    say how the query was understood, one sentence each. `whole` says that the results are all papers that match the
    filter, since the query is a condition and nothing else. `near` papers at most of each vector leg count, those of
    the window if None. Raises `InputError` for a query that is too long, and for a number out of bounds.
    """

    query: str
    mode: Mode = "hybrid"
    fusion: str = DEFAULT_FUSION
    weights: Mapping[str, float] = field(default_factory=dict)
    filter: Filter | None = None
    narrow: Filter | None = None
    facets: tuple[str, ...] = ()
    facet_size: int = 10
    size: int = 10
    offset: int = 0
    window: int = 100
    exact: bool = False
    collapse: str = ""
    rerank: str = ""
    rerank_depth: int = 30
    rerank_budget: float = 0.0
    join: Join = "ses"
    title_boost: float = TITLE_BOOST
    words: str | None = None
    notes: tuple[str, ...] = ()
    sort: Sort | None = None
    boost: Boost | None = None
    expand: bool = False
    feedback: float = 0.0
    neighbours: float = NEIGHBOURS_SHARE
    verbatim: bool = False
    query_encoder: QueryEncoder | None = None
    synonyms: Synonyms = field(default_factory=dict)
    facet_typed: str = ""
    whole: bool = False
    near: int | None = None

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
        if self.query_encoder not in (None, *get_args(QueryEncoder)):
            known = " or ".join(get_args(QueryEncoder))
            raise InputError(f"Queries can't be encoded by {self.query_encoder!r}; choose {known}.")
        check_options(self, PageOptions)
        # Papers near in meaning end with the window, and those that hold the words do not.
        check_page(self.size, self.offset, self.window if self.mode == "vector" and self.query else MAX_WINDOW)
        if self.rerank and self.window > MAX_WINDOW // 2:
            # Two legs find up to twice as many papers, and no engine returns more than MAX_WINDOW at once.
            raise InputError(
                f"A window of {self.window:,} is too large to rank again; choose up to {MAX_WINDOW // 2:,}."
            )


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
        query: The query as the user typed it (docs/guide/queries.md).
        tuned: Fitted settings; values given by the user override them.
        fields: Fields of the index (`IndexSchema.fields`), which a filter may name.
        language: Language of the index.
        literal: Whether to take the query as plain words, without operators.
        **given: The options of `PageOptions`; None, an empty text and an empty list count as not given.

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
    for name in ("filter", "narrow"):
        if isinstance(said.get(name), str | list | tuple):
            said[name] = parse_filters(_listed(said[name]), fields)
    if isinstance(said.get("sort"), str):
        said["sort"] = parse_sort(said["sort"], fields)
    if isinstance(said.get("boost"), str):
        said["boost"] = parse_boost(said["boost"], fields)
    if "rerank_budget" in said:
        said["rerank_budget"] = parse_milliseconds(said["rerank_budget"])
    said["facets"] = tuple(_listed(said.get("facets", ())))
    if said.get("collapse") == NOTHING:
        del said["collapse"]
    return SearchRequest(query, **said) if literal else _typed(typed_query(query), said, fields, language)


def _typed(query: str, said: Mapping[str, Any], fields: Sequence[Field], language: str) -> SearchRequest:
    """Return the request of a typed query."""
    from search_plugin.understanding.queries import read_query

    read = read_query(query, fields, language)
    if read.filter:
        given = said.get("filter")
        said = {**said, "filter": all_of(read.filter, given), "words": read.words, "whole": read.whole}
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


_LONGEST_TIME = 600_000.0

_TIME = re.compile(r"(\d{1,6}(?:\.\d{1,3})?) ?(ms|s|)", re.ASCII)


def parse_milliseconds(given: str | float) -> float:
    """Read a time in milliseconds, or with its unit, such as `200ms` or `1.5s`; `InputError` if it can't be one."""
    time = given
    if isinstance(time, str):
        read = _TIME.fullmatch(time.strip())
        time = float(read[1]) if read else 0.0
        time *= 1_000 if read and read[2] == "s" else 1
    if not 0 < time <= _LONGEST_TIME:
        raise InputError(f"The time {given!r} can't be used; give milliseconds such as 200ms, or 1.5s, up to 600s.")
    return float(time)


def typed_query(text: str) -> str:
    """Return what a user typed as `clean_query` does, also without markup: a title may be copied from a page.

    A search history of several lines is joined into one. Raises `InputError` as `clean_query` and `with_lines` do.
    """
    cleaned = clean_query(text)
    if len(text.splitlines()) > 1:
        from search_plugin.understanding.pasted.lines import with_lines

        cleaned = clean_query(with_lines(text))
    if "<" not in cleaned and "&" not in cleaned:
        return cleaned
    from corpora.markup import plain_text

    return clean_query(plain_text(cleaned))


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
    if offset + size > MAX_WINDOW:
        raise InputError(
            f"Hits {offset + 1:,} to {offset + size:,} lie beyond the first {MAX_WINDOW:,}, the most that pages reach",
            "narrow the search by a <filter>, or export all results",
        )
    if offset + size > window:
        raise InputError(
            f"Hits {offset + 1} to {offset + size} lie beyond the search window of {window}",
            f"ask for a <window> of at least {offset + size}, or for fewer hits",
        )


DEFAULTS: Mapping[str, Any] = {one.name: getattr(SearchRequest(""), one.name) for one in attributes_of(SearchRequest)}
"""Defaults of a search."""

OPTIONS = PageOptions.__annotations__.keys() - {"literal"}
"""What a request holds of the options."""


def search_options(described: type = PageOptions) -> tuple[Option, ...]:
    """Return the descriptions of all options of a search, or of those of another dictionary of options."""
    return options_of(described, {"literal": False, **DEFAULTS})
