"""Pages of hits and papers as HTTP responses.

Each page of the web page has a twin for programs under its address with `.json`. It takes the page's parameters and
those of `Shown`, and answers by `page_answer`, `paper_answer` or `json_response`; see `ses.service.web.search`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields as attributes_of
from typing import Any
from urllib.parse import urlencode

import orjson
from fastapi import Request, Response

from corpora.errors import InputError, NotFoundError, require
from corpora.identifiers import identifier_of, link_of
from corpora.paper import Paper
from corpora.url_names import unescaped_name
from search_plugin.contract.schema import Field
from search_plugin.pages.hit import Hit
from search_plugin.pages.page import FORMATS, Page
from search_plugin.request import MAX_WINDOW
from ses.argument_validation import nearest
from ses.service.cursors import ReadPage
from ses.service.negotiation import JSON, AnswerFormat, chosen_format, etag_of, unless_kept
from ses.service.service import Service

_PAPER = tuple(one.name for one in attributes_of(Paper))
_OF_HITS: Mapping[str, Callable[[Hit], Any]] = {
    "score": lambda hit: hit.score,
    "snippets": lambda hit: hit.snippets,
    "collapsed": lambda hit: hit.collapsed,
    "known_by": lambda hit: hit.known_by,
    "weak": lambda hit: hit.weak,
    "versions": lambda hit: hit.versions,
    "sentence": lambda hit: hit.sentence,
    "link": lambda hit: hit.link,
    "doi": lambda hit: hit.doi,
    "legs": lambda hit: hit.legs,
}
"""What a hit shows beside its rank and its paper, by name and in this order."""
_NOT_IN_STAGE_NAMES = re.compile(r"[^\w!#$%&'*+.^`|~-]", re.ASCII)
_NOT_IN_FILE_NAMES = re.compile(r"[^\w.-]+", re.ASCII)


def json_response(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return values, dataclasses among them, as a JSON response."""
    return Response(orjson.dumps(content, default=_plain), status, headers, media_type=JSON.media_type)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value))


def page_content(page: Page, *, fields: Sequence[str] = (), explain: bool = False) -> dict[str, Any]:
    """Return a page as values for `json_response`, with the link and the DOI of each hit.

    They are those of `Page.to_dict`, in the same order; dataclasses stay, since orjson writes them faster than `asdict`
    copies them. `fields` are what a hit holds beside its rank and the id of its paper, as `check_fields` allows;
    without any, everything but the legs. `explain` shows what each leg gave to a hit, the time of each stage and the
    requests to a cluster.
    """
    content = {one.name: getattr(page, one.name) for one in attributes_of(page)}
    shown = [
        name for name in _OF_HITS if (name in fields if fields else name != "legs") or (explain and name == "legs")
    ]
    content["hits"] = [
        {"rank": hit.rank, "paper": paper_content(hit.paper, fields)} | {name: _OF_HITS[name](hit) for name in shown}
        for hit in page.hits
    ]
    if not explain:
        del content["milliseconds"], content["requests"]
    return content


def paper_content(paper: Paper, fields: Sequence[str] = ()) -> Paper | dict[str, Any]:
    """Return the attributes of a paper that `fields` names, and its id; the paper itself if none is named.

    The names are those of attributes, and of values of `extra`; what is returned is for `json_response`.
    """
    if not fields:
        return paper
    content = {name: getattr(paper, name) for name in _PAPER if name == "id" or name in fields}
    if "extra" not in fields and any(name not in _PAPER and name not in _OF_HITS for name in fields):
        content["extra"] = {name: value for name, value in paper.extra.items() if name in fields}
    return content


def check_fields(names: Sequence[str], known: Sequence[Field]) -> None:
    """Raise `InputError` for a name that no hit of an index holds; `known` are the index's fields."""
    allowed = dict.fromkeys([*_PAPER, *_OF_HITS, "rank", *(one.name for one in known)])
    for name in names:
        near = nearest(name, allowed)
        require(
            name in allowed,
            f"A hit holds no field {name[:80]!r}{near}{'.' if near else ''}",
            "" if near else f"choose <fields> from {', '.join(allowed)}",
        )


def page_answer(
    request: Request, service: Service, asked: Any, make: Callable[[], Page], *, file: str = "papers"
) -> Response:
    """Return the page that a client asks for, in the format that it asks for, or 304 if it has the page already.

    `asked` are the request's parameters, `SearchInput` or `SimilarInput`; `make` finds the page, and a browser saves it
    under the name `file`, with the format's ending. Raises `InputError` if a field to show is unknown, or can't be
    chosen in this format.
    """
    chosen = _chosen(request, service, asked)

    def answer() -> Response:
        page = make()
        headers = {"Server-Timing": server_timing(page.milliseconds), "Vary": "Accept"}
        if request.method == "GET" and (links := ", ".join(_links(request, page, asked))):
            headers["Link"] = links
        if chosen is JSON:
            return json_response(page_content(page, fields=asked.fields, explain=asked.explain), headers=headers)
        return _file(page.format(chosen.name), chosen, file, headers)

    if request.method != "GET":
        return answer()
    return unless_kept(request, etag_of(request, service.revision(asked.index), chosen.name), answer)


