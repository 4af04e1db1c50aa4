"""References to papers in the styles that journals ask for most: plain text, one line each.

The rules are those of the Publication Manual of the APA (7th edition), the MLA Handbook (9th), the bibliography of The
Chicago Manual of Style (17th), and Citing Medicine (Vancouver style). Titles keep their letters as the index has them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from corpora.identifiers import link_of
from corpora.names import WrittenName, parse_name
from corpora.paper import Paper
from corpora.publication import Publication
from search_plugin.pages.formats import one_line

_GIVEN = re.compile(r"[^\s.\-\u2010]+|[-\u2010]")
_ENDED = (".", "?", "!")


def _names(paper: Paper) -> list[WrittenName]:
    return [parse_name(one_line(author)) for author in paper.authors]


def _ended(text: str) -> str:
    return text if not text or text.endswith(_ENDED) else f"{text}."


def _title(paper: Paper) -> str:
    """Return the title without the full stop that some sources end it with."""
    title = one_line(paper.title)
    return title[:-1] if title.endswith(".") and not title.endswith("..") else title


def _place(paper: Paper) -> Publication:
    return paper.publication or Publication()


def _pages(paper: Paper) -> str:
    return one_line(_place(paper).pages).replace("-", "\u2013")


def _is_article_number(pages: str) -> bool:
    return bool(pages) and "\u2013" not in pages and not pages.isdecimal()


def _initials(given: str, *, point: str, between: str) -> str:
    """Return the initials of given names; those joined by a hyphen keep it where initials have points."""
    parts: list[str] = []
    joined = False
    for part in _GIVEN.findall(given):
        if part in "-\u2010":
            joined = bool(point and parts)
            continue
        # Initials without blanks between them, such as `JA`, are two names.
        letters = list(part) if part.isupper() and len(part) <= 3 else [part[0].upper()]
        for at, letter in enumerate(letters):
            if joined and not at:
                parts[-1] += f"-{letter}{point}"
            else:
                parts.append(f"{letter}{point}")
        joined = False
    return between.join(parts)


def _family_first(name: WrittenName) -> str:
    suffix = f", {name.suffix}" if name.suffix else ""
    return f"{name.family}, {name.given}{suffix}" if name.given else name.family


def _given_first(name: WrittenName) -> str:
    return " ".join(filter(None, (name.given, name.family, name.suffix)))


def _sentences(parts: Sequence[str], link: str) -> str:
    return " ".join(filter(None, [*(_ended(part) for part in parts if part), link]))


def apa(paper: Paper) -> str:
    """Return a reference in the style of the American Psychological Association."""
    names = []
    for name in _names(paper):
        initials = _initials(name.given, point=".", between=" ")
        names.append(", ".join(filter(None, (name.family, initials, name.suffix))))
    if len(names) > 20:
        listed = f"{', '.join(names[:19])}, . . . {names[-1]}"
    elif len(names) > 1:
        listed = f"{', '.join(names[:-1])}, & {names[-1]}"
    else:
        listed = "".join(names)
    where, pages, date = _place(paper), _pages(paper), f"({paper.year or 'n.d.'})"
    volume = f"{where.volume}{f'({where.issue})' if where.issue else ''}"
    shown = f"Article {pages}" if _is_article_number(pages) else pages
    venue = ", ".join(filter(None, (one_line(paper.venue), volume, shown)))
    # Without authors, the title stands first.
    head = [f"{_ended(listed)} {date}", _title(paper)] if listed else [f"{_ended(_title(paper))} {date}"]
    return _sentences([*head, venue], link_of(paper))


def mla(paper: Paper) -> str:
    """Return an entry in the style of the Modern Language Association."""
    names = _names(paper)
    listed = _family_first(names[0]) if names else ""
    if len(names) == 2:
        listed += f", and {_given_first(names[1])}"
    elif len(names) > 2:
        listed += ", et al."
    where, pages = _place(paper), _pages(paper)
    details = (
        one_line(paper.venue),
        where.volume and f"vol. {where.volume}",
        where.issue and f"no. {where.issue}",
        str(paper.year or ""),
        pages and f"{'pp.' if chr(0x2013) in pages else 'p.'} {pages}" if not _is_article_number(pages) else pages,
        link_of(paper),
    )
    container = ", ".join(filter(None, details))
    return _sentences([listed, f"\u201c{_ended(_title(paper))}\u201d"], "").removesuffix(".") + (
        f" {_ended(container)}" if container else ""
    )


def chicago(paper: Paper) -> str:
    """Return an entry of a bibliography in Chicago style."""
    names = _names(paper)
    shown = names if len(names) <= 10 else names[:7]
    listed = [_family_first(one) if not at else _given_first(one) for at, one in enumerate(shown)]
    if len(names) > 10:
        people = f"{', '.join(listed)}, et al."
    elif len(listed) > 1:
        people = f"{', '.join(listed[:-1])}, and {listed[-1]}"
    else:
        people = "".join(listed)
    where, pages = _place(paper), _pages(paper)
    venue = one_line(paper.venue)
    volume = " ".join(filter(None, (venue, where.volume)))
    issue = f", no. {where.issue}" if where.issue else ""
    year = f" ({paper.year})" if paper.year and volume else str(paper.year or "")
    container = f"{volume}{issue}{year}{f': {pages}' if pages else ''}"
    head = f"{_ended(people)} " if people else ""
    return " ".join(
        filter(None, (f"{head}\u201c{_ended(_title(paper))}\u201d", _ended(container), _stop(link_of(paper))))
    )


def _stop(link: str) -> str:
    return f"{link}." if link else ""


def vancouver(paper: Paper) -> str:
    """Return a reference in Vancouver style, as the United States National Library of Medicine writes it."""
    names = []
    for name in _names(paper):
        initials = _initials(name.given, point="", between="")
        names.append(" ".join(filter(None, (name.family, initials, name.suffix.rstrip(".")))))
    listed = ", ".join([*names[:6], "et al"] if len(names) > 6 else names)
    where = _place(paper)
    issue = f"({where.issue})" if where.issue else ""
    pages = f":{one_line(where.pages)}" if where.pages else ""
    placed = f"{where.volume}{issue}{pages}"
    date = ";".join(filter(None, (str(paper.year or ""), placed)))
    return _sentences([listed, _title(paper), one_line(paper.venue), date], link_of(paper))


STYLES: Mapping[str, Callable[[Paper], str]] = {"APA": apa, "MLA": mla, "Chicago": chicago, "Vancouver": vancouver}
"""The styles by the names that readers know them by, the same in all languages."""
