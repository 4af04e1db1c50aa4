"""Render the templates of the web page, in the language of the request."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from gettext import NullTranslations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from fastapi import Request, Response

from search_plugin.contract.legs import NEIGHBOURS, RERANKED
from search_plugin.contract.plan import LEXICAL
from search_plugin.pages.hit import unshown_sentence
from ses.service.http_layer import path_within
from ses.service.web.address import PageAddress, address, same_path, unapi_id
from ses.service.web.histogram import drawn
from ses.service.web.languages import SOURCE, choose, languages, own_name, translations
from ses.service.web.static_files import logo_of, static_file
from ses.service.web.value_names import identifier_name, notable_kind, value_name

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from search_plugin.pages.highlights import Snippet
    from search_plugin.pages.hit import Hit
    from ses.service.settings import SiteSettings


HERE = Path(__file__).parent

_FOR_PROGRAMS = ("/v1/", "/v2/", "/mcp")
"""Beginnings of paths whose problems are never pages."""


def offered(request: Request) -> tuple[str, ...]:
    """Return the languages that the site offers; the first is for readers of other languages."""
    site: SiteSettings = request.app.state.service.settings.site
    return site.languages or languages()


def language_of(request: Request) -> str:
    """Return the language in which a request is answered.

    It is the parameter `lang`, else the language among those offered that the browser prefers (`Accept-Language`).
    """
    header = ",".join(request.headers.getlist("accept-language"))
    return choose(offered(request), request.query_params.get("lang", ""), header)


def texts_of(request: Request) -> NullTranslations:
    """Return the texts in the language of a request: `gettext` and `ngettext` of Python code."""
    return translations(language_of(request))


@dataclass(frozen=True, slots=True)
class PageReader:
    """Who reads a page: the language, and the texts in it."""

    language: str
    texts: NullTranslations

    def named(self, field: str, value: str) -> str:
        """Return the name of a value of a field in the reader's language."""
        return value_name(field, value, self.language, self.texts)


def reader_of(request: Request) -> PageReader:
    """Return who reads the answer to a request."""
    return PageReader(language_of(request), texts_of(request))


@functools.cache
def environment(language: str = SOURCE) -> Environment:
    """Return the environment of all templates in a language: it escapes what they print; unknown names are errors."""
    from babel.numbers import format_decimal, format_percent
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
        auto_reload=False,  # a running service would look at each file of a page
    )
    texts = translations(language)
    made.globals.update(_=_escaped(texts), ngettext=_escaped_of_number(texts), address=address, unapi_id=unapi_id)
    made.filters["marked"] = with_marks
    made.filters["unshown"] = unshown_sentence
    made.filters["notable"] = functools.partial(notable_kind, texts=texts)
    made.filters["named"] = lambda value, field: value_name(field, str(value), language, texts)
    made.filters["identifier"] = identifier_name
    made.filters["why"] = functools.partial(why, texts=texts)
    # A page of hits has more than a hundred numbers, most of them more than once.
    made.filters["number"] = functools.lru_cache(5000)(
        functools.partial(format_decimal, locale=language.replace("-", "_"))
    )
    made.filters["bars"] = functools.partial(drawn, number=made.filters["number"])
    made.filters["percent"] = functools.partial(format_percent, locale=language.replace("-", "_"))
    return made


def _escaped(texts: NullTranslations) -> Callable[..., Markup]:
    """Return `_` of the templates; jinja's own takes three calls more, and a page of hits has hundreds of texts."""
    from markupsafe import Markup

    def gettext(text: str, **values: object) -> Markup:
        return Markup(texts.gettext(text)) % values  # noqa: S704 - texts are our own

    plain = functools.cache(gettext)
    return lambda text, **values: gettext(text, **values) if values else plain(text)


def _escaped_of_number(texts: NullTranslations) -> Callable[..., Markup]:
    from markupsafe import Markup

    def ngettext(one: str, many: str, num: int, **values: object) -> Markup:
        return Markup(texts.ngettext(one, many, num)) % {"num": num, **values}  # noqa: S704 - as above

    return ngettext


