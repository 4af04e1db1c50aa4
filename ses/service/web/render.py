"""Render the templates of the web page, in the language of the request."""

from __future__ import annotations

import functools
import io
from gettext import NullTranslations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from fastapi import Request, Response

from ses.service.web.reasons import snippet_parts, why
from ses.service.web.static_files import logo_of, static_file

if TYPE_CHECKING:
    from jinja2 import Environment

HERE = Path(__file__).parent
LOCALE = HERE / "locale"
"""Folder of the translations: `de.po` and so on."""

SOURCE = "en"
"""Language in which the templates are written."""


@functools.cache
def languages() -> tuple[str, ...]:
    """Return the languages in which there are texts, the one of the templates first."""
    return (SOURCE, *sorted(path.stem for path in LOCALE.glob("*.po")))


@functools.cache
def translations(language: str) -> NullTranslations:
    """Return the texts of a language of `languages`; those of the templates themselves where it is theirs."""
    if language == SOURCE:
        return NullTranslations()
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po
    from babel.support import Translations

    with (LOCALE / f"{language}.po").open("rb") as file:
        catalog = read_po(file, locale=language)
    compiled = io.BytesIO()
    write_mo(compiled, catalog)
    compiled.seek(0)
    return Translations(compiled)


def language_of(request: Request) -> str:
    """Return the language in which a request is answered.

    It is the parameter `lang`, else the language among `languages` that the browser prefers (`Accept-Language`).
    """
    from babel import negotiate_locale

    asked = request.query_params.get("lang", "")
    preferred = [asked, *_accepted(request.headers.get("accept-language", ""))]
    return negotiate_locale([one for one in preferred if one], languages(), sep="-") or SOURCE


def _accepted(header: str) -> list[str]:
    """Return the languages of a header `Accept-Language` (RFC 9110, section 12.5.4), the preferred one first."""
    weighted = []
    for part in header[:1_000].split(","):
        name, _, weight = part.partition(";")
        try:
            value = float(weight.strip().removeprefix("q=") or 1)
        except ValueError:
            value = 0.0
        if name.strip() and value > 0:
            weighted.append((value, name.strip()))
    return [name for _, name in sorted(weighted, key=lambda one: -one[0])]


def texts_of(request: Request) -> NullTranslations:
    """Return the texts in the language of a request: `gettext` and `ngettext` of Python code."""
    return translations(language_of(request))


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
    )
    made.install_gettext_translations(translations(language), newstyle=True)  # type: ignore[attr-defined]  # of the extension
    made.filters["parts"] = snippet_parts
    made.filters["why"] = functools.partial(why, texts=translations(language))
    made.filters["number"] = lambda value, form=None: format_decimal(value, form, locale=language.replace("-", "_"))
    made.filters["percent"] = functools.partial(format_percent, locale=language.replace("-", "_"))
    return made


def html(request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
    """Return a page of HTML.

    Args:
        request: The request that it answers; its service and the path under which a proxy serves it.
        template: Name of the template, such as `search.html`.
        status: Status of the response.
        **values: What the template shows.

    Returns:
        The response.
    """
    base, site = request.scope.get("root_path", ""), request.app.state.service.settings.site
    language, asked = language_of(request), request.query_params.get("lang", "")
    shared = {
        "base": base,
        "home": f"{base}/?lang={language}" if asked else f"{base}/",
        "kept": [("lang", language)] if asked else [],
        "language": language,
        "logo": f"{base}{logo.address}" if (logo := logo_of(site.logo)) else "",
        "request": request,
        "site": site,
        "static": functools.partial(static_file, accent=site.accent),
    }
    text = environment(language).get_template(template).render({**shared, **values})
    headers = {"Content-Language": language, "Vary": "Accept-Language"}
    return Response(text, status, headers, media_type="text/html; charset=utf-8")


def problem_page(request: Request, reply: Response) -> Response:
    """Return a problem (`ses.service.problems`) as a page for a browser; other clients get it as it is."""
    path = request.scope["path"]
    if path.startswith("/v1/") or "text/html" not in request.headers.get("accept", ""):
        return reply
    page = html(request, "problem.html", status=reply.status_code, problem=orjson.loads(reply.body))
    kept = {name: value for name, value in reply.headers.items() if name not in ("content-type", "content-length")}
    page.headers.update(kept)
    return page
