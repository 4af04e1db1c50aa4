"""Texts in any case, prefixes and names: the expressions find all that the reference accepts."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from search_plugin.contract.tree import Alike
from search_plugin.filters.matching import accepts, beginnings, closeness, fold, joined, patterns
from tests.search_plugin.filters.test_filters import WORDS
from tests.search_plugin.words.test_names import SAME


def like(manner, *values):
    return Alike("venue", manner, values)


def finds(expressions, value):
    return any(re.fullmatch(expression, value, re.DOTALL) for expression in expressions)


@pytest.mark.parametrize(
    ("condition", "yes", "no"),
    [
        (like("same", "the lancet"), ["The Lancet", "THE LANCET"], ["Lancet", "The Lancet Oncology"]),
        (like("same", "ÉTUDES"), ["Études"], ["Etudes"]),
        (like("prefix", "lancet"), ["Lancet", "Lancet Oncology"], ["The Lancet"]),
        (like("same", "a", "B"), ["A", "b"], ["c"]),
        (like("name", "Toth EA"), ["Eric A Toth", "toth ea"], ["Bela Toth"]),
        (
            like("family", "Tot"),
            ["Eric A Toth", "Tóth, Ödön", "toth ea", "Total Research Group"],
            ["Berg, Totila", "Ott E"],
        ),
        (like("family", "Toth E"), ["Eric A Toth", "Toth, E. A."], ["Bela Toth", "Totheim, E"]),
        (like("family", "Toth EA"), ["Eric A Toth"], ["Totheaux, B"]),
        (like("family", "Mü"), ["A Mueller", "Muller, B", "Jörg Müller"], ["Moller, B"]),
        (Alike("language", "same", ("English", "fre")), ["eng", "EN", "english", "fra", "French"], ["ger", "e"]),
        (Alike("language", "same", ("xx",)), ["XX"], ["x"]),
        (Alike("language", "prefix", ("en",)), ["eng", "enm"], ["ger"]),
        (like("same", "english"), ["English"], ["eng"]),
    ],
)
def test_what_is_alike(condition, yes, no):
    assert [accepts(condition, value) for value in yes] == [True] * len(yes)
    assert [accepts(condition, value) for value in no] == [False] * len(no)


@pytest.mark.slow
def test_case_is_folded_letter_by_letter():
    for code in range(sys.maxunicode + 1):
        if not 0xD800 <= code < 0xE000:
            char = chr(code)
            assert len(fold(char)) == 1
            assert fold(char).isascii() == char.isascii()
    assert fold("\u00c5\u03a3K\u212a") == "\u00e5\u03c3k\u212a"


texts = st.sampled_from(WORDS) | st.text(max_size=60) | st.text(st.sampled_from("aAbB .*|()[]\\é"), max_size=60)


@given(texts, st.data())
def test_the_expressions_find_all_that_is_accepted(value, data):
    changed = data.draw(st.sampled_from([value, value.upper(), value.lower(), value.swapcase(), value.title()]))
    for condition, stored in ((like("same", value), changed), (like("prefix", value), changed + data.draw(texts))):
        if accepts(condition, stored):
            assert finds(patterns(condition), stored)
            assert finds(joined(patterns(condition)), stored)


@pytest.mark.parametrize(("typed", "stored"), SAME)
def test_the_expressions_find_names(typed, stored):
    assert finds(patterns(like("name", typed)), stored)


letters = st.text(st.sampled_from("abeostuhéüøæß'-"), min_size=2, max_size=10)


@given(letters, letters, st.sampled_from(["{1} {0}", "{0}, {1}", "{0} {1}"]))
@example("Fuerst", "Thomas", "{1} {0}")
def test_the_expressions_find_any_name_that_is_accepted(family, first, form):
    for typed in (family, family.upper(), family.replace("ü", "ue").replace("é", "e").replace("ß", "ss")):
        stored = form.format(family, first)
        for condition in (like("name", typed), *(like("family", typed[:length]) for length in range(1, len(typed)))):
            if accepts(condition, stored):
                assert finds(patterns(condition), stored)


def test_expressions_hold_nothing_of_the_user_that_could_be_syntax():
    hostile = like("same", 'a.*|()[]{}"~@#&<1-9>\\^$?+x')
    assert re.fullmatch(r"[\[\]\-~ 0-9a-zA-Z]*", patterns(hostile)[0])
    assert all(len(one) <= 1_000 for manner in ("same", "prefix", "name") for one in patterns(like(manner, "x y" * 99)))
    assert len(joined([f"[a]{number}" for number in range(1_000)])) < 20


def test_the_nearest_values_are_looked_for_by_how_their_words_begin():
    expressions = beginnings(["Lancte", "New Egland"])
    assert all(finds(expressions, value) for value in ("The Lancet", "lancet", "N. Engl. J. Med. New", "NEJM new"))
    assert not finds(expressions, "Nature")
    assert closeness("same", "Lancte", "The Lancet") > closeness("same", "Lancte", "Landscape Ecology")
    assert closeness("same", "lancet", "The Lancet") > 0.8
    assert closeness("name", "Faucci", "Anthony S Fauci") > 0.9
    assert closeness("name", "Faucci", "Ciro Rossi") < 0.5
