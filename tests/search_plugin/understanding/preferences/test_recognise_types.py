"""Types of publication in a query's words."""

from __future__ import annotations

import re

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
        ("A REVIEW OF transmission routes", "Review", "transmission routes"),
        ("transmission routes Review", "Review", "transmission routes"),
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


HELD = (
    *("Randomized Controlled Trial", "Controlled Clinical Trial", "Clinical Trial", "Practice Guideline", "Editorial"),
    *("Case Reports", "Observational Study", "Systematic Review", "Review", "Meta-Analysis"),
)


class Types:
    """Stands for an index that holds these types, and in which no words stand side by side."""

    def __init__(self, index, held):
        self.schema, self._held = index.schema, held

    @staticmethod
    def cached(_key, _find):
        return "0"

    def matching_values(self, patterns):
        (expressions,) = patterns.values()
        return {"types": [one for one in self._held if any(re.fullmatch(each, one) for each in expressions)]}


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("rct", "Randomized Controlled Trial"),
        ("RCTs", "Randomized Controlled Trial"),
        ("randomized trial", "Randomized Controlled Trial"),
        ("randomised trials", "Randomized Controlled Trial"),
        ("randomised clinical trial", "Randomized Controlled Trial"),
        ("randomized controlled clinical trial", "Randomized Controlled Trial"),
        ("randomised controlled trials", "Randomized Controlled Trial"),
        ("controlled trial", "Controlled Clinical Trial"),
        ("controlled clinical trial", "Controlled Clinical Trial"),
        ("trial", "Clinical Trial"),
        ("clinical trials", "Clinical Trial"),
        ("guidelines", "Practice Guideline"),
        ("practice guideline", "Practice Guideline"),
        ("observational studies", "Observational Study"),
        ("case report", "Case Reports"),
        ("editorials", "Editorial"),
        ("systematic reviews", "Systematic Review"),
        ("scoping review", "Review"),
        ("meta\u2010analyses", "Meta-Analysis"),
    ],
)
def test_the_names_that_people_type_are_those_of_databases(index, typed, told):
    preference, rest = preferred_type(Types(index, HELD), f"{typed} of masks in trams")
    assert (preference.description, rest) == (f"of the type {told}", "masks in trams")
    assert preference.filter == Or((OneOf("types", (told,)), Says("title", typed)))


def test_a_type_that_no_paper_has_is_no_preference_but_for_kinds_of_reviews(index):
    assert preferred_type(Types(index, ["Review"]), "rct of masks") is None
    preference, _ = preferred_type(Types(index, ["Review", "review"]), "systematic review of masks")
    assert preference.description == "of the type Review or review"


@pytest.mark.parametrize(("words", "found"), [(10, True), (11, False)])
def test_a_query_of_up_to_ten_words_may_name_a_type(index, words, found):
    query = " ".join(["review of", *["masks"] * (words - 2)])
    assert (preferred_type(Types(index, HELD), query) is not None) == found
