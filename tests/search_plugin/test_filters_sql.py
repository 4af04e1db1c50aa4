"""LanceDB finds what filters mean, whatever is missing, indexed or nested."""

from __future__ import annotations

from dataclasses import replace

import lancedb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from lancedb.index import Bitmap, BTree, LabelList

from search_plugin.engines.lance_rows import arrow_type
from search_plugin.filters.evaluate import matches
from search_plugin.filters.parse import parse_filter
from search_plugin.filters.sql import to_sql
from search_plugin.filters.tree import Not
from tests.search_plugin.filtered import EXTREME, PAPERS, WITHOUT_VALUE, expected, rows_of
from tests.search_plugin.test_filters import FIELDS, filters

SCHEMA = pa.schema([(field.name, arrow_type(field)) for field in FIELDS if field.kind != "text"])


def rows(missing):
    """The papers as rows, with empty strings and lists as they are or as NULL."""
    for paper in PAPERS:
        row = rows_of(paper)
        row["retracted"] = row["retracted"] or None
        yield {name: None if missing == "null" and value in ("", ()) else value for name, value in row.items()}


@pytest.fixture(scope="module", params=["empty", "null", "indexed"])
def table(request, tmp_path_factory):
    missing = "empty" if request.param == "empty" else "null"
    database = lancedb.connect(tmp_path_factory.mktemp("lance"))
    table = database.create_table("papers", pa.Table.from_pylist(list(rows(missing)), schema=SCHEMA))
    if request.param == "indexed":
        table.create_index("year", config=BTree())
        table.create_index("venue", config=Bitmap())
        table.create_index("authors", config=LabelList())
    return table


def found(table, where):
    hits = table.search().where(to_sql(where, FIELDS)).select(["id"]).limit(len(PAPERS)).to_arrow()
    return set(hits["id"].to_pylist())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=filters)
def test_lance_finds_what_the_filter_means(table, where):
    assert found(table, where) == expected(where)


@pytest.mark.parametrize("where", WITHOUT_VALUE)
def test_empty_strings_mean_missing_in_sql_too(table, where):
    for either in (where, Not(where)):
        assert found(table, either) == expected(either)


@pytest.mark.parametrize("text", EXTREME)
def test_lance_reads_whatever_the_grammar_allows(table, text):
    where = parse_filter(text)
    assert found(table, where) == expected(where)


def test_positive_tests_stay_bare_for_lances_indexes():
    where = parse_filter('journal="it\'s" and year>=2000 and type=a and not author=b')
    assert to_sql(where) == (
        "`venue` = 'it''s' AND `year` >= 2000 AND array_has(`types`, 'a')"
        " AND (NOT array_has(`authors`, 'b') OR `authors` IS NULL)"
    )


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    """The papers in a table that lacks some fields, such as one of an earlier version."""
    lacking = ("retracted", "origins", "venue")
    schema = pa.schema([column for column in SCHEMA if column.name not in lacking])
    kept = [{name: value for name, value in row.items() if name not in lacking} for row in rows("empty")]
    return lancedb.connect(tmp_path_factory.mktemp("narrow")).create_table(
        "p", pa.Table.from_pylist(kept, schema=schema)
    )


@settings(max_examples=60, deadline=None)
@given(where=filters)
def test_a_field_without_a_column_is_missing_in_every_paper(narrow, where):
    hits = (
        narrow.search().where(to_sql(where, FIELDS, narrow.schema.names)).select(["id"]).limit(len(PAPERS)).to_arrow()
    )
    bare = [replace(paper, retracted=False, origins=(), venue="") for paper in PAPERS]
    assert set(hits["id"].to_pylist()) == {paper.id for paper in bare if matches(where, paper, FIELDS)}
