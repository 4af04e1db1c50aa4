"""Where the sentences of a text are."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_plugin.words.sentences import MOST, Sentence, sentence_texts, sentences, sentences_of


def split(text):
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("We ran. They hid.", ["We ran.", "They hid."]),
        (" One sentence without its stop ", ["One sentence without its stop"]),
        ("Is it so? Yes! (It is.) And so on.", ["Is it so?", "Yes!", "(It is.)", "And so on."]),
        ("Mice (e.g. Mus) and E. coli grew by 3.5 %. Rats, cf. Fig. 2, did not.", 2),
        ("Smith et al. Showed it vs. Jones. No. 5 is B. Pumilus.", 2),
        ("Seen in children.Data were collected (GMFM).Seventeen took part.", 3),
        ("As shown (pp. 2784-2799). Wang, Proc. Natl. Acad. Sci. and others.", 2),
        ("At pH 7.5 and 20 degrees. 16 mice died.", 2),
        ("RESULTS: p = .05. CONCLUSION: It works.", ["RESULTS: p = .05.", "CONCLUSION: It works."]),
        ("\u75c5\u6bd2\u3002 \u80ba\uff01", ["\u75c5\u6bd2\u3002", "\u80ba\uff01"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_sentences_by_hand(text, wanted):
    found = split(text)
    assert found == wanted if isinstance(wanted, list) else len(found) == wanted


_PARTS = st.lists(
    st.one_of(st.sampled_from(["We", "e.g.", "et al.", "A.", "3.5", "end.", "Is?", "(x).", ".", "\n", ""]), st.text()),
    max_size=20,
)


@given(_PARTS.map(" ".join))
def test_sentences_hold_everything_but_blanks_in_order(text):
    places = sentences(text)
    borders = [0, *(border for place in places for border in place), len(text)]
    assert borders == sorted(borders)
    assert all(start < end and text[start:end].strip() == text[start:end] for start, end in places)
    between = [text[end:start] for end, start in zip(borders[::2], borders[1::2], strict=True)]
    assert not "".join(between).strip()


def test_a_paper_has_at_least_one_sentence_and_at_most_some():
    assert sentences_of("A title", "") == [Sentence("title", 0, 7)]
    assert sentences_of("A title", " \n ") == [Sentence("title", 0, 7)]
    assert sentences_of("", "") == [Sentence("title", 0, 0)]
    assert sentences_of("A title", "One. Two.") == [Sentence("abstract", 0, 4), Sentence("abstract", 5, 9)]
    for count in (MOST, MOST + 1, 3 * MOST):
        text = "It ran. " * count
        found = sentences_of("A title", text)
        assert len(found) == MOST
        assert found[-2].end - found[-2].start == len("It ran.")
        assert found[-1].end == len(text.rstrip())


def test_a_sentence_is_a_text_with_its_title_in_front():
    card = SimpleNamespace(text=lambda title, abstract: f"{title}|{abstract}")
    assert sentence_texts("Title", "One. Two.", card) == ["Title|One.", "Title|Two."]
    assert sentence_texts("Title", "", card) == ["Title|"]
