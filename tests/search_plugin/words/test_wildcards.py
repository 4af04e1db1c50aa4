"""Words with wildcards, compared with terms."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_plugin.contract.tree import Wild
from search_plugin.words.terms import term_of
from search_plugin.words.wildcards import is_pattern, terms_like

_ENGLISH = """
vaccination vaccinated vaccines hospitalization hospitalized hospitalised randomized randomised randomization
happiness mortality studies studied therapies therapeutic immunity immunotherapies anxiety anaemia anemia
organizations nationality effectiveness sensitivity adherence compliance classification diagnoses diagnosis
neighbourhoods functional usefulness behaviour behavioral communities childhood cardiologists activities
previously clinically disabilities dependency
"""
ENGLISH = _ENGLISH.split()


def accepts(pattern, word, language="english"):
    return Wild("text", pattern, *terms_like(pattern, language)).accepts(term_of(word, language))


@given(st.sampled_from(ENGLISH), st.data())
def test_a_beginning_finds_every_word_that_begins_so(word, data):
    assert accepts(word[: data.draw(st.integers(3, len(word)))] + "*", word)


@given(st.sampled_from(ENGLISH), st.data())
def test_a_sign_for_a_letter_finds_the_word_with_it_and_without(word, data):
    at = data.draw(st.integers(1, len(word) - 2))
    assert accepts(f"{word[:at]}?{word[at + 1 :]}", word)
    assert accepts(f"{word[:at]}?{word[at:]}", word)


@pytest.mark.parametrize(
    ("pattern", "word", "is_so"),
    [
        ("colo?r", "color", True),
        ("colo?r", "colours", True),
        ("colo?r", "collar", False),
        ("wom?n", "women", True),
        ("wom?n", "womb", False),
        ("hea*che", "headaches", True),
        ("hospitali*ed", "hospitalized", True),
        ("hospitali*ed", "hostile", False),
        ("comp*er", "computer", True),
        ("comp*er", "compost", False),
        ("can*er", "cancers", True),
        ("*itis", "Arthritis", True),
        ("*itis", "arthropod", False),
        ("an?emi*", "an\u00e6mic", True),
        ("VACCIN*", "Vaccines", True),
        ("vaccin*", "vacuum", False),
        ("death*", "dead", False),
    ],
)
def test_patterns(pattern, word, is_so):
    assert is_pattern(pattern)
    assert accepts(pattern, word) == is_so


def test_words_of_other_languages_are_compared_by_their_beginnings():
    assert accepts("krankheit*", "Krankheiten", "german")
    assert not accepts("krankheit*", "kranich", "german")


@pytest.mark.parametrize(
    "word",
    [
        "virus",
        "a*",
        "ab?",
        "cancer?",
        "?ancer",
        "HLA-B*27",
        "***",
        "p<0.05*",
        "\u75c5\u6bd2*",
        "a?b?c?d",
        "x" * 64 + "*",
        "",
    ],
)
def test_what_is_no_pattern(word):
    assert not is_pattern(word)


@given(st.text("abc*?é", min_size=1, max_size=12).filter(is_pattern))
def test_an_expression_has_no_syntax_of_the_user(pattern):
    terms, expression = terms_like(pattern, "english")
    assert terms or expression
    assert re.fullmatch(r"[a-z0-9.*?()|]*", expression)
    re.compile(expression)
