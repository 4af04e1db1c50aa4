"""Abstracts in their parts."""

import pytest

from ses.service.web.paper import abstract_parts


def test_labels_in_capitals_and_known_ones_part_an_abstract():
    text = "AIM: To see. METHODS AND MATERIALS: We looked: twice. Results: It is seen. CONCLUSION: Yes."
    assert [tuple(one) for one in abstract_parts(text)] == [
        ("Aim", "To see."),
        ("Methods and materials", "We looked: twice."),
        ("Results", "It is seen."),
        ("Conclusion", "Yes."),
    ]


def test_what_stands_before_the_first_label_is_kept():
    parts = abstract_parts("A sentence. BACKGROUND: Once. RESULTS: Twice.")
    assert [one.label for one in parts] == ["", "Background", "Results"]
    assert parts[0].text == "A sentence."


@pytest.mark.parametrize(
    "text",
    [
        "No label at all.",
        "One only. RESULTS: It is seen.",
        "The ratio was 3:1. Others said: no. and results: none. We saw methods: two.",
        "DNA: a molecule",
    ],
)
def test_other_colons_part_nothing(text):
    assert [tuple(one) for one in abstract_parts(text)] == [("", text)]


def test_no_text_has_no_parts():
    assert list(abstract_parts("")) == []


def test_long_texts_take_no_longer():
    assert len(abstract_parts("A" * 100_000)) == 1
    assert len(abstract_parts("METHODS " * 20_000)) == 1
