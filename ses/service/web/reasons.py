"""Why a hit was found, in a sentence, and the parts of its snippets that the query names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from search_plugin.contract.legs import RERANKED
from search_plugin.contract.plan import LEXICAL

if TYPE_CHECKING:
    from gettext import NullTranslations

    from search_plugin.pages.highlights import Snippet
    from search_plugin.pages.hit import Hit


def why(hit: Hit, *, texts: NullTranslations) -> str:
    """Return why a hit was found: what the query named it by, else which legs found it; empty if that is not known."""
    _ = texts.gettext
    named = {"title": _("The query is its title"), "author": _("The query names an author of it")}
    if hit.known_by:
        return named.get(hit.known_by) or _("The query names it by its %(name)s") % {"name": hit.known_by}
    by_words, by_meaning = LEXICAL in hit.legs, bool(hit.legs.keys() - {LEXICAL, RERANKED})
    if by_words and by_meaning:
        return _("Matches in words and in meaning")
    if by_words:
        return _("Matches in words")
    return _("Matches in meaning") if by_meaning else ""


def snippet_parts(snippet: Snippet) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a snippet in order, each with whether it is a match."""
    done = 0
    for start, end in snippet.spans:
        yield snippet.text[done:start], False
        yield snippet.text[start:end], True
        done = end
    yield snippet.text[done:], False
