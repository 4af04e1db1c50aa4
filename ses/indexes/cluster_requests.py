"""The requests of a page for other programs: what ses sends for it, or one request that the cluster answers alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from corpora.errors import InputError, require
from search_plugin.contract.plan import LEXICAL, Counting
from search_plugin.contract.schema import SPARSE
from search_plugin.contract.trace import Clock, recorded
from search_plugin.fusion.fusions import check_weights, rank_constant, shares
from search_plugin.ranking.feedback import FIRST_PAPERS
from search_plugin.ranking.neighbours import FIRST, NEAREST, POOL
from search_plugin.search import prepare_search, prepare_similar, rank_papers, run_stages
from ses.indexes.open_index import encoders_for, request_like, request_of

if TYPE_CHECKING:
    from search_plugin.contract.plan import Plan
    from search_plugin.engines.cluster.frontends.http import HttpRequest
    from search_plugin.engines.cluster.frontends.script import Joining, NeighbourVectors, PageScript, VectorWay
    from search_plugin.engines.cluster.index import ClusterIndex
    from search_plugin.ranking.state import SearchState
    from search_plugin.request import PageOptions, SearchRequest
    from ses.indexes.open_index import OpenIndex

OpenParameter = Literal["vector", "words"]
"""What the sender of the requests can fill: the query's vector, or its words."""

_BY_SES = ("sort", "expand", "feedback", "boost", "rerank", "collapse")
"""Options that ses follows between the requests."""

_JOINED = ("retrieve", "fuse")
"""The stages that find papers and join them."""

_OF_WORDS = (
    "vector.json holds the vector of the words, a JSON array of {dimension:,} numbers: POST /v1/encode of ses serve "
    "makes it, with the format qry."
)
_OF_PAPER = "vector.json holds the vector of the paper, a JSON array of {dimension:,} numbers."

_WITHOUT_NEIGHBOURS = (
    "In a search of ses, neighbours of the papers count too; here the cluster joins the legs, and no step of it reads "
    "the vectors of the papers found."
)
_NAMED = "ses moves up papers that the query names, and down those that match it weakly; these requests do not."
_ADDED = "Elasticsearch adds up the scores of the legs, so the order is not that of ses."

PAGE = 1_000
"""Papers that one request reads."""


@dataclass(frozen=True)
class Requests:
    """The requests of a page, for other programs to send.

    Attributes:
        script: The requests, and what is done with them.
        notes: What differs from the page of ses, and how the query was understood; one sentence each.
    """

    script: PageScript
    notes: tuple[str, ...] = ()

    @property
    def requests(self) -> tuple[HttpRequest, ...]:
        """The requests in their order."""
        return self.script.requests

    def text(self, language: str = "curl") -> str:
        """Return the requests in a language.

        Args:
            language: Its name, such as `curl`, `javascript`, `php`, `ruby` or `python`.

        Returns:
            A text that can be run as it is.

        Raises:
            InputError: If the language is unknown, or a line of it can't hold the requests.
        """
        from search_plugin.engines.cluster.frontends.languages.registry import get_language

        return get_language(language).write(self.script)


def cluster_requests(
    opened: OpenIndex,
    query: str,
    similar: str,
    parameters: Sequence[OpenParameter],
    options: PageOptions,
    vector: VectorWay | None = None,
) -> Requests:
    """Return the requests of a page; arguments and errors as of `ClusterTools.request`."""
    from search_plugin.engines.cluster.frontends.page_request import page_request
    from search_plugin.engines.cluster.frontends.query_vectors import query_vector
    from search_plugin.engines.cluster.frontends.recorded_requests import opened_for
    from search_plugin.engines.cluster.frontends.script import TERMS
    from search_plugin.engines.cluster.index import index_in_cluster

    index = index_in_cluster(opened.index)
    if index is None:
        raise InputError(f"The index {opened.index.name} is not in a cluster", "give <engine> as http://HOST:PORT")
    spelled = False
    if vector:
        _check_way(opened, similar, parameters, vector)
        # The program finds the spellings of its words, and the words of a table have its vectors.
        spelled = not options.get("verbatim")
        made: PageOptions = {"query_encoder": "table"} if vector in ("words", "table") else {}
        parameters, options = ("vector", "words"), {**made, **options, "verbatim": True}
    state = _asked(opened, query, similar, options)
    _check(state, parameters)
    # Those of the legs that there are.
    weight = _weight_of_neighbours(index, state, options)
    left_out = len(state.plan.legs) > 1 and state.request.join == "engine" and state.request.neighbours > 0
    state = replace(state, request=replace(state.request, weights=state.weights, neighbours=weight))
    if len(state.plan.legs) < 2 or state.request.join == "engine":
        added = len(state.plan.legs) > 1 and index.cluster.product.kind == "elasticsearch"
        named = state.meaning.preferences or state.meaning.papers
        notes = (*([_ADDED] if added else []), *([_NAMED] if named else []))
        found = _Page([page_request(index, state.plan, state.request)], notes=notes)
    else:
        found = _as_sent(index, replace(state, request=replace(state.request, join="ses")))
    script = _script(index, state.plan, found, parameters, similar, spelled=spelled)
    if vector:
        source = query_vector(index, vector, state.plan, state.request, FIRST_PAPERS)
        opened_source = source.request and opened_for(source.request, script.values, words=True, spelled=spelled)
        filled = (*script.parameters, *([TERMS] if vector == "words" else []))
        script = replace(script, parameters=filled, query_vector=replace(source, request=opened_source))
    alone = [_WITHOUT_NEIGHBOURS] if left_out else []
    return Requests(script, tuple(dict.fromkeys([*state.notes, *found.notes, *alone])))


