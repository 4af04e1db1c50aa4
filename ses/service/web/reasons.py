"""Why a hit was found, in a sentence, and the parts of its snippets that the query names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search_plugin.contract.legs import NEIGHBOURS, RERANKED
from search_plugin.contract.plan import LEXICAL

if TYPE_CHECKING:
    from gettext import NullTranslations

    from markupsafe import Markup

    from search_plugin.pages.highlights import Snippet
    from search_plugin.pages.hit import Hit


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
