"""What the first page says of a library: how many papers of which years, what they are about, and the newest.

All of it comes from one request, a listing of the newest papers with counts, which the service keeps as it keeps pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from corpora.paper import Paper
from search_plugin.contract.schema import IndexSchema
from search_plugin.pages.page import Page
from ses.service.service import Service
from ses.service.web.histogram import Histogram, histogram
from ses.service.web.narrowing import YEAR

_EXAMPLES, _QUESTIONS, _SUBJECTS, _NEWEST = 6, 3, 10, 4
_READ = 100
"""The newest papers among whose titles questions are looked for."""

_LONGEST = 110
"""Characters of a title that is an example."""

_COUNTED = 200
_CHECK_TAGS = frozenset(
    {
        "Adolescent",
        "Adult",
        "Aged",
        "Aged, 80 and over",
        "Animals",
        "Child",
        "Child, Preschool",
        "Female",
        "Humans",
        "Infant",
        "Infant, Newborn",
        "Male",
        "Mice",
        "Middle Aged",
        "Pregnancy",
        "Rats",
        "Young Adult",
    }
)
"""Check tags of MeSH (NLM): they say whom a study is about, not what, so they are no subjects to begin with."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A value that many papers have: its field, its count, and the percentage which that is of the largest count."""

    field: str
    value: str
    count: int
    share: float


@dataclass(frozen=True, slots=True)
class LibraryOverview:
    """What an index holds.

    Attributes:
        papers: How many papers it has.
        years: The papers of each year as bars; None if they have fewer than two years.
        subjects: What most papers are about, or where they appeared if nothing says what they are about.
        newest: Some of the newest papers.
        examples: Searches to begin with: questions that titles ask, and subjects.
    """

    papers: int
    years: Histogram | None
    subjects: tuple[Subject, ...]
    newest: tuple[Paper, ...]
    examples: tuple[str, ...]


def overview(service: Service, index: str, schema: IndexSchema, examples: Sequence[str]) -> LibraryOverview:
    """Return what an index holds, the default index if the name is empty.

    `examples` are the searches to begin with that the site names; without any, some are made of the papers.
    """
    asked = [field.name for field in schema.fields if field.name in ("fields", "venue") or field.origin == "tag"]
    page = service.search(index, "", {"size": _READ, "facets": [YEAR, *asked], "facet_size": _COUNTED})
    counts = dict(page.facets.counts) if page.facets else {}
    subjects = tuple(_subjects(counts, [*(name for name in asked if name != "venue"), "venue"]))
    own = tuple(examples) or tuple(dict.fromkeys([*_questions(page), *_words(subjects)]))[:_EXAMPLES]
    newest = tuple(hit.paper for hit in page.hits[:_NEWEST])
    return LibraryOverview(page.candidates, histogram(counts.get(YEAR, ()), None, None), subjects, newest, own)


def _subjects(counts: dict[str, Any], names: Sequence[str]) -> Iterator[Subject]:
    """Yield the most frequent values of the first field that has some."""
    for name in names:
        found = [(str(value), count) for value, count in counts.get(name, ()) if value not in _CHECK_TAGS]
        if found:
            most = found[0][1]
            for value, count in found[:_SUBJECTS]:
                yield Subject(name, value, count, round(100 * count / most, 1))
            return


def _questions(page: Page) -> Iterator[str]:
    """Yield titles that ask a question, as readers do."""
    titles = (hit.title for hit in page if hit.title.endswith("?") and len(hit.title) <= _LONGEST)
    for title, _ in zip(titles, range(_QUESTIONS), strict=False):
        yield title


def _words(subjects: Sequence[Subject]) -> list[str]:
    return [one.value for one in subjects if one.field != "venue"]