def _check_way(opened: OpenIndex, similar: str, parameters: Sequence[OpenParameter], vector: VectorWay) -> None:
    """Raise `InputError` if a program can't make the vector of a query so."""
    from encoders.query_tables import table_for

    require(not similar, "The vector of a paper is in the cluster, so no program makes it", "leave <vector> out")
    require(not parameters, "A program that makes the vector takes the words as its argument", "leave <parameter> out")
    schema = opened.index.schema
    require(
        vector in ("feedback", "service") or table_for(schema.fingerprint),
        f"ses has no table for queries of the model {schema.model}",
        "choose <vector=feedback> or <vector=service>",
    )


def _asked(opened: OpenIndex, query: str, similar: str, options: PageOptions) -> SearchState:
    """Return what the search asks, before any leg has run."""
    if similar:
        unjoined: PageOptions = {"neighbours": 0.0, **options}
        return prepare_similar(opened.index, similar, request_like(opened, similar, unjoined), Clock())
    request = request_of(opened, query, options)
    return prepare_search(opened.index, request, encoders_for(opened, request), Clock())


def _weight_of_neighbours(index: ClusterIndex, state: SearchState, options: PageOptions) -> float:
    """Return how much neighbours count in a page whose legs its sender joins; `InputError` if they can't and must."""
    if state.request.join == "ses":
        # Papers with vectors of passages alone, which are an owner's, have no neighbours.
        whole = all(index.schema.leg(leg).unit == "paper" for leg in index.schema.legs[:1])
        return state.request.neighbours if whole else 0.0
    if options.get("neighbours") and len(state.plan.legs) > 1:
        raise InputError(
            "The cluster joins the legs in one request, so neighbours of the papers found can't count",
            "leave <neighbours> out, or choose <join=ses>",
        )
    return 0.0


def _check(state: SearchState, parameters: Sequence[OpenParameter]) -> None:
    """Raise `InputError` for what no request can hold."""
    plan, request = state.plan, state.request
    for name in _BY_SES:
        if getattr(request, name) and not (name == "sort" and plan.order):
            raise InputError(f"ses follows {name} itself, so no request to copy holds it", f"leave <{name}> out")
    if any(clause.field == SPARSE for clause in plan.vectors):
        raise InputError(
            "ses weighs the tokens of a query itself, so no request to copy holds sparse vectors",
            f"search without them by <weights={SPARSE}=0>",
        )
    if not plan.legs and not plan.order:
        raise InputError("The query only names papers, which ses reads by their ids", "search for words")
    if "vector" in parameters and not plan.vectors:
        raise InputError("This search has no vector, so it can't be a parameter", "leave it out")
    if "vector" in parameters and len({clause.vector.tobytes() for clause in plan.vectors}) > 1:
        raise InputError("This search has vectors of several models, so they can't be one parameter", "leave it out")
    if "words" in parameters and not plan.words:
        raise InputError("This search has no words, so they can't be a parameter", "leave it out")
    if "words" in parameters and plan.groups:
        raise InputError(
            "These words are searched in other spellings too, so they can't be a parameter", "give <verbatim>"
        )


