"""The requests that ses has sent for a page, as requests that other programs can send again for another query."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from search_plugin.contract.plan import LEXICAL, Counting, Plan
from search_plugin.contract.schema import ForeignField, VectorField
from search_plugin.contract.trace import Sent
from search_plugin.engines.cluster.attached.index import AttachedIndex
from search_plugin.engines.cluster.dialect import as_json
from search_plugin.engines.cluster.documents import among
from search_plugin.engines.cluster.frontends.http import HttpRequest, Parameter, SpelledWords, as_plain, replaced
from search_plugin.engines.cluster.frontends.page_request import highlights
from search_plugin.engines.cluster.frontends.script import FOUND, IDS, NEAR, VECTOR, WORDS
from search_plugin.engines.cluster.index import ClusterIndex
from search_plugin.engines.cluster.passages import path_of
from search_plugin.request import SearchRequest

_SEVERAL = "/_msearch"


def leg_requests(sent: Sequence[Sent], index: ClusterIndex, plan: Plan) -> tuple[list[HttpRequest], list[str]]:
    """Return the requests that search the legs of a plan, and the legs in the order of the replies."""
    requests: list[HttpRequest] = []
    legs: list[str] = []
    vectors = iter([clause.field for clause in plan.vectors])
    # Where vectors are in another index, ses also asks which of its papers are still in the first one.
    for one in sent:
        if one.path.endswith(_SEVERAL):
            lines = _lines(one)
            legs += [LEXICAL if "search_type" in header else next(vectors) for header in lines[::2]]
            requests.append(HttpRequest("POST", _address(one.path, index), lines, "The legs: ids and scores"))
    return requests, legs


def vectors_request(index: ClusterIndex, field: VectorField, pool: int) -> HttpRequest:
    """Return the request that reads the vectors of some papers, `pool` at most, whose ids are a parameter.

    Of an attached index, the field of the vectors may be in an index beside it.
    """
    own = isinstance(index, AttachedIndex) and not isinstance(field, ForeignField)
    beside = index.companion if isinstance(index, AttachedIndex) and own else None
    holder, address = (beside, beside.physical) if beside else (index, index.address)
    mark = uuid.uuid4().hex
    search = {**among([mark]), "size": pool, "_source": False, "fields": ["id", path_of(field)]}
    body = replaced(holder.translated(search), _opened([mark], NEAR))
    path = f"/{address}/_search?allow_partial_search_results=false"
    return HttpRequest("POST", path, body, "The vectors of the best papers")


def papers_request(
    sent: Sequence[Sent], index: ClusterIndex, request: SearchRequest, counting: Counting, ids: Sequence[str]
) -> HttpRequest:
    """Return the request that reads the papers of a page and counts what matches, with marked words.

    It is the last search that counts of those that `Index.fetch` has sent for the papers and the counts. The ids of the
    page, and those of all papers found, become parameters; facets have the names that the request gives them.
    """
    one = next(one for one in sent if one.path.endswith(_SEVERAL))
    lines = [*_lines(one)]
    for at, body in enumerate(lines):
        if "aggs" in body:
            counts = {name: body["aggs"][index.schema.facet(name).name] for name in request.facets}
            lines[at] = replaced({**body, "aggs": counts}, _opened(list(counting.found), FOUND))
        elif "query" in body:
            # The id in a column has the same place in the hits of the legs.
            column = (
                {"docvalue_fields": ["id"]}
                if index.translated({"docvalue_fields": ["id"]}).get("docvalue_fields")
                else {}
            )
            lines[at] = {
                **replaced(body, _opened(list(ids), IDS)),
                "size": request.size,
                **column,
                **highlights(index, counting.plan),
            }
    return HttpRequest("POST", _address(one.path, index), tuple(lines), "The papers of the page, and its counts")


def opened_for(request: HttpRequest, values: Mapping[str, Any], *, words: bool, spelled: bool = False) -> HttpRequest:
    """Return a request in which the vector is a parameter, and the words if they are to be one.

    Where the sender finds other spellings of its words, it makes the whole query for them (`SpelledWords`).
    """

    def change(part: Any) -> Any:
        if VECTOR in values and part == values[VECTOR]:
            return Parameter(VECTOR)
        if words and isinstance(part, Mapping) and part.get("query") == values[WORDS]:
            return {**part, "query": Parameter(WORDS, "text")}
        return _matching(part) or part if spelled else part

    body = request.body
    lines = body if isinstance(body, tuple) else (as_plain(body),)
    opened = tuple(replaced(line, change) for line in lines)
    return HttpRequest(request.method, request.path, opened if isinstance(body, tuple) else opened[0], request.why)


def _matching(part: Any) -> SpelledWords | None:
    """Return the place of a query for the words, as ses sends it to one of its indexes or to an attached one."""
    match part:
        case {"match": {**by_field}} if len(by_field) == 1:
            ((field, clause),) = by_field.items()
            fields: tuple[str, ...] = (str(field),)
        case {"multi_match": {"fields": [*named]} as clause}:
            fields = tuple(map(str, named))
        case _:
            return None
    if not isinstance(clause, Mapping) or clause.get("query") != Parameter(WORDS, "text"):
        return None
    return SpelledWords(fields, clause.get("boost", 1.0))


def _opened(value: list[str], name: str) -> Callable[[Any], Any]:
    return lambda part: Parameter(name) if part == value else part


def _lines(one: Sent) -> tuple[Any, ...]:
    body = one.body if isinstance(one.body, bytes) else as_json(one.body)
    return tuple(map(orjson.loads, body.splitlines()))


def _address(path: str, index: ClusterIndex) -> str:
    """Return a path with the name that stays the same when another generation is published."""
    return path.replace(f"/{index.physical}/", f"/{index.address}/", 1)
