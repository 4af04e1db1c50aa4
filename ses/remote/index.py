"""An index of a service: searched and read over HTTP like an open index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar, Unpack
from urllib.parse import quote

from corpora.documents import typed
from corpora.errors import NotFoundError, require
from corpora.outgoing import titled
from corpora.paper import Paper
from corpora.url_names import escaped_name
from search_plugin.contract.schema import (
    PAPER_FIELDS,
    Bm25,
    Field,
    ForeignField,
    IndexSchema,
    Quantization,
    VectorField,
)
from search_plugin.filters.parse import quoted
from search_plugin.pages.hit import Hit
from search_plugin.pages.page import Page
from search_plugin.request import PageOptions, search_options
from search_plugin.words.languages import DEFAULT_LANGUAGE
from ses.argument_validation import checked_methods
from ses.indexes.index_facts import IndexFacts
from ses.indexes.open_index import OpenIndex, title_and_abstract
from ses.indexes.searchable import SearchableIndex
from ses.remote.refusal import OverHttp

if TYPE_CHECKING:
    from products.citations import IndexedReference
    from products.support.support import Support
    from search_plugin.contract.legs import Facets
    from search_plugin.request import Mode
    from search_plugin.understanding.completion import Completions
    from ses.remote.client import ServiceClient

_PER_REQUEST = 100
_NAMES_PER_REQUEST = 20
"""Identifiers in one filter: a service takes URLs of a few thousand characters."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RemoteEntry:
    """What a service says of an index.

    Attributes:
        name: Name of the index.
        default: Whether the service searches it where none is named.
        papers: Number of papers.
        model: Name of the model that encodes queries.
        generation: Number of the version.
        published: When that version was published (RFC 3339); None if it is not known.
        vectors: Number of papers that have a vector, by format, or by field of an attached index's owner.
        origins: Number of papers by corpus.
        disk_bytes: Size of all copies.
        fingerprint: Fingerprint of the model.
        vector_fields: How vectors are kept, by format.
        foreign_fields: Vectors of an attached index that are its owner's, each with its model.
        quantization: How the engine keeps all vectors in memory.
        bm25: The constants by which words are scored.
        language: Language by which words are analysed.
        fields: Fields of the papers.
        publications: Whether the index keeps volume, issue, pages, publisher and ISSN of its papers.
    """

    name: str
    default: bool
    papers: int
    model: str
    generation: int = 0
    published: str | None = None
    vectors: Mapping[str, int] = field(default_factory=dict)
    origins: Mapping[str, int] = field(default_factory=dict)
    disk_bytes: int = 0
    fingerprint: str = ""
    vector_fields: tuple[VectorField, ...] = ()
    foreign_fields: tuple[ForeignField, ...] = ()
    quantization: Quantization = "none"
    bm25: Bm25 = field(default_factory=Bm25)
    language: str = DEFAULT_LANGUAGE
    fields: tuple[Field, ...] = PAPER_FIELDS
    publications: bool = False

    def facts(self) -> IndexFacts:
        """Return this as the library of an engine has it; `ValueError` if the time can't be read."""
        return IndexFacts(
            name=self.name,
            default=self.default,
            generation=self.generation,
            published=datetime.fromisoformat(self.published) if self.published else None,
            papers=self.papers,
            vectors=self.vectors,
            origins=self.origins,
            schema=IndexSchema(
                self.model,
                self.fingerprint,
                self.vector_fields,
                self.quantization,
                self.bm25,
                self.fields,
                self.language,
                foreign=self.foreign_fields,
                publications=self.publications,
            ),
            disk_bytes=self.disk_bytes,
        )


@dataclass(frozen=True, slots=True)
class _FieldValue:
    value: str | int | float
    count: int


@dataclass(frozen=True, slots=True)
class _FieldValues:
    matches: int
    counted: str
    values: tuple[_FieldValue, ...]


