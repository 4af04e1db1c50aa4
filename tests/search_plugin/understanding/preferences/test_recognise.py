"""What a query names comes first, and the page says what it was."""

from __future__ import annotations

import pytest

from search_plugin.contract.tree import And, Says
from search_plugin.understanding.meaning import Meaning
from search_plugin.understanding.preferences.recognise import recognise
from tests.search_plugin.understanding.preferences.conftest import ISSN, JMV, NEJM, ORCID

SMITH = "Smith, J., Smith, Jane, Smith, John"


@pytest.mark.parametrize(
    ("query", "first", "told"),
    [
        ("J Med Virol 2020 masks", ["jmv-2020", "jmv-2021"], f"Papers in {JMV} from 2020 come first."),
        ("masks J Med Virol 2021", ["jmv-2021", "jmv-2020"], f"Papers in {JMV} from 2021 come first."),
        ("N Engl J Med hypertension", ["nejm"], f"Papers in {NEJM} come first."),
        ("smith j 2019 diabetes", ["smith-diabetes"], f"Papers by {SMITH} from 2019 come first."),
        ("Smith et al. diabetes", ["smith-diabetes"], f"Papers by {SMITH} come first."),
        ("diabetes Smith et al 2019", ["smith-diabetes"], f"Papers by {SMITH} from 2019 come first."),
        ("diabetes Smith J 2019", ["smith-diabetes"], f"Papers by {SMITH} from 2019 come first."),
        ("masks John Smith 2020", ["jmv-2020"], "Papers by Smith, J., Smith, John from 2020 come first."),
        ("transmission routes 2020", ["review-2020"], "Papers from 2020 come first."),
        ("papers from 2020 about masks", ["lancet", "jmv-2020"], "Papers from 2020 come first."),
        ("review of transmission routes 2020", ["review-2020"], "Papers from 2020 of the type Review come first."),
        ("review of transmission routes", ["review", "review-2020"], "Papers of the type Review come first."),
        ("meta-analysis of hydroxychloroquine", ["meta", "titled"], "Papers of the type Meta-Analysis come first."),
        ("aspirin vs placebo", ["both"], "Papers with both aspirin and placebo come first."),
        (f"{ISSN} masks", ["jmv-2020"], f"Papers with the ISSN {ISSN} come first."),
    ],
)  # fmt: skip
def test_papers_that_have_what_a_query_names_come_first(asked, query, first, told):
    page = asked(query)
    assert {hit.id for hit in page.hits[: len(first)]} == set(first)
    if len(first) == 2 and "2" in query:
        assert told.split()[-3] != "from" or page.hits[0].paper.year == int(told.split()[-3])
    assert page.notes[0] == told


@pytest.mark.parametrize(
    ("query", "ids", "told"),
    [
        ("2018", {"lung", "pnas"}, "Papers from 2018, the latest first."),
        ("J Med Virol 2020", {"jmv-2020", "jmv-cats"}, f"Papers in {JMV} from 2020, the latest first."),
        ("smith j 2019", {"smith-diabetes", "nejm"}, f"Papers by {SMITH} from 2019, the latest first."),
        ("2020 John Smith", {"jmv-2020"}, "Papers by Smith, J., Smith, John from 2020, the latest first."),
        ("papers by Smith J from 2020", {"jmv-2020"}, f"Papers by {SMITH} from 2020, the latest first."),
        (ORCID, {"nature"}, f"Papers with the ORCID {ORCID}, the latest first."),
    ],
)  # fmt: skip
def test_without_a_topic_the_papers_are_listed(asked, query, ids, told):
    page = asked(query)
    assert ({hit.id for hit in page}, page.notes) == (ids, (told,))
    assert page.candidates == len(ids)


@pytest.mark.parametrize(
    ("query", "notes"),
    [
        ("1979", ("No paper of this index is from 1979.",)),
        ("masks 1979", ("No paper of this index is from 1979.",)),
        ("papers from 2018 about masks", ("No paper from 2018 matches the other words well.",)),
        (
            "N Engl J Med 2020 hypertension",
            (f"No paper in {NEJM} from 2020 matches the other words well; other papers in this venue come first.",),
        ),
        (
            f"{ISSN} masks 2019",
            (
                f"No paper with the ISSN {ISSN} from 2019 matches the other words well; other papers with this number "
                "come first.",
            ),
        ),
        ("smith j 1999", (f"No paper of this index is by {SMITH} from 1999.",)),
        ("papers by Zzyzx", ("No paper of the index papers has authors = Zzyzx.",)),
        ("Zzyzx et al masks", ("No paper of the index papers has authors = Zzyzx.",)),
        ("et al", ('Write the name of an author before "et al".',)),
        ("J Xyzz Stud masks", ("The query seems to name a journal, but no venue of this index has such a name.",)),
    ],
)
def test_what_was_named_and_not_found_is_told(asked, query, notes):
    assert asked(query).notes[: len(notes)] == notes


@pytest.mark.parametrize(
    "query", ["coronavirus disease 2019", "peer review", "lung cancer", "masks in trams", "aspirin vs masks"]
)
def test_ordinary_queries_are_left_alone(asked, query):
    assert asked(query).notes == ()


def test_a_search_for_the_words_as_typed_prefers_nothing(asked):
    assert asked("transmission routes 2020", verbatim=True).notes == ()


def test_a_filter_holds_for_preferred_papers(asked):
    page = asked("J Med Virol masks", filter="year=2021")
    assert [hit.id for hit in page] == ["jmv-2021"]
    none = asked("J Med Virol", filter="year=1999")
    assert (none.hits, none.notes) == ((), (f"No paper of this index that passes the filter is in {JMV}.",))


def test_a_paper_that_hardly_matches_the_topic_does_not_come_first(asked):
    page = asked("transmission routes trams 2020")
    ids = [hit.id for hit in page]
    assert ids[0] == "review-2020"
    assert ids.index("routes") < ids.index("lancet")


@pytest.mark.parametrize(
    ("query", "compared"),
    [
        ("aspirin of one two three four vs placebo", True),  # eight words
        ("aspirin of one two three four five vs placebo", False),
        ("Aspirin versus placebo?", True),
        ("aspirin vs. placebo", True),
        ("Aspirin VS placebo", True),
        ("the vs placebo", False),
        ("aspirin vs the", False),
    ],
)
def test_a_short_query_may_compare_two_things(index, query, compared):
    kinds = [one.kind for one in recognise(index, Meaning(query), None).preferences]
    assert kinds == (["compared"] if compared else [])


def test_papers_must_say_all_words_of_both_sides_but_small_ones(index):
    (both,) = recognise(index, Meaning("the aspirin vs placebo in trams"), None).preferences
    assert both.filter == And(tuple(Says("text", word) for word in ("aspirin", "placebo", "trams")))
    assert both.description == "with both the aspirin and placebo in trams"
