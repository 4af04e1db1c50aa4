"""LanceDB finds what filters mean, whatever is missing, indexed or nested."""

from __future__ import annotations

import random
from dataclasses import asdict

import lancedb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from lancedb.index import Bitmap, BTree, LabelList

from corpora.paper import Paper
from search_plugin.filters.evaluate import matches
from search_plugin.filters.parse import MAX_DEPTH, parse_filter
from search_plugin.filters.sql import to_sql
from search_plugin.filters.tree import Compare, Not, OneOf
from search_plugin.schema import FIELDS
from tests.search_plugin.test_filters import WORDS, YEARS, filters


def papers():
    chance = random.Random(7)

    def several():
        return tuple(chance.sample(WORDS, chance.choice([0, 0, 1, 2, 3])))

    lists = [name for name, kind in FIELDS.items() if kind == "keywords"]
    return [
        Paper(
            id=WORDS[number] if number < len(WORDS) else str(number),
            title="t",
            year=chance.choice([None, *YEARS]),
            venue=chance.choice(["", *WORDS]),
            language=chance.choice(["", *WORDS]),
            **{name: several() for name in lists},
        )
        for number in range(300)
    ]


PAPERS = papers()
TYPES = {"number": pa.int32(), "keyword": pa.string(), "keywords": pa.list_(pa.string())}


def rows(missing):
    """The papers as rows, with empty strings and lists as they are or as NULL."""
    for paper in PAPERS:
        row = {name: value for name, value in asdict(paper).items() if name in FIELDS}
        yield {name: None if missing == "null" and value in ("", ()) else value for name, value in row.items()}


@pytest.fixture(scope="module", params=["empty", "null", "indexed"])
def table(request, tmp_path_factory):
    schema = pa.schema([(name, TYPES[kind]) for name, kind in FIELDS.items()])
    missing = "empty" if request.param == "empty" else "null"
    database = lancedb.connect(tmp_path_factory.mktemp("lance"))
    table = database.create_table("papers", pa.Table.from_pylist(list(rows(missing)), schema=schema))
    if request.param == "indexed":
        table.create_index("year", config=BTree())
        table.create_index("venue", config=Bitmap())
        table.create_index("authors", config=LabelList())
    return table


def found(table, where):
    hits = table.search().where(to_sql(where)).select(["id"]).limit(len(PAPERS)).to_arrow()
    return set(hits["id"].to_pylist())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=filters)
def test_lance_finds_what_the_filter_means(table, where):
    assert found(table, where) == {paper.id for paper in PAPERS if matches(where, paper)}


@pytest.mark.parametrize("where", [Compare("venue", "=", ""), OneOf("venue", ("",)), OneOf("venue", ("", "and"))])
def test_empty_strings_mean_missing_in_sql_too(table, where):
    for either in (where, Not(where)):
        assert found(table, either) == {paper.id for paper in PAPERS if matches(either, paper)}


def bushy(levels):
    """Brackets in both operands of both connectives: the costliest shape for a recursive SQL parser."""
    if levels == 0:
        return "id!=0"
    inner = bushy(levels - 1)
    return f"({inner} or {inner}) and ({inner} or {inner})"


def nested(start, depth, left, right):
    for _ in range(depth):
        start = f"{left}{start}{right}"
    return start


@pytest.mark.parametrize(
    "text",
    [
        nested("author!=x", MAX_DEPTH, "(", " or type!=x) and id!=0"),
        nested("author!=x", MAX_DEPTH, "id!=0 and (type!=x or ", ")"),
        nested("author!=x", MAX_DEPTH // 2, "not (id!=0 and ", ")"),
        nested(bushy(4), MAX_DEPTH - 4, "id!=0 and (id=z or ", ")"),
        " or ".join(["id=a"] * 1200),
    ],
)
def test_lance_reads_whatever_the_grammar_allows(table, text):
    where = parse_filter(text)
    assert found(table, where) == {paper.id for paper in PAPERS if matches(where, paper)}


def test_positive_tests_stay_bare_for_lances_indexes():
    where = parse_filter('journal="it\'s" and year>=2000 and type=a and not author=b')
    assert to_sql(where) == (
        "`venue` = 'it''s' AND `year` >= 2000 AND array_has(`types`, 'a')"
        " AND (NOT array_has(`authors`, 'b') OR `authors` IS NULL)"
    )
