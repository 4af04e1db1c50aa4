"""The languages of the web page: which there are, which one a reader gets, and its texts."""

from __future__ import annotations

import functools
import io
from collections.abc import Sequence
from gettext import NullTranslations
from pathlib import Path

LOCALE = Path(__file__).parent / "locale"
"""Folder of the catalogues: `de.po` and so on."""

SOURCE = "en"
"""Language in which the templates are written."""

_LONGEST = 1_000
"""Characters of a header that are read."""


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


@functools.cache
def own_name(language: str) -> str:
    """Return the name of a language in that language, such as `Deutsch`."""
    from babel import Locale

    name = Locale.parse(language).get_display_name(language) or language
    return name[0].upper() + name[1:]


def choose(offered: Sequence[str], asked: str, header: str) -> str:
    """Return the language for a reader, one of those offered: the first is for readers of other languages.

    `asked` is the language that the reader chose on the page, and `header` the browser's `Accept-Language`; both may be
    empty.
    """
    from babel import negotiate_locale

    wanted = [asked, *accepted(header)] if asked else accepted(header)
    return negotiate_locale(wanted, offered, sep="-") or offered[0]


def accepted(header: str) -> list[str]:
    """Return the languages of a header `Accept-Language` (RFC 9110, section 12.5.4), the preferred one first."""
    weighted = []
    for part in header[:_LONGEST].split(","):
        name, _, weight = part.partition(";")
        try:
            value = float(weight.strip().lower().removeprefix("q=") or 1)
        except ValueError:
            value = 0.0
        if name.strip() and value > 0:
            weighted.append((value, name.strip()))
    return [name for _, name in sorted(weighted, key=lambda one: -one[0])]
