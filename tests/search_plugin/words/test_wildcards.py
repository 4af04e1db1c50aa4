"""Words with wildcards, compared with words as they are written and with the terms of engines."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_plugin.words.wildcards import is_like, is_pattern, patterned_terms, stems_of

_ENGLISH = """
vaccination vaccinated vaccines hospitalization hospitalized hospitalised randomized randomised randomization
happiness mortality studies studied therapies therapeutic immunity immunotherapies anxiety anaemia anemia
organizations nationality effectiveness sensitivity adherence compliance classification diagnoses diagnosis
neighbourhoods functional usefulness behaviour behavioral communities childhood cardiologists activities
previously clinically disabilities dependency oncological arteritis specificity representatives conditionally
interfering favourably discovered ratings
"""
ENGLISH = _ENGLISH.split()
_OTHERS = """
krankheit krankheiten kranken impfung impfungen vaccination vaccinations vaccinales constamment constante enfermedad
enfermedades infecciones frecuencia frecuente dying dies tying ability able stability stable skies sky happily happy
"""
OTHERS = _OTHERS.split()


def misses(pattern, word, language="english"):
    """Return the terms of a word that engines would not find by a pattern."""
    known = patterned_terms(pattern, language)
    terms = {word, *stems_of([word], language)} - {""}
    return {term for term in terms if term not in known.terms and not re.fullmatch(known.expression, term)}


@given(st.sampled_from(ENGLISH), st.data())
def test_engines_find_every_word_that_begins_so(word, data):
    start = word[: data.draw(st.integers(3, len(word)))]
    assert is_like(f"{start}*", word)
    assert misses(f"{start}*", word) == set()


@pytest.mark.slow
@given(st.sampled_from(ENGLISH), st.data())
def test_engines_find_every_word_with_other_letters_in_the_place_of_a_sign(word, data):
    at = data.draw(st.integers(2, len(word) - 2))
    upto = data.draw(st.integers(at, len(word) - 1))
    patterns = [f"{word[:at]}?{word[at + 1 :]}", f"{word[:at]}?{word[at:]}", f"{word[:at]}*{word[upto:]}"]
    patterns += [f"{word[:at]}?{word[at + 1 : upto]}*", f"*{word[at:upto]}*"]
    for pattern in filter(is_pattern, patterns):
        assert is_like(pattern, word)
        assert misses(pattern, word) == set() or patterned_terms(pattern, "english").partial


@pytest.mark.parametrize(
    ("pattern", "word"),
    [
        ("ho*lization", "hospitalization"),
        ("se*vity", "sensitivity"),
        ("on*cal", "oncological"),
        ("ar*tis", "arteritis"),
    ],
)
def test_an_end_of_which_the_stemmer_cuts_off_more_is_found(pattern, word):
    assert is_like(pattern, word)
    assert misses(pattern, word) == set()


def test_a_pattern_that_may_leave_out_words_says_so():
    assert not patterned_terms("*emia", "english").partial
    assert not patterned_terms("vacc*ation", "english").partial
    assert patterned_terms("*itis", "english").partial  # hepatitis has the stem hepat


@pytest.mark.parametrize("language", ["english", "german", "french", "spanish"])
@given(st.sampled_from([*ENGLISH, *OTHERS]), st.sampled_from([*ENGLISH, *OTHERS]), st.data())
def test_a_term_that_is_sure_has_only_words_that_begin_so(language, word, other, data):
    start = other[: data.draw(st.integers(3, len(other)))]
    known = patterned_terms(f"{start}*", language)
    for term in set(stems_of([word], language)) - {""}:
        if re.fullmatch(known.expression, term) and not known.is_unsure(term):
            assert is_like(f"{start}*", word)


def test_one_word_of_a_stem_makes_it_unsure():
    known = patterned_terms("hospitaliz*", "english")
    (stem,) = set(stems_of(["hospital"], "english"))
    assert stem in known.terms
    assert known.is_unsure(stem)
    assert not patterned_terms("hospit*", "english").is_unsure(stem)


@pytest.mark.parametrize(
    ("pattern", "word", "is_so"),
    [
        ("colo?r", "color", True),
        ("colo?r", "colour", True),
        ("colo?r", "colours", False),
        ("colo?r*", "colours", True),
        ("colo?r", "collar", False),
        ("wom?n", "women", True),
        ("wom?n", "womb", False),
        ("hea*che", "headache", True),
        ("hospitali*ed", "hospitalized", True),
        ("hospitali*ed", "hostile", False),
        ("comp*er", "computer", True),
        ("comp*er", "compost", False),
        ("can*er", "cancer", True),
        ("can*er", "canal", False),
        ("hospitaliz*", "hospital", False),
        ("hospitaliz*", "hospitalized", True),
        ("mortalit*", "mortal", False),
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
    assert is_like(pattern, word) == is_so


def test_words_of_other_languages_are_compared_by_their_beginnings():
    assert is_like("krankheit*", "Krankheiten")
    assert misses("krankheit*", "krankheiten", "german") == set()


def test_words_without_stems_are_sure():
    known = patterned_terms("vac*ne*", "cjk")
    assert (known.terms, known.unsure, known.unsure_expression) == ((), (), "")


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
    known = patterned_terms(pattern, "english")
    for expression in (known.expression, known.unsure_expression):
        assert re.fullmatch(r"[a-z0-9.*?()|]*", expression)
        re.compile(expression)
