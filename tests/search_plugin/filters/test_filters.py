"""Reading filters, printing them, and their meaning."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from corpora.paper import Paper
from search_plugin.contract.schema import PAPER_FIELDS, Field
from search_plugin.contract.tree import Alike, And, Compare, Exists, Not, OneOf, Or, Says
from search_plugin.filters.matching import matches
from search_plugin.filters.parse import MAX_LENGTH, parse_filter, parse_filters
from tests.chance import drawn, effort
from tests.search_plugin.filters.written import to_text

EXAMPLE = ' Write it like year >= 2015 and journal = "Science and Technology", with quotes around such values.'
WORDS = [
    "and",
    "or",
    "The Lancet",
    'say "x"',
    "it's",
    "back\\slash",
    "a\\",
    "x\ny",
    "nul\0",
    "中文",
    "é",
    "(a, b)",
    "%_`",
]
FIELDS = (
    *PAPER_FIELDS,
    Field("shelf", "keyword"),
    Field("labels", "keywords", origin="tag"),
    Field("impact", "number", origin="forecast"),
    Field("published", "date"),
    Field("open_access", "boolean"),
)
"""Every kind and origin there is."""

PMC = ("pmc:PMC7", "pmc:pmc7", "PMC:PMC7", "PMC:pmc7")
RETRACTED = Compare("retracted", "=", value=True)
YEARS = [-1, 0, 1999, 2000, 2001]
SHARES = [-0.5, 0, 0.25, 1e-7, 3, 123456789012.5]
DAYS = ["0001-01-01", "1999-12-31", "2000-01-01", "2000-02-29", "2000-03-01", "2001-01-01"]
ORDERS = ["=", "<", "<=", ">", ">="]


def fields_of(kind):
    return st.sampled_from([field.name for field in FIELDS if field.kind == kind and field.name != "url"])


words = st.sampled_from(WORDS)
text_fields = fields_of("keyword") | fields_of("keywords")
tests = (
    st.builds(Compare, st.just("year"), st.sampled_from(ORDERS), st.sampled_from(YEARS))
    | st.builds(Compare, st.just("impact"), st.sampled_from(ORDERS), st.sampled_from(SHARES))
    | st.builds(Compare, fields_of("date"), st.sampled_from(ORDERS), st.sampled_from(DAYS))
    | st.builds(OneOf, fields_of("date"), st.lists(st.sampled_from(DAYS), min_size=1, max_size=3).map(tuple))
    | st.builds(Compare, text_fields, st.just("="), words)
    | st.builds(OneOf, text_fields, st.lists(words, min_size=1, max_size=3).map(tuple))
    | st.builds(OneOf, st.just("year"), st.lists(st.sampled_from(YEARS), min_size=1, max_size=3).map(tuple))
    | st.builds(Compare, fields_of("boolean"), st.just("="), st.just(value=True))
    | st.builds(Exists, st.sampled_from([field.name for field in FIELDS if field.kind != "text"]))
)


def branches(inner):
    parts = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.builds(And, parts) | st.builds(Or, parts) | st.builds(Not, inner)


filters = st.recursive(tests, branches, max_leaves=8)
values = st.lists(words, min_size=1, max_size=3, unique=True).map(tuple)
loose = st.one_of(
    st.builds(Alike, st.sampled_from(["venue", "types", "shelf"]), st.sampled_from(["same", "prefix"]), values),
    st.builds(Alike, st.just("authors"), st.sampled_from(["name", "family"]), values),
)
"""Conditions that are resolved before an engine is asked."""
SPOKEN = ("stem", "cells", "cell", "embryonic", "of", "the", "lung", "TNF-alpha", "5-HT2A", "Mice")
says = st.builds(
    Says, st.sampled_from(["title", "text"]), st.lists(st.sampled_from(SPOKEN), min_size=1, max_size=4).map(" ".join)
)
saying = st.recursive(tests | says | says, branches, max_leaves=8)
"""Filters that also ask for words."""
any_filters = st.recursive(tests | loose | says, branches, max_leaves=8)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("journal=The   Lancet", Alike("venue", "same", ("The Lancet",))),
        ("authors = O'Brien J", Alike("authors", "name", ("O'Brien J",))),
        (r"venue = 'it\'s \\ \"so\"'", Alike("venue", "same", ('it\'s \\ "so"',))),
        ("venue=Trials not found in print exists", Alike("venue", "same", ("Trials not found in print exists",))),
        ("venue=orange", Alike("venue", "same", ("orange",))),
        ("venue = not", Alike("venue", "same", ("not",))),
        ("venue == The  Lancet", Compare("venue", "=", "The Lancet")),
        ('author == "Toth EA"', Compare("authors", "=", "Toth EA")),
        ("year == 2000", Compare("year", "=", 2000)),
        ("type == (Review, review)", OneOf("types", ("Review", "review"))),
        ("journal=lancet*", Alike("venue", "prefix", ("lancet",))),
        ('journal = "New Engl"*', Alike("venue", "prefix", ("New Engl",))),
        ('journal="lancet*"', Alike("venue", "same", ("lancet*",))),
        ("journal==lancet*", Compare("venue", "=", "lancet*")),
        ("venue=*", Alike("venue", "same", ("*",))),
        (
            "author in (smith*, Toth EA, fauci)",
            Or((Alike("authors", "family", ("smith",)), Alike("authors", "name", ("Toth EA", "fauci")))),
        ),
        ("id=A", Compare("id", "=", "A")),
        ("pmid=https://pubmed.ncbi.nlm.nih.gov/12/", OneOf("identifiers", ("pmid:12", "PMID:12"))),
        ("PMID != 012", Not(OneOf("identifiers", ("pmid:12", "PMID:12")))),
        ("pmcid==7", Or((OneOf("identifiers", PMC), OneOf("id", ("PMC7",))))),
        ("doi=10.1000/AB*", Alike("identifiers", "prefix", ("doi:10.1000/AB",))),
        ("YEAR!=-3", Not(Compare("year", "=", -3))),
        ('year in (2000,"2001")', OneOf("year", (2000, 2001))),
        ("Type IN (Review, Case Reports) ", Alike("types", "same", ("Review", "Case Reports"))),
        (
            "not year=1 AND year=2 Or year=3",
            Or((And((Not(Compare("year", "=", 1)), Compare("year", "=", 2))), Compare("year", "=", 3))),
        ),
        ("not(year<1 or author exists)", Not(Or((Compare("year", "<", 1), Exists("authors"))))),
        ("venue\u3000=\u3000医学", Alike("venue", "same", ("医学",))),
        ("retracted = TRUE", RETRACTED),
        ("retracted=false", Not(RETRACTED)),
        ("retracted != 'false'", Not(Not(RETRACTED))),
        ("retracted in (true)", OneOf("retracted", (True,))),
        ("retracted in (false, False)", Not(RETRACTED)),
        ("retracted in (true, false)", Or((RETRACTED, Not(RETRACTED)))),
        ("TITLE says stem cells", Says("title", "stem cells")),
        ('not text SAYS "x and \\"y\\""', Not(Says("text", 'x and "y"'))),
        (
            "venue=Who says exists or title says x",
            Or((Alike("venue", "same", ("Who says exists",)), Says("title", "x"))),
        ),
        ("corpus=jsonl:library/papers.jsonl", Alike("origins", "same", ("jsonl:library/papers.jsonl",))),
    ],
)
def test_reads_the_grammar(text, expected):
    assert parse_filter(text) == expected


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("", 1, "expected a field name, not or an opening bracket but found the end"),
        ("year", 5, "expected =, !=, <, <=, >, >=, in, exists or says after a field name but found the end"),
        (
            "journal=Science and Technology",
            31,
            "expected =, !=, <, <=, >, >=, in, exists or says after a field name but found the end",
        ),
        ("year = and venue=x", 8, "expected a value but found 'and'"),
        ("year in 2000", 9, "expected an opening bracket after in but found '2000'"),
        ("year in (2000", 14, "expected a comma or a closing bracket but found the end"),
        ("(year=1", 8, "expected 'and', 'or' or a closing bracket but found the end"),
        ("venue=a (b)", 9, "expected 'and', 'or' or the end but found '('"),
        ('venue="abc', 7, "expected a second quote to close the one here"),
        ("venue says x", 1, "expected title or text before says but found 'venue'"),
        ("title says", 11, "expected a value but found the end"),
        ('title says ""', 12, "expected words but found empty quotes"),
        ("year > 20x", 8, "expected a whole number of at most 9 digits for year but found '20x'"),
        ("year=2000000000", 6, "expected a whole number of at most 9 digits for year but found '2000000000'"),
        ("retracted=maybe", 11, "expected true or false for retracted but found 'maybe'"),
        ("retracted<true", 10, "expected = or != for retracted, which is true or false, but found <"),
        ("journal >= x", 9, "expected = or != for venue, which is text, but found >="),
        ('venue = ""', 9, "expected a value but found empty quotes (papers without one: not venue exists)"),
        ('doi = ""', 7, "expected a doi but found ''"),
        (r'doi = "\""', 7, "expected a doi but found '\"'"),
    ],
)
def test_says_where_and_what_was_expected(text, position, problem):
    with pytest.raises(InputError) as caught:
        parse_filter(text)
    assert str(caught.value) == f"The filter can't be read at character {position}: {problem}.{EXAMPLE}"


def test_refuses_unknown_fields_and_what_is_too_much():
    with pytest.raises(InputError, match=r"no field 'jurnal' .* journal"):
        parse_filter("jurnal=x")
    with pytest.raises(InputError, match="10,001 characters"):
        parse_filter("x" * (MAX_LENGTH + 1))
    with pytest.raises(InputError, match="keep it within"):
        parse_filters(["year=1" + " " * 4000] * 3)
    with pytest.raises(InputError, match="not valid Unicode"):
        parse_filter("venue=\udc80")
    for deep in ["(" * 51 + "year=1" + ")" * 51, "not " * 2000 + "year=1", "not (" * 1500 + "year=1" + ")" * 1500]:
        with pytest.raises(InputError, match="deeper than"):
            parse_filter(deep)


@given(st.text(alphabet="yearvnuio=<>!()\"'\\, \nad中é", max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        where = parse_filter(text)
    except InputError:
        return
    assert parse_filter(to_text(where), FIELDS) == where


PIECES = (
    *("year", "shelf", "journal", "author", "published", "open_access", "retracted", "doi", "title", "text", "id", "x"),
    *(" = ", "=", "==", "!=", "<", "<=", ">", ">=", " in ", " in (", " exists", " says ", " says", "=="),
    *(" and ", " or ", " not ", "not ", "and", "or", "AND", "Not(", "(", ")", "((", "))", ",", ", ", " "),
    *("2020", "2020-03", "2020-13-45", "-1", "1e999", "0.25", "true", "10.1000/x", "The Lancet", '"a b"', "'c'", '"'),
    *("'", "\\", '"\\""', "*", '"a"*', "toth*", "Kim, Mi-Na", "é", "中文", "\0", "\ud800", "\n", "🧬", "İ", "it's"),
)


def test_what_is_left_of_an_identifier_is_not_searched_if_it_is_empty():
    for name in ("doi", "pmid", "pmc", "arxiv"):
        for text in ("", " ", "doi:", "https://doi.org/", '\\"'):
            with suppress(InputError):
                where = parse_filter(f'{name} = "{text}"', FIELDS)
                assert parse_filter(to_text(where), FIELDS) == where


@pytest.mark.slow
def test_any_mixture_of_signs_is_read_or_refused():
    chance, read = drawn(), 0
    for _ in range(effort(5_000, 15_000, 100_000)):
        text = "".join(chance.choices(PIECES, k=chance.randint(1, 12)))
        with suppress(InputError):
            where = parse_filter(text, FIELDS)
            read += 1
            assert parse_filter(to_text(where), FIELDS) == where, text
            assert matches(where, Paper(id="x", title="A virus", year=2020)) in (True, False)
    assert read


@given(any_filters)
def test_text_form_reads_back(where):
    assert parse_filter(to_text(where), FIELDS) == where


@given(st.text(min_size=1))
def test_any_value_reads_back(value):
    where = OneOf("venue", (value, value))
    assert parse_filter(to_text(where), FIELDS) == where


@pytest.mark.parametrize(
    ("words", "title", "abstract", "said"),
    [
        ("embryonic", "Embryonic stem cells", "", True),
        ("stem cell", "Embryonic stem cells", "", True),
        ("embryonic cells", "Embryonic stem cells", "", False),
        ("cells stem", "Embryonic stem cells", "", False),
        ("stem of cells", "stem the cells", "", True),
        ("stem of cells", "stem cells", "", False),
        ("the stem cells of", "stem cells", "", True),
        ("stem cells", "a stem", "cells", False),
        ("stem cells", "x", "A line of STEM-cells.", True),
        ("TNF-alpha", "TNF alpha", "", True),
        ("of the", "of the", "", False),
        ("糖尿病", "2型糖尿病患者", "", True),
    ],
)
def test_words_stand_side_by_side_in_title_or_abstract(words, title, abstract, said):
    paper = Paper(id="1", title=title, abstract=abstract)
    assert matches(Says("text", words), paper) == said
    assert matches(Says("title", words), paper) == (said and not abstract)
    assert matches(Not(Says("text", words)), paper) != said


def test_words_are_compared_in_the_language_of_the_index():
    paper = Paper(id="1", title="Die Entzündung der Lungen")
    for where in (Says("title", "Entzündungen"), Not(Not(Says("text", "Lunge"))), And((Says("text", "Lunge"),) * 2)):
        assert matches(where, paper, language="german")
    assert not matches(Says("title", "Entzündungen"), paper)


def test_a_name_of_identifiers_is_no_field():
    with pytest.raises(InputError, match="doi is a kind of identifier, for which there is only =, != and in"):
        parse_filter("doi exists")
    with pytest.raises(InputError, match="expected = or != for identifiers, which is text, but found <"):
        parse_filter("pmid<3")
    own = (*FIELDS, Field("doi", "keyword"))
    assert parse_filter("doi=x", own) == Alike("doi", "same", ("x",))


def test_filters_are_joined_by_and():
    one, other = Compare("year", "=", 1), Exists("venue")
    assert parse_filters([]) is None
    assert parse_filters(["year=1"]) == one
    assert parse_filters(iter(["year=1", "venue exists"])) == And((one, other))


def test_missing_values_fail_comparisons_and_pass_their_negation():
    bare = Paper(id="1", title="t")
    full = Paper(id="2", title="t", year=0, venue="V", authors=("A", "B"), retracted=True)
    asked = ["year<9", "venue=V", "author=B", "year in (0,1)", "venue exists", "year exists", "author exists"]
    for where in [*asked, "retracted=true", "retracted exists"]:
        assert not matches(parse_filter(where), bare), where
        assert matches(parse_filter(f"not {where}"), bare), where
        assert matches(parse_filter(where), full), where
    assert not matches(parse_filter("author != B"), full)
    assert matches(parse_filter("venue=v and author=b and venue=v* and not venue==v"), full)
    assert not matches(parse_filter("venue=v*"), bare)
    assert not matches(Compare("venue", "=", ""), bare)
    assert matches(parse_filter("retracted=false"), bare)
    assert not matches(parse_filter("retracted=false"), full)


def test_a_search_without_a_filter_does_not_import_the_parser():
    code = """
import sys
from search_plugin.request import make_request
make_request("heart attack")
assert "lark" not in sys.modules
make_request("heart attack", filter="year >= 2020")
assert "lark" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