def _page_of(base: str, kept: Mapping[str, str], path: str, *, name: str = "", **parameters: Any) -> str:
    """Return the address of another page, in the language that the reader chose."""
    return f"{base}{address(path, name=name, **parameters, **kept)}"


def html(request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
    """Return a page of HTML: the template, such as `search.html`, with values.

    The request that it answers has the service and the path under which a proxy serves it.
    """
    base, site = request.scope.get("root_path", ""), request.app.state.service.settings.site
    public = request.app.state.service.settings.public_url.rstrip("/")
    language, asked = language_of(request), request.query_params.get("lang", "")
    kept = [("lang", language)] if asked else []
    path = same_path(path_within(request.scope))
    rest = tuple(pair for pair in request.query_params.multi_items() if pair[0] != "lang")
    places = {one: PageAddress(path, (*rest, ("lang", one))) for one in offered(request)}
    shared = {
        # Pages with parameters are not listed by search engines; and a host that a client names is no address of ours.
        "alternates": [(one, f"{public}{place}") for one, place in places.items()] if public and not rest else [],
        "base": base,
        "index_name": request.query_params.get("index", ""),  # links to other pages keep it
        "home": PageAddress(f"{base}/", tuple(kept)),
        "kept": kept,
        "page_of": functools.partial(_page_of, base, dict(kept)),
        "languages": {one: (own_name(one), f"{base}{place}") for one, place in places.items()},
        "language": language,
        "logo": f"{base}{logo.address}" if (logo := logo_of(site.logo)) else "",
        "request": request,
        "site": site,
        "static": functools.partial(static_file, accent=site.accent),
    }
    text = environment(language).get_template(template).render({**shared, **values})
    headers = {"Content-Language": language, "Vary": "Accept-Language"}
    return Response(text, status, headers, media_type="text/html; charset=utf-8")


def _gone(request: Request, reply: Response) -> str | None:
    """Return the identifier of a paper that was asked for and is not here; None if something else is wrong."""
    page, _, name = path_within(request.scope).lstrip("/").partition("/")
    if reply.status_code != 404:
        return None
    if page in ("papers", "similar"):
        return name
    return request.query_params.get("id") if page == "cite" else None


def problem_page(request: Request, reply: Response) -> Response:
    """Return a problem (`ses.service.problems`) as a page for a browser; other clients get it as it is."""
    if path_within(request.scope).startswith(_FOR_PROGRAMS) or "text/html" not in request.headers.get("accept", ""):
        return reply
    shown = {"problem": orjson.loads(reply.body), "gone": _gone(request, reply)}
    # There may be no such index, so links do not keep it.
    page = html(request, "problem.html", status=reply.status_code, index_name="", **shown)
    kept = {name: value for name, value in reply.headers.items() if name not in ("content-type", "content-length")}
    page.headers.update(kept)
    return page


def why(hit: Hit, *, texts: NullTranslations) -> str:
    """Return why a hit was found: what the query named it by, else which legs found it; empty if that is not known."""
    _ = texts.gettext
    named = {"title": _("The query is its title"), "author": _("The query names an author of it")}
    if hit.known_by:
        return named.get(hit.known_by) or _("The query names it by its %(name)s") % {"name": hit.known_by}
    by_words, by_meaning = LEXICAL in hit.legs, bool(hit.legs.keys() - {LEXICAL, NEIGHBOURS, RERANKED})
    if by_words and by_meaning:
        return _("Matches in words and in meaning")
    if by_words:
        return _("Matches in words")
    return _("Matches in meaning") if by_meaning else ""


def with_marks(snippet: Snippet) -> Markup:
    """Return a snippet as HTML, with marks around its matches."""
    from markupsafe import Markup, escape

    parts, done = [], 0
    for start, end in snippet.spans:
        parts.append(f"{escape(snippet.text[done:start])}<mark>{escape(snippet.text[start:end])}</mark>")
        done = end
    return Markup("".join([*parts, escape(snippet.text[done:])]))  # noqa: S704 - each part is escaped
