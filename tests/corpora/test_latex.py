import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.markup import with_accents


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r"Schr\"odinger, Schr{\"o}dinger and Schr\"{o}dinger", "Schrödinger, Schrödinger and Schrödinger"),
        (r"Erd\H{o}s, \v{S}koda, \v Skoda, Poincar\'{e}", "Erdős, Škoda, Škoda, Poincaré"),
        (r"na\"{\i}ve, Stra{\ss}e, {\O}re, \L{}odz, \aa", "naïve, Straße, Øre, Łodz, å"),
        (r"{\'E}cole {a \'e b}", "École {a é b}"),
    ],
)
def test_accents(written, text):
    assert with_accents(written) == text


@pytest.mark.parametrize(
    "text", [r"$\'a + \o$", r"\alpha \vec x \left( \cite{a} \over", r"\dot x", "no macro", r"\'x", r"50\% \& more"]
)
def test_mathematics_and_other_macros_stay(text):
    assert with_accents(text) == text


@given(
    st.sampled_from("aceinouyAEIOU"), st.sampled_from(["'", "`", "^", '"']), st.sampled_from(["{0}{1}", "{0}{{{1}}}"])
)
def test_each_accent_is_what_unicode_says(letter, accent, form):
    combining = {"'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308"}[accent]
    whole = unicodedata.normalize("NFC", letter + combining)
    if len(whole) == 1:
        assert with_accents("\\" + form.format(accent, letter)) == whole


@given(st.text(st.sampled_from("\\{}'\"ovHc $i"), max_size=40))
def test_it_never_fails(text):
    assert isinstance(with_accents(text), str)
