"""Years, ISSN and ORCID in queries."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corpora.custom import CustomField
from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.schema import IndexSchema, custom_fields
from search_plugin.engines.registry import connect
from search_plugin.filters.matching import matches
from search_plugin.understanding.meaning import Meaning
from search_plugin.understanding.preferences.numbers import (
    issn_is_valid,
    orcid_is_valid,
    read_numbers,
    read_years,
    year_at_an_end,
)
from tests.search_plugin.understanding.preferences.conftest import ISSN, ORCID

DIGITS = "0123456789X"


@given(st.integers(0, 9_999_999))
def test_an_issn_has_one_right_check_digit(number):
    digits = f"{number:07}"
    check = -sum(int(digit) * weight for digit, weight in zip(digits, (8, 7, 6, 5, 4, 3, 2), strict=True)) % 11
    valid = [one for one in DIGITS if issn_is_valid(f"{digits[:4]}-{digits[4:]}{one}")]
    assert valid == [DIGITS[check]]


@given(st.integers(0, 10**15 - 1))
def test_an_orcid_has_one_right_check_digit(number):
    digits, total = f"{number:015}", 0
    for digit in digits:  # as ORCID's documentation computes it
        total = (total + int(digit)) * 2
    check = (12 - total % 11) % 11
    written = f"{digits[:4]}-{digits[4:8]}-{digits[8:12]}-{digits[12:]}"
    assert [one for one in DIGITS if orcid_is_valid(written + one)] == [DIGITS[check]]


@pytest.mark.parametrize(
    ("query", "told", "topic"),
    [
        (ISSN, f"with the ISSN {ISSN}", ""),
        (f"ISSN: {ISSN} masks", f"with the ISSN {ISSN}", "masks"),
        (ORCID, f"with the ORCID {ORCID}", ""),
        (f"https://orcid.org/{ORCID}", f"with the ORCID {ORCID}", ""),
        (f"masks orcid {ORCID}", f"with the ORCID {ORCID}", "masks"),
    ],
)
def test_a_number_that_papers_have_is_a_preference(index, query, told, topic):
    known = read_numbers(index, Meaning(query))
    assert (known.topic, [one.description for one in known.preferences], known.notes) == (topic, [told], ())


def test_a_number_that_no_paper_has_is_told(index):
    known = read_numbers(index, Meaning("1932-6203 masks"))
    assert (known.topic, known.preferences) == ("masks", ())
    assert known.notes == ("1932-6203 is an ISSN, and no paper of this index has it.",)
    wrong = read_numbers(index, Meaning("issn 1932-6204"))
    assert wrong.topic == "issn 1932-6204"
    assert wrong.notes == ("1932-6204 is no ISSN: its check digit is wrong. It was searched as words.",)


@pytest.mark.parametrize("query", ["1932-6204", "2000-2017", "2019-2020", "a1932-6203", "1932-6203-1", "masks"])
def test_other_numbers_are_left_alone(index, query):
    known = Meaning(query)
    assert read_numbers(index, known) is known


PLACES = {
    "issn": (ISSN, ("issn", "issns", "eissn", "issn_l"), (ISSN, ISSN.replace("-", ""))),
    "orcid": (
        ORCID,
        ("orcid", "orcids", "author_orcids"),
        (ORCID, ORCID.replace("-", ""), f"https://orcid.org/{ORCID}"),
    ),
}


@pytest.mark.parametrize("kind", PLACES)
def test_numbers_are_found_in_every_form_and_field_that_may_hold_them(tmp_path, kind):
    number, names, forms = PLACES[kind]
    others = [name for one in PLACES for name in PLACES[one][1] if one != kind]
    fields = [CustomField(name, "keywords" if name.endswith("s") else "keyword") for name in (*names, *others)]
    schema = IndexSchema("tiny", "f", ()).with_fields(custom_fields([*fields, CustomField("note", "keyword")]))
    index = connect(f"embedded:{tmp_path}").build("papers", schema, "s")
    held = {f"{name}-{at}": (name, form) for name in names for at, form in enumerate(forms)}
    made = [Paper(id_, "x", extra={name: [form] if name.endswith("s") else form}) for id_, (name, form) in held.items()]
    made += [Paper(f"id-{at}", "x", identifiers=(f"{kind}:{form}",)) for at, form in enumerate(forms)]
    made += [Paper("note", "x", extra={"note": number}), *(Paper(name, "x", extra={name: [number]}) for name in others)]
    assert index.upsert([Document(paper, paper.id, {}) for paper in made]) == []
    index.finish()
    (preference,) = read_numbers(index, Meaning(number)).preferences
    assert sorted(index.ids(preference.filter)) == sorted([*held, *(f"id-{at}" for at in range(len(forms)))])


def test_a_span_of_years_can_be_an_issn_if_the_query_says_so(index):
    span = next(f"2000-{last}" for last in range(2000, 2100) if issn_is_valid(f"2000-{last}"))
    assert read_numbers(index, Meaning(span)).notes == ()
    assert "is an ISSN" in read_numbers(index, Meaning(f"ISSN {span}")).notes[0]


@pytest.mark.parametrize(
    ("query", "told", "topic", "sure"),
    [
        ("1979", "from 1979", "", True),
        ("papers from 1979", "from 1979", "", True),
        ("since 2019", "since 2019", "", True),
        ("papers from 2020 about remdesivir", "from 2020", "remdesivir", True),
        ("articles published in 2020 on masks", "from 2020", "masks", True),
        ("2020 papers on masks", "from 2020", "masks", True),
        ("papers about masks from 2020", "from 2020", "masks", True),
        ("masks published 2020", "from 2020", "masks", True),
        ("masks since 2019", "since 2019", "masks", True),
        ("masks after 2019", "after 2019", "masks", True),
        ("masks before 2019", "before 2019", "masks", True),
        ("masks until 2019", "until 2019", "masks", True),
        ("masks between 2019 and 2021", "from 2019 to 2021", "masks", True),
        ("before 2019 masks", "before 2019", "masks", True),
        ("masks 2019, 2021", "from 2019 or 2021", "masks", False),
        ("masks 2021 2019 2020", "from 2019, 2020 or 2021", "masks", False),
        ("papers from 2019/2020 about masks", "from 2019 or 2020", "masks", True),
        ("masks, 2019-2021", "from 2019 to 2021", "masks", False),
        ("review of transmission routes 2020", "from 2020", "review of transmission routes", False),
        ("masks (2020)", "from 2020", "masks", False),
        ("masks in 2020", "from 2020", "masks", False),
    ],
)
def test_years_are_read_at_the_beginning_and_the_end(query, told, topic, sure):
    read = read_years(query)
    assert (read.preference.description, read.topic, read.sure) == (told, topic, sure)
    assert read.preference.kind == "year"


@pytest.mark.parametrize(
    "query",
    [
        "masks",
        "2009 influenza pandemic",
        "the 2008 crisis and health",
        "masks 2021-2019",
        "masks 12019",
        "NCT02020 masks",
        "masks 1066",
        "What was the incidence of dengue in 2019?",
        "Incidence of sepsis has risen from 2009 to 2014.",
        "Incidence of heart failure decreased by 10% in women since 1979.",
    ],
)
def test_other_numbers_and_sentences_are_left_alone(query):
    assert read_years(query) is None


@pytest.mark.parametrize(
    "query",
    [
        "Papers about masks from 2020",
        "PAPERS FROM 2020 ABOUT masks",
        "2020 Preprints On masks",
        "Masks Published 2020",
        "Since 2020 masks",
        "masks Since 2020",
    ],
)
def test_words_about_papers_are_known_in_any_case(query):
    assert (read_years(query).topic.lower(), read_years(query).sure) == ("masks", True)


def test_a_bare_year_has_the_word_before_it_which_may_make_a_term():
    assert read_years("coronavirus disease 2019").term == ("disease", "2019")
    assert read_years("masks since 2019").term == read_years("masks in 2019").term == read_years("1979").term == ()


@pytest.mark.parametrize(
    ("query", "told", "rest"),
    [
        ("2020 masks", "from 2020", "masks"),
        ("masks 2020", "from 2020", "masks"),
        ("masks (2020).", "from 2020", "masks"),
        ("2020", "from 2020", ""),
    ],
)
def test_a_bare_year_at_an_end(query, told, rest):
    year, other = year_at_an_end(query)
    assert (year.description, other) == (told, rest)
    assert year_at_an_end("masks of 2020 again") is None


@given(first=st.integers(1500, 2099), last=st.integers(1500, 2099), year=st.integers(1490, 2110))
@example(first=2019, last=2019, year=2019)
def test_a_span_matches_its_years(first, last, year):
    read, paper = read_years(f"masks between {first} and {last}"), Paper("a", "b", year=year)
    assert (read is None) == (last < first)
    if read:
        assert matches(read.preference.filter, paper) == (first <= year <= last)
    for when, expected in (("since", year >= first), ("after", year > first), ("before", year < first)):
        assert matches(read_years(f"masks {when} {first}").preference.filter, paper) == expected
    assert matches(read_years(f"masks until {first}").preference.filter, paper) == (year <= first)


@given(st.text(max_size=60))
@example("\r")
def test_any_text_can_be_read(text):
    for query in (text, f"{text} 2020", f"2020 {text}"):
        if query.strip():
            read_years(query)
            year_at_an_end(query)