@checked_methods
@dataclass(frozen=True, repr=False, eq=False)
class RemoteIndex(SearchableIndex, OverHttp, local=OpenIndex):
    """An index of a service, made by `library[name]`: the methods of `OpenIndex` that work over HTTP.

    Attributes:
        held: Its name.
        client: Function that returns the client of the service.
        entry: Function that returns what the service says of the index.
    """

    held: str
    client: Callable[[], ServiceClient]
    entry: Callable[[], RemoteEntry]

    @property
    def name(self) -> str:
        """Name of the index."""
        return self.held

    @property
    def _client(self) -> ServiceClient:
        return self.client()

    def search(self, query: str = "", **options: Unpack[PageOptions]) -> Page:
        """Search by words and by meaning at once; arguments and errors as of `OpenIndex.search`."""
        return self._page(self._client.get("/v1/search", {**self._asked(options), "query": query}))

    def iterate(self, query: str = "", **options: Unpack[PageOptions]) -> Iterator[Hit]:
        """Yield all hits of a search; arguments and errors as of `OpenIndex.iterate`."""
        asked = {"size": str(_PER_REQUEST), **self._asked(options), "query": query, "cursor": "*"}
        while asked["cursor"]:
            content = self._client.get("/v1/search", asked)
            yield from self._page(content)
            following = content.get("next_cursor", "")
            if not isinstance(following, str) or following == asked["cursor"]:
                raise self._client.odd("its cursor leads nowhere")
            asked["cursor"] = following

    def similar(self, paper: str | Paper | Hit, **options: Unpack[PageOptions]) -> Page:
        """Find papers like one in the index; arguments and errors as of `OpenIndex.similar`."""
        paper_id = escaped_name(self._id_of(paper))
        return self._page(self._client.get(f"/v1/similar/{paper_id}", self._asked(options)))

    def similar_text(self, text: str, **options: Unpack[PageOptions]) -> Page:
        """Find papers like a manuscript; arguments and errors as of `OpenIndex.similar_text`."""
        title, abstract = title_and_abstract(text)
        asked = {"index": self.name, "title": title, "abstract": abstract, "explain": True, **plain(options)}
        return self._page(self._client.post("/v1/similar", asked))

    def complete(self, text: str, *, size: int = 5) -> Completions:
        """Suggest what somebody may be typing; arguments and errors as of `OpenIndex.complete`."""
        from search_plugin.understanding.completion import Completions

        asked = {"index": self.name, "query": text, "size": str(size)}
        return self._as(Completions, self._client.get("/v1/suggest", asked))

    def facet(
        self,
        field: str,
        query: str = "",
        *,
        value: str = "",
        size: int = 20,
        filter: str | Sequence[str] = (),  # noqa: A002 - the option's name
        narrow: str | Sequence[str] = (),
        mode: Mode = "hybrid",
        window: int = 100,
    ) -> Facets:
        """Count the values of one field; arguments and errors as of `OpenIndex.facet`."""
        from search_plugin.contract.legs import Facets

        narrowed: PageOptions = {"filter": filter, "narrow": narrow, "mode": mode, "window": window}
        asked = {"query": query, "value": value, "size": str(size), **self._asked(narrowed)}
        del asked["explain"]
        found = self._as(_FieldValues, self._client.get(f"/v1/facets/{quote(field, safe='')}", asked))
        counts = {field: tuple((one.value, one.count) for one in found.values)}
        return Facets(found.matches, found.counted, counts)

    def references(self, paper: str | Paper | Hit) -> list[IndexedReference]:
        """Return the references of a paper; arguments and errors as of `OpenIndex.references`."""
        from products.citations import among

        wanted = list(dict.fromkeys(self.show(self._id_of(paper)).references))
        held: list[Paper] = []
        for start in range(0, len(wanted), _NAMES_PER_REQUEST):
            names = ", ".join(map(quoted, wanted[start : start + _NAMES_PER_REQUEST]))
            where = f"id == ({names}) or identifiers == ({names})"
            held += (hit.paper for hit in self.iterate(filter=where))
        return among(wanted, held)

    def cited_by(self, paper: str | Paper | Hit, **options: Unpack[PageOptions]) -> Page:
        """List the papers that cite a paper; arguments and errors as of `OpenIndex.cited_by`."""
        cited = self.show(self._id_of(paper))
        cites = f"references == ({', '.join(map(quoted, (cited.id, *cited.identifiers)))})"
        given = plain(options).get("filter", [])
        narrowed: PageOptions = {**options, "filter": [cites, *given]}
        return self.search("", **narrowed)

    def support(
        self,
        sentence: str,
        *,
        size: int = 10,
        sentences: int = 3,
        filter: str | Sequence[str] = (),  # noqa: A002 - the option's name
        mode: Mode = "hybrid",
    ) -> Support:
        """Find the papers that have a sentence near in meaning; arguments and errors as of `OpenIndex.support`."""
        from products.support.support import Support

        narrowed: PageOptions = {"filter": filter, "mode": mode, "size": size}
        asked = {**self._asked(narrowed), "sentence": sentence, "sentences": str(sentences)}
        del asked["explain"]
        return self._as(Support, self._client.get("/v1/support", asked))

    def find(self, name: str) -> list[Paper]:
        """Return the papers that an identifier names; arguments and errors as of `OpenIndex.find`."""
        content = self._client.get(f"/v1/papers/{escaped_name(name)}", {"index": self.name})
        try:
            first = typed(Paper, content["paper"], may_be_newer=True)
            return [first, *(typed(Paper, other, may_be_newer=True) for other in content["others"])]
        except (ValueError, TypeError, KeyError) as error:
            raise self._client.odd(str(error)) from error

    def _held(self, paper_id: str) -> Paper | None:
        try:
            return next((one for one in self.find(paper_id) if one.id == paper_id), None)
        except NotFoundError:
            return None

    def _page(self, content: Any) -> Page:
        return self._as(Page, content)

    def _as(self, kind: type[T], content: Any) -> T:
        try:
            return typed(kind, content, may_be_newer=True)
        except (ValueError, TypeError, RecursionError) as error:
            raise self._client.odd(str(error)) from error

    def _asked(self, options: PageOptions) -> dict[str, str | Sequence[str]]:
        """Return options as the query of a URL."""
        asked = {name: texts_of(value) for name, value in plain(options).items()}
        return {"index": self.name, "explain": "true", **asked}

    def __iter__(self) -> Iterator[Paper]:
        for hit in self.iterate():
            yield hit.paper

    def __len__(self) -> int:
        return self.entry().papers

    def __repr__(self) -> str:
        return f"<index {self.name} of the service {self._client.url}>"

    def _repr_html_(self) -> str:
        entry = self.entry()
        return titled(self.name, {"service": self._client.url, "papers": f"{entry.papers:,}", "model": entry.model})


_TYPED = {option.name for option in search_options() if option.typed}


def plain(options: PageOptions) -> dict[str, Any]:
    """Return options as JSON holds them; those that are not given are left out.

    Raises `InputError` for what a service can't be given.
    """
    found: dict[str, Any] = {}
    for name, value in options.items():
        if value is None or value in ("", (), []) or (name == "synonyms" and not value):
            continue
        require(name in _TYPED, f"A service takes no {name}", f"leave <{name}> out: those of the service apply")
        found[name] = _plain(name, value)
    return found


def _plain(name: str, value: Any) -> Any:
    if name == "weights" and isinstance(value, Mapping):
        return [f"{leg}={weight!r}" for leg, weight in value.items()]
    if name in ("filter", "facets", "weights"):
        given = [value] if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else [None]
        require(
            all(isinstance(one, str) for one in given),
            f"A service takes {name} as text alone",
            f"write <{name}> as text",
        )
        return given
    if name == "boost" and not isinstance(value, str):
        return f"{value.field}={value.strength!r}"
    return str(value) if name in ("sort", "boost") else value


def texts_of(value: Any) -> str | list[str]:
    """Return a plain value as a URL holds it."""
    if isinstance(value, list):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)
