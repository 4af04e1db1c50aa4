"""Names of values for readers: languages, types of papers and identifiers, in the reader's language."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from gettext import NullTranslations

_PLAIN = frozenset({"journal article", "article", "journal-article", "retracted publication"})
"""Types that get no label: most papers are of them, or a label of its own says it."""

IDENTIFIERS: Mapping[str, str] = {
    "doi": "DOI",
    "pmid": "PubMed",
    "pmcid": "PubMed Central",
    "arxiv": "arXiv",
    "issn": "ISSN",
    "isbn": "ISBN",
    "openalex": "OpenAlex",
    "s2": "Semantic Scholar",
    "mag": "MAG",
    "eid": "Scopus",
}
"""Names of identifiers, the same in all languages."""


@functools.lru_cache(1000)
def language_name(code: str, reader: str) -> str:
    """Return the name of a language in the reader's language; the code itself if it is none of ISO 639."""
    from babel import Locale
    from babel.core import get_global

    names = Locale.parse(reader, sep="-").languages
    low = code.strip().lower()
    name: str | None = names.get(low) or names.get(str(get_global("language_aliases").get(low, "")))
    return name[0].upper() + name[1:] if name else code


@functools.cache
def _kinds(texts: NullTranslations) -> Mapping[str, str]:
    _ = texts.gettext
    return {
        "journal article": _("Article"),
        "article": _("Article"),
        "journal-article": _("Article"),
        "review": _("Review"),
        "systematic review": _("Systematic review"),
        "meta-analysis": _("Meta-analysis"),
        "clinical trial": _("Clinical trial"),
        "randomized controlled trial": _("Randomised trial"),
        "observational study": _("Observational study"),
        "case reports": _("Case report"),
        "letter": _("Letter"),
        "editorial": _("Editorial"),
        "comment": _("Comment"),
        "preprint": _("Preprint"),
        "posted-content": _("Preprint"),
        "book": _("Book"),
        "book-chapter": _("Book chapter"),
        "proceedings-article": _("Conference paper"),
        "published erratum": _("Erratum"),
        "guideline": _("Guideline"),
        "practice guideline": _("Guideline"),
        "retracted publication": _("Retracted"),
        "dataset": _("Data set"),
        "dissertation": _("Thesis"),
    }


def kind_name(kind: str, texts: NullTranslations) -> str:
    """Return the name of a type of papers in the reader's language, where it is known."""
    return _kinds(texts).get(kind.strip().lower(), kind)


def notable_kind(kinds: Sequence[str], texts: NullTranslations) -> str:
    """Return the one type of a paper that is worth a label; empty if it is an article as most are."""
    known = _kinds(texts)
    plain = (kind.strip().lower() for kind in kinds)
    return next((known[kind] for kind in plain if kind in known and kind not in _PLAIN), "")


def value_text(value: object) -> str:
    """Return a value of a field as filters and addresses write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def value_name(field: str, value: str, reader: str, texts: NullTranslations) -> str:
    """Return the name of a value of a field for readers; the value itself where there is no other."""
    if field == "language":
        return language_name(value, reader)
    if field == "types":
        return kind_name(value, texts)
    if value in ("true", "false"):
        return texts.gettext("Yes") if value == "true" else texts.gettext("No")
    return value


def identifier_name(kind: str) -> str:
    """Return the name of a kind of identifiers for readers."""
    return IDENTIFIERS.get(kind.lower(), kind)