def read_answer(request: Request, service: Service, asked: Any, read: ReadPage, *, file: str) -> Response:
    """Return a page of all results, with the cursor of the next one.

    `asked` are the request's parameters, of which `cursor` is one; `file` is as of `page_answer`.
    """
    chosen = _chosen(request, service, asked)
    headers = {"Server-Timing": server_timing(read.page.milliseconds), "Vary": "Accept", "Cache-Control": "no-store"}
    if read.next_cursor:
        headers["Link"] = _link(request, "next", cursor=read.next_cursor)
    if chosen is not JSON:
        return _file(read.page.format(chosen.name), chosen, file, headers)
    content = page_content(read.page, fields=asked.fields, explain=asked.explain)
    following = {"next_cursor": read.next_cursor} if read.next_cursor else {}
    return json_response({**content, **following}, headers=headers)


def paper_name(service: Service, index: str, path: str) -> str:
    """Return the id, or another identifier, that the end of a path names.

    `escaped_name` escapes some twice, since proxies would change them; other programs escape every id once.
    """
    name = unescaped_name(path)
    if name == path:
        return path
    try:
        service.opened(index).find(name)
    except NotFoundError:
        return path
    return name


def paper_answer(request: Request, service: Service, asked: Any, name: str) -> Response:
    """Return a paper by its id or another identifier, and others that share the identifier; or 304.

    `asked` are the request's `PaperParameters`, and `name` is the identifier, as the end of the path. Raises
    `NotFoundError` if the index holds no such paper, and `InputError` if a field to show is unknown, or can't be chosen
    in this format.
    """
    chosen = _chosen(request, service, asked)

    def answer() -> Response:
        first, *others = service.opened(asked.index).find(paper_name(service, asked.index, name))
        if chosen is JSON:
            content = {
                "paper": paper_content(first, asked.fields),
                "link": link_of(first),
                "doi": identifier_of(first, "doi"),
                "others": [paper_content(paper, asked.fields) for paper in others],
            }
            return json_response(content, headers={"Vary": "Accept"})
        text = FORMATS[chosen.name](as_hits([first, *others]))
        return _file(text, chosen, first.id, {"Vary": "Accept"})

    return unless_kept(request, etag_of(request, service.revision(asked.index), chosen.name), answer)


def _chosen(request: Request, service: Service, asked: Any) -> AnswerFormat:
    """Return the format of the answer; `InputError` if the fields to show can't be shown in it."""
    chosen = chosen_format(request, asked.format)
    if asked.fields:
        check_fields(asked.fields, service.opened(asked.index).index.schema.fields)
    for name, given in (("fields", asked.fields), ("explain", asked.explain)):
        if given and chosen is not JSON:
            raise InputError(f"{name} is for JSON, and not for {chosen.name}", "leave it out, or ask for <format=json>")
    return chosen


def saved_as(name: str, chosen: AnswerFormat) -> dict[str, str]:
    """Return the header that lets a browser save an answer as a file (RFC 6266); its ending is that of the format."""
    safe = _NOT_IN_FILE_NAMES.sub("-", name).strip("-.")[:80] or "paper"
    return {"Content-Disposition": f'attachment; filename="{safe}.{chosen.suffix}"'}


def as_hits(papers: Sequence[Paper]) -> tuple[Hit, ...]:
    """Return papers as hits, ranked as they are, which is what formats take."""
    return tuple(Hit(rank, paper, 0.0, {}, ()) for rank, paper in enumerate(papers, start=1))


def _file(text: str, chosen: AnswerFormat, name: str, headers: Mapping[str, str]) -> Response:
    return Response(text, headers={**headers, **saved_as(name, chosen)}, media_type=chosen.media_type)


def server_timing(milliseconds: Mapping[str, float]) -> str:
    """Return the time of each stage as the header `Server-Timing` (W3C), which tools of browsers show."""
    return ", ".join(
        f"{_NOT_IN_STAGE_NAMES.sub('_', stage)};dur={spent:.2f}"
        for stage, spent in milliseconds.items()
        if spent >= 0.01
    )


def _links(request: Request, page: Page, asked: Any) -> Iterator[str]:
    """Yield the links to the pages before and after one (RFC 8288), relative to its own address.

    All addresses of neighbouring pages are made here.
    """
    size, offset = page.size, asked.offset
    end = min(page.candidates, page.window if page.mode == "vector" and page.query else MAX_WINDOW)
    if size and offset + size < end:
        yield _link(request, "next", offset=offset + size, size=min(size, end - offset - size))
    if size and offset:
        yield _link(request, "prev", offset=max(0, offset - size), size=min(size, offset))


def _link(request: Request, relation: str, **other: int | str) -> str:
    kept = [(name, value) for name, value in request.query_params.multi_items() if name not in other]
    return f'<?{urlencode([*kept, *other.items()])}>; rel="{relation}"'
