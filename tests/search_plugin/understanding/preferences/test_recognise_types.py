"""Types of publication in a query's words."""

from __future__ import annotations

import pytest

from search_plugin.contract.tree import OneOf, Or, Says
from search_plugin.understanding.preferences.recognise import preferred_type


@pytest.mark.parametrize(
    ("query", "told", "topic"),
    [
        ("meta-analysis of hydroxychloroquine", "Meta-Analysis", "hydroxychloroquine"),
        ("a meta analysis of hydroxychloroquine", "Meta-Analysis", "hydroxychloroquine"),
        ("Meta-analyses on hydroxychloroquine", "Meta-Analysis", "hydroxychloroquine"),
        ("hydroxychloroquine meta-analysis", "Meta-Analysis", "hydroxychloroquine"),
        ("review of transmission routes", "Review", "transmission routes"),
        ("literature review transmission routes", "Review", "transmission routes"),
        ("transmission routes reviews", "Review", "transmission routes"),
    ],
)
def test_a_type_is_read_at_the_beginning_and_the_end(index, query, told, topic):
    preference, rest = preferred_type(index, query)
    assert (preference.kind, preference.description, rest) == ("type", f"of the type {told}", topic)


def test_a_title_that_says_the_type_counts_too(index):
    preference, _ = preferred_type(index, "meta-analysis of hydroxychloroquine")
    assert preference.filter == Or((OneOf("types", ("Meta-Analysis",)), Says("title", "meta-analysis")))


@pytest.mark.parametrize(
    "query",
    [
        "peer review",
        "review",
        "masks",
        "systematic trial of masks",
        "case reports of masks",
        "a trial and a review of masks in schools and trams for children of ten years",
    ],
)
def test_other_words_are_left_alone(index, query):
    assert preferred_type(index, query) is None
