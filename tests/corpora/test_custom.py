"""Custom fields, from their declaration to the values of a paper, in every reader that has more columns."""

from __future__ import annotations

import calendar
import json
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.cleaning import first_day, last_day, normal_date
from corpora.custom import CustomField, custom_value, declared, parse_custom_field, parse_fields
from corpora.errors import InputError
from corpora.paper import Accepted, Rejected
from corpora.registry import get_corpus


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "x=", "=keyword", "x=words", "X=keyword", "1x=keyword", "x y=keyword", "and=keyword"),
        *("or=text", "not=text", "in=text", "exists=text", "title_abstract=text", "title_order=text", "lexical=text"),
        *("vector_x=text", "text=text", "content_hash=keyword", "ä=keyword", "a.b=keyword", f"{'a' * 51}=keyword"),
    ],
)
def test_a_field_that_is_written_otherwise_is_told(text):
    with pytest.raises(
        InputError, match=r"^(The field .* can't be read; write it as NAME=KIND|A field can't be named)"
    ):
        parse_custom_field(text)


@given(st.text(max_size=30))
def test_any_declaration_is_read_or_refused(text):
    try:
        field = parse_custom_field(text)
    except InputError:
        return
    assert text.replace(" ", "").startswith(f"{field.name}=")


def test_columns_are_told_apart_from_those_of_attributes():
    kinds = parse_fields(["shelf=keyword", " year_read = number "])
    fields, rest = declared(kinds, {"shelf": "Standort", "title": "Titel"})
    assert fields == (CustomField("shelf", "keyword", "Standort"), CustomField("year_read", "number"))
    assert rest == {"title": "Titel"}
    with pytest.raises(InputError, match="The field shelf is declared twice"):
        parse_fields(["shelf=keyword", "shelf=text"])


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        ("keyword", " A\n12 ", "A 12"),
        ("keyword", 7.0, "7"),
        ("keyword", "", None),
        ("text", "a" * 9_000, "a" * 9_000),
        ("keywords", "x; y;x", ("x", "y")),
        ("keywords", ["x", {"name": "y"}], ("x", "y")),
        ("keywords", None, ()),
        ("number", "3.50", 3.5),
        ("number", "1e3", 1000),
        ("number", 0, 0),
        ("number", "-9007199254740991", -(2**53 - 1)),
        ("number", 2**53, 2.0**53),
        ("keyword", "a" * 8_000, "a" * 8_000),
        ("number", float("nan"), None),
        ("boolean", "yes", True),
        ("boolean", "0", None),
        ("boolean", None, None),
        ("date", "2020-3-6", "2020-03-06"),
        ("date", "2020-03-16T12:00:00Z", "2020-03-16"),
        ("date", "20200316", "2020-03-16"),
        ("date", 2020, "2020"),
        ("date", "2020-03", "2020-03"),
    ],
)
def test_values_are_read_by_kind(kind, raw, value):
    read = custom_value(kind, raw)
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "raw", "told"),
    [
        ("number", "many", "a number, not many"),
        ("number", "inf", "a number, not inf"),
        ("boolean", "maybe", "true or false, not maybe"),
        ("text", True, "^text, not true$"),
        ("keywords", ["a", "b" * 8_001], "texts of at most 8,000 characters, not a b"),
        ("date", "Spring 2020", "a date such as 2020-03-16, not Spring 2020"),
        ("date", "2019-02-29", "a date such as 2020-03-16, not 2019-02-29"),
        ("date", "2020-13", "a date"),
        ("keyword", "a" * 8_001, "text of at most 8,000 characters"),
    ],
)
def test_values_of_another_kind_are_refused(kind, raw, told):
    with pytest.raises(ValueError, match=told):
        custom_value(kind, raw)


@given(st.dates())
def test_days_months_and_years_begin_and_end_as_calendars_say(day):
    for form, first, last in [
        (f"{day.year:04}-{day.month:02}-{day.day:02}", day, day),
        (
            f"{day.year:04}-{day.month:02}",
            day.replace(day=1),
            day.replace(day=calendar.monthrange(day.year, day.month)[1]),
        ),
        (f"{day.year:04}", date(day.year, 1, 1), date(day.year, 12, 31)),
    ]:
        assert normal_date(form) == form
        assert (first_day(form), last_day(form)) == (first.isoformat(), last.isoformat())


