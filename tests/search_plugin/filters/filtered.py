"""Papers to filter, what filters should find among them, and the filters that are hardest on a parser of queries."""

from __future__ import annotations

import random
from dataclasses import replace

from corpora.paper import Paper, is_empty
from search_plugin.contract.schema import PAPER_FIELDS
from search_plugin.contract.tree import MAX_DEPTH, Alike, And, Compare, Exists, Not, OneOf, Or
from search_plugin.filters.matching import matches
from search_plugin.filters.parse import parse_filter
from tests.search_plugin.filters.test_filters import DAYS, FIELDS, SHARES, SPOKEN, WORDS, YEARS


def _papers():
    chance = random.Random(7)

    def several():
        return tuple(chance.sample(WORDS, chance.choice([0, 0, 1, 2, 3])))

    lists = [field.name for field in FIELDS if field.kind == "keywords" and field.origin == "paper"]
    drawn = [
        Paper(
            id=WORDS[number] if number < len(WORDS) else str(number),
            title="t",
            year=chance.choice([None, *YEARS]),
            venue=chance.choice(["", *WORDS]),
            language=chance.choice(["", *WORDS]),
            retracted=chance.random() < 0.2,
            extra=_extra(chance, several()),
            **{name: several() for name in lists},
        )
        for number in range(300)
    ]
    return [*drawn, Paper(id="unnamed", title="t", authors=("",))]


def _extra(chance, labels):
    values = {
        "shelf": chance.choice(["", *WORDS]),
        "labels": labels,
        "impact": chance.choice([None, *SHARES]),
        "published": chance.choice(["", *DAYS, "1999", "2000", "2000-03", "2000-02"]),
        "open_access": chance.random() < 0.2,
    }
    return {name: value for name, value in values.items() if not is_empty(value)}


PAPERS = _papers()


def _speaking():
    chance = random.Random(8)

    def text(least, most):
        return " ".join(chance.choice(SPOKEN) for _ in range(chance.randint(least, most)))

    return [replace(paper, title=f"virus {text(1, 5)}", abstract=text(0, 9)) for paper in PAPERS]


SPEAKING = _speaking()
"""The same papers with titles and abstracts of a few words, for filters that ask for words; all titles say virus."""


def expected(where, papers=PAPERS):
    return {paper.id for paper in papers if matches(where, paper, FIELDS)}


def exact_filter(text, fields=PAPER_FIELDS):
    """A filter as engines are given it: every value is taken as it is written."""
    return _exact(parse_filter(text, fields))


def _exact(where):
    match where:
        case Alike(field, _, values):
            return OneOf(field, values) if len(values) > 1 else Compare(field, "=", values[0])
        case Not(part):
            return Not(_exact(part))
        case And(parts) | Or(parts):
            return type(where)(tuple(map(_exact, parts)))
        case _:
            return where


def rows_of(paper):
    """All values of a paper by field."""
    own = {field.name: getattr(paper, field.name, None) for field in FIELDS if field.kind != "text"}
    return own | {field.name: paper.extra.get(field.name) for field in FIELDS if field.origin != "paper"}


def bushy(levels):
    """Brackets in both operands of both connectives: the costliest shape for a recursive parser."""
    if levels == 0:
        return "id!=0"
    inner = bushy(levels - 1)
    return f"({inner} or {inner}) and ({inner} or {inner})"


def nested(start, depth, left, right):
    for _ in range(depth):
        start = f"{left}{start}{right}"
    return start


EXTREME = [
    nested("author!=x", MAX_DEPTH, "(", " or type!=x) and id!=0"),
    nested("author!=x", MAX_DEPTH, "id!=0 and (type!=x or ", ")"),
    nested("author!=x", MAX_DEPTH // 2, "not (id!=0 and ", ")"),
    nested(bushy(4), MAX_DEPTH - 4, "id!=0 and (id=z or ", ")"),
    " or ".join(["id=a"] * 1200),
]
"""Texts at the bounds of the grammar."""

WITHOUT_VALUE = [
    Compare("venue", "=", ""),
    OneOf("venue", ("",)),
    OneOf("venue", ("", "and")),
    Compare("authors", "=", ""),
    OneOf("authors", ("", "and")),
    Exists("authors"),
]
"""Filters that name an empty string, which stands for no value in all but lists."""
