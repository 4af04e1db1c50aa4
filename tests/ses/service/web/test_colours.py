"""The colour of a site can be read in both themes."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ses.service.web.colours import accent_rules, colour, contrast, readable

pytestmark = pytest.mark.serve

COLOURS = st.integers(0, 0xFFFFFF).map("#{:06x}".format)


def test_contrast_is_that_of_wcag():
    # Examples of the tutorials of W3C: black on white, and the lightest grey that passes on white.
    assert contrast("#000000", "#ffffff") == 21
    assert round(contrast("#767676", "#ffffff"), 2) == 4.54


@given(COLOURS)
def test_text_and_buttons_can_be_read_in_both_themes(given):
    rules = accent_rules(given)
    accents, texts = (re.findall(rf"{name}: (#\w+)", rules) for name in ("--accent", "--on-accent"))
    for background, accent, text in zip(("#ffffff", "#15171a"), accents, texts, strict=True):
        assert contrast(accent, background) >= 4.5
        assert contrast(text, accent) >= 4.5


def test_a_colour_that_can_be_read_stays():
    assert readable("#22608c", "#f3f1ec") == "#22608c"
    assert colour("#1A5FB4") == "#1a5fb4"
    for wrong in ("red", "#12345", "#1234567", "#12345g", "#123456\n", 5, "#fff;} body{display:none"):
        with pytest.raises(ValueError, match="six hexadecimal digits"):
            colour(wrong)