SHELF = CustomField("shelf", "keyword", "Standort")
SCORE = CustomField("score", "number")


def test_a_table_gives_custom_fields_by_column(tmp_path):
    path = tmp_path / "books.csv"
    path.write_text("id,title,STANDORT,Score\n1,One,A 12,3\n2,Two,,\n3,Three,B,many\n", encoding="utf-8")
    records = list(get_corpus("csv").read(path, {}, [SHELF, SCORE]))
    assert [dict(record.paper.extra) for record in records[:2]] == [{"shelf": "A 12", "score": 3}, {}]
    assert records[2] == Rejected(4, "The field score should be a number, not many.", "3")
    with pytest.raises(InputError, match=r"has no column nope for the field nope; its columns are: id, title"):
        list(get_corpus("csv").read(path, {}, [CustomField("nope", "text")]))


def test_json_and_beir_give_custom_fields_by_key(tmp_path):
    row = {"id": "1", "title": "One", "Standort": "A 12", "score": 0.5}
    (tmp_path / "papers.jsonl").write_text(json.dumps(row) + "\n" + json.dumps({"id": "2", "title": "Two"}) + "\n")
    found = [record.paper for record in get_corpus("jsonl").read(tmp_path / "papers.jsonl", {}, [SHELF, SCORE])]
    assert [dict(paper.extra) for paper in found] == [{"shelf": "A 12", "score": 0.5}, {}]
    row = {"_id": "1", "title": "One", "text": "t", "metadata": {"Standort": "A 12", "score": "2"}}
    (tmp_path / "corpus.jsonl").write_text(json.dumps(row) + "\n")
    (record,) = get_corpus("beir").read(tmp_path, {}, [SHELF, SCORE])
    assert record.paper.extra == {"shelf": "A 12", "score": 2}


def test_cord19_gives_source_licence_and_date(tmp_path):
    path = tmp_path / "metadata.csv"
    path.write_text(
        "cord_uid,sha,source_x,title,license,publish_time,abstract,journal,authors\n"
        "a,,PMC; Medline,One,cc-by,2020-03-16,,J,X\n"
        "b,,WHO,Two,unk,2020,,J,X\n"
    )
    fields = [CustomField("source", "keywords"), CustomField("licence", "keyword"), CustomField("published", "date")]
    first, second = get_corpus("cord19").read(path, {}, fields)
    assert first.paper.extra == {"source": ("PMC", "Medline"), "licence": "cc-by", "published": "2020-03-16"}
    assert second.paper.extra["published"] == "2020"
    assert first.paper.year == 2020
    # They are no part of the content.
    (plain, _) = get_corpus("cord19").read(path, {})
    assert isinstance(plain, Accepted)
    assert plain.paper.content_hash() == first.paper.content_hash()


def test_pubmed_gives_what_its_records_hold(tmp_path):
    path = tmp_path / "one.xml"
    path.write_text(
        """<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>1</PMID><Article><Journal><JournalIssue>
        <Volume>7</Volume><PubDate><Year>2020</Year></PubDate></JournalIssue><Title>J</Title></Journal>
        <ArticleTitle>One</ArticleTitle></Article><MedlineJournalInfo><Country>Peru</Country><MedlineTA>J</MedlineTA>
        </MedlineJournalInfo></MedlineCitation></PubmedArticle></PubmedArticleSet>"""
    )
    fields = [CustomField("country", "keyword"), CustomField("volume", "number"), CustomField("issue", "keyword")]
    (record,) = get_corpus("pubmed").read(path, {}, fields)
    assert record.paper.extra == {"country": "Peru", "volume": 7}
    with pytest.raises(InputError, match="PubMed has no column shelf for the field shelf"):
        list(get_corpus("pubmed").read(path, {}, [CustomField("shelf", "keyword")]))


@pytest.mark.realdata
def test_real_rows_of_cord19_have_readable_dates_sources_and_licences(data_dir):
    fields = [CustomField("source", "keywords"), CustomField("licence", "keyword"), CustomField("published", "date")]
    paths = sorted(data_dir.rglob("metadata*.csv*"))
    for path in paths[:1]:
        records = list(get_corpus("cord19").read(path, {}, fields))
        papers = [record.paper for record in records if isinstance(record, Accepted)]
        assert all("should be" not in record.reason for record in records if isinstance(record, Rejected))
        assert sum("published" in paper.extra for paper in papers) > 0.9 * len(papers)