@dataclass(frozen=True)
class _Page:
    """The requests of a page, in which the vector and the words are those of the search.

    Attributes:
        searches: What is sent first.
        papers: What is sent after the legs were joined.
        joining: How they are joined.
        neighbours: How neighbours count.
        values: The ids that were found.
        notes: What differs from the page of ses.
    """

    searches: list[HttpRequest]
    papers: HttpRequest | None = None
    joining: Joining | None = None
    neighbours: NeighbourVectors | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def _as_sent(index: ClusterIndex, state: SearchState) -> _Page:
    """Return the requests of the legs and of the papers as ses sends them; `InputError` if the page has no papers."""
    from search_plugin.engines.cluster.frontends.recorded_requests import leg_requests, papers_request
    from search_plugin.engines.cluster.frontends.script import FOUND, IDS, NEAR
    from search_plugin.ranking.stages import RANKING

    with recorded() as sent:
        state = run_stages(state, {name: RANKING[name] for name in _JOINED}, Clock())
    searches, legs = leg_requests(sent, index, state.plan)
    neighbours = _neighbours(index, state.request) if state.request.neighbours else None
    near = {NEAR: [hit.id for hit in state.ranking[:POOL]]} if neighbours else {}
    state = run_stages(state, {"neighbours": RANKING["neighbours"]}, Clock())
    request, found = state.request, [hit.id for hit in state.ranking]
    ids = found[request.offset : request.offset + request.size]
    require(
        request.size or request.facets, "The page has neither papers nor facets", "give a larger <size>, or a <facet>"
    )
    require(ids or (found and not request.size), "No paper was found for this page", "search for something else")
    require(len(ids) <= PAGE, f"A page of more than {PAGE:,} papers takes several requests", "give a smaller <size>")
    fields = dict.fromkeys(index.schema.facet(name).name for name in request.facets)
    # Also without facets, since programs show how many papers match.
    counting = Counting(state.plan, found, list(fields), request.facet_size)
    with recorded() as sent:
        index.fetch(ids, counting)
    papers = papers_request(sent, index, request, counting, ids)
    notes = []
    if [hit.id for hit in rank_papers(state, Clock()).ranking] != found:
        notes.append(_NAMED)
    if len(searches) > 1:
        notes.append("The vectors are in another index, so papers that were deleted since leave gaps in the page.")
    joining = _joining(index, request, legs)
    return _Page(searches, papers, joining, neighbours, {IDS: ids, FOUND: found, **near}, tuple(notes))


def _neighbours(index: ClusterIndex, request: SearchRequest) -> NeighbourVectors:
    """Return how a program lets neighbours count."""
    from search_plugin.engines.cluster.frontends.recorded_requests import vectors_request
    from search_plugin.engines.cluster.frontends.script import NeighbourVectors
    from search_plugin.engines.cluster.passages import path_of

    field = index.schema.leg(index.schema.legs[0])
    (name,) = index.translated({"fields": [path_of(field)]})["fields"]
    return NeighbourVectors(
        weight=request.neighbours,
        pool=POOL,
        nearest=NEAREST,
        first=FIRST,
        field=name,
        scaled=request.fusion == "minmax",
        request=vectors_request(index, field, POOL),
    )


def _joining(index: ClusterIndex, request: SearchRequest, legs: Sequence[str]) -> Joining:
    """Return how the sender joins legs; `InputError` for a fusion that the programs have no code for."""
    from search_plugin.engines.cluster.frontends.script import Joining

    constant = rank_constant(request.fusion)
    require(
        constant or request.fusion == "minmax",
        f"There is no code to join legs by {request.fusion}",
        "choose <fusion=minmax> or <fusion=rrf>",
    )
    weights = check_weights(legs, request.weights) if constant else shares(legs, request.weights)
    measures = [None if leg == LEXICAL else index.schema.leg(leg).similarity for leg in legs]
    return Joining(tuple(weights.values()), tuple(measures), constant, request.window, request.offset, request.size)


def _script(
    index: ClusterIndex, plan: Plan, page: _Page, parameters: Sequence[OpenParameter], similar: str, *, spelled: bool
) -> PageScript:
    """Return what other programs have to do for a page."""
    from search_plugin.engines.cluster.frontends.http import as_plain
    from search_plugin.engines.cluster.frontends.page_request import is_counted_apart
    from search_plugin.engines.cluster.frontends.recorded_requests import opened_for
    from search_plugin.engines.cluster.frontends.script import VECTOR, WORDS, PageScript
    from search_plugin.engines.cluster.product import split_hosts

    values = dict(page.values)
    if plan.vectors:
        # The same digits as in the requests.
        values[VECTOR] = as_plain(plan.vectors[0].vector)
    if plan.words:
        values[WORDS] = plan.words
    cluster = index.cluster
    opened = {"words": "words" in parameters, "spelled": spelled}
    made_by = _OF_PAPER if similar else _OF_WORDS
    return PageScript(
        url=split_hosts(cluster.url)[0],
        index=index.name,
        product=cluster.product.kind,
        scheme=cluster.connection.authorization.partition(" ")[0],
        certificates=cluster.connection.ca_file is not None,
        searches=tuple(opened_for(one, values, **opened) for one in page.searches),
        papers=page.papers and opened_for(page.papers, values, **opened),
        joining=page.joining,
        neighbours=page.neighbours,
        values=values,
        parameters=tuple(dict.fromkeys(parameters)),
        vector_from=made_by.format(dimension=plan.vectors[0].vector.size) if plan.vectors else "",
        counted_apart=page.papers is None and is_counted_apart(plan),
        spelled=spelled,
    )
