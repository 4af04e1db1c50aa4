"""ISSN and ORCID as queries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_plugin.understanding.meaning import Meaning
from search_plugin.understanding.preferences.numbers import issn_is_valid, orcid_is_valid, read_numbers
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


def test_a_span_of_years_can_be_an_issn_if_the_query_says_so(index):
    span = next(f"2000-{last}" for last in range(2000, 2100) if issn_is_valid(f"2000-{last}"))
    assert read_numbers(index, Meaning(span)).notes == ()
    assert "is an ISSN" in read_numbers(index, Meaning(f"ISSN {span}")).notes[0]
