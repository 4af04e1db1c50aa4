"""Searches pasted from other systems, and what they become."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from corpora.paper import Paper
from search_plugin.filters.matching import matches
from search_plugin.filters.parse import as_query
from search_plugin.request import make_request
from search_plugin.understanding.queries import TypedQuery, read_query

LINES = Path(__file__).with_name("strategies.txt").read_text(encoding="utf-8").splitlines()[2:]
STRATEGIES = list(zip(LINES[::2], LINES[1::2], strict=True))
HEADINGS = "Subject headings and keywords were searched as words of title and abstract, without narrower headings."


@pytest.mark.parametrize(("typed", "condition"), STRATEGIES)
def test_a_strategy_is_the_condition_that_its_system_searches(typed, condition):
    assert as_query(read_query(typed).filter) == condition.strip()


SHOWN = [shown for _, condition in STRATEGIES if " " in (shown := condition.strip()) and "10.1000" not in shown]
"""Without the one of a DOI, whose condition has an OR in an OR, which is read as one."""


@pytest.mark.parametrize("shown", SHOWN)
def test_a_condition_as_it_is_shown_means_the_same_when_it_is_typed(shown):
    assert as_query(read_query(shown).filter) == shown


@pytest.mark.parametrize(
    ("typed", "condition"),
    [
        ("year:>=2010 AND rain NEAR/3 snow", "year:>=2010 AND (rain NEAR/3 snow)"),
        ("year:2010..2012 AND rain NEAR/3 snow", "year:>=2010 AND year:<=2012 AND (rain NEAR/3 snow)"),
        ('identifiers:"doi:10.1/x" OR rain NEAR/3 snow', 'identifiers:"doi:10.1/x" OR (rain NEAR/3 snow)'),
        ('venue:"ann surg*" AND rain NEAR/3 snow', 'venue:"ann surg*" AND (rain NEAR/3 snow)'),
        ("fields:Physics NOT retracted:true AND rain NEAR/3 snow", None),
        ("types:review AND rain NEAR/3 snow", "types:review AND (rain NEAR/3 snow)"),
        ("colour:red AND rain NEAR/3 snow", '"colour red" AND (rain NEAR/3 snow)'),
        ("rain:ti,ab AND snow NEAR/2 ice", "rain AND (snow NEAR/2 ice)"),
    ],
)
def test_fields_of_ses_stand_beside_a_nearness(typed, condition):
    shown = as_query(read_query(typed).filter)
    assert shown == (condition or "fields:Physics AND NOT retracted:true AND (rain NEAR/3 snow)")


def test_a_value_that_a_field_cannot_have_is_said_beside_a_nearness():
    read = read_query("year:>=old AND rain NEAR/3 snow")
    assert as_query(read.filter) == "rain NEAR/3 snow"
    assert '"old" can\'t be read as a value of year, so it was left out.' in read.notes


def test_there_are_sixty_strategies():
    assert len(STRATEGIES) >= 60


@pytest.mark.parametrize(
    "typed", ["1 and 2", "#1 AND #2", "or/1-3", "(1 or 2) and 3", "#4 AND cancer[tiab]", "S1 OR S2"]
)
def test_lines_of_a_history_are_refused(typed):
    with pytest.raises(InputError, match="lines of a search history by their numbers"):
        make_request(typed)


@pytest.mark.parametrize(
    "typed",
    [
        "type 1 and 2 diabetes",
        "what is cancer?",
        "DNA/RNA and/or proteins",
        "http://example.org/x/ and more",
        "HLA-DRB1*15:01 carriers",
        "mean (SD) = 3.5, p<0.05*",
        "title (a review)",
        "adj rand index",
        "the effect of an exp model",
        "[18F]FDG PET",
        "a* search",
    ],
)
def test_other_signs_are_words(typed):
    assert read_query(typed) == TypedQuery(typed)


@pytest.mark.parametrize(
    ("typed", "words", "notes"),
    [
        ("exp asthma/ and tea.ti.", "asthma tea", (HEADINGS,)),
        ("tea[ti] AND oxford[ad]", "tea", ('The field ad has no counterpart here, so "oxford" in it was left out.',)),
        ("tea:ti NOT [humans]/lim", "tea", ('The field lim has no counterpart here, so "humans" in it was left out.',)),
        (
            "TITLE(tea) AND DOCTYPE(ar) AND NOT INDEX(medline) AND (LIMIT-TO(SUBJAREA, MEDI))",
            "tea",
            (
                '"ar" can\'t be read as a value of types, so it was left out.',
                'The field index has no counterpart here, so "medline" in it was left out.',
                'The field subjarea has no counterpart here, so "MEDI" in it was left out.',
            ),
        ),
        ("tea[ti] AND soon[dp]", "tea", ('"soon" can\'t be read as a value of year, so it was left out.',)),
        ("tea[ti] AND", "tea", ("AND lacks words that it applies to, so it was left out.",)),
        ("tea[ti] OR OR masks[ti]", "tea masks", ("OR lacks words that it applies to, so it was left out.",)),
        ("(tea[ti] OR masks[ti]", "tea masks", ("Brackets that don't pair or hold nothing were left out.",)),
        (
            "tea[ti] AND the[ti]",
            "tea",
            ('"the" has no word that can be searched for, so it does not restrict the search.',),
        ),
        (
            "tea[ti] AND ab*[ti]",
            "tea",
            ("ab* was searched as a word: a wildcard needs at least three letters beside it.",),
        ),
        (
            "surviv* NEAR/3 rate",
            "rate",
            (
                "A nearness of 3 between surviv* and rate was read as AND: nearness is searched between words without "
                "wildcards, up to 7 words apart.",
            ),
        ),
        (
            "tea NEAR/15 rate",
            "tea rate",
            (
                "A nearness of 15 between tea and rate was read as AND: nearness is searched between words without "
                "wildcards, up to 7 words apart.",
            ),
        ),
    ],
)
def test_what_is_read_otherwise_is_said(typed, words, notes):
    read = read_query(typed)
    assert read.words == words
    assert read.notes == (f"The query was read as: {as_query(read.filter)}.", *notes)


def test_what_nobody_understands_is_taken_as_words():
    for typed in ("oxford[ad]", "the[ti]", "()[ti]"):
        read = read_query(typed)
        assert (read.words, read.filter) == (typed, None)
        assert "taken as words" in read.notes[0]
    deep = "(" * 40 + "tea[ti]" + ")" * 40
    assert read_query(deep).words == deep
    assert "could not be read" in read_query(deep).notes[0]


def test_a_long_condition_is_shown_in_one_line():
    typed = " OR ".join(f"word{number}[tiab]" for number in range(100))
    (note,) = read_query(typed).notes
    assert len(note) < 350
    assert note.endswith(" ....")


WORDS = ("cat", "dog", "cow")
SYSTEMS = {
    "pubmed": ("{}[tiab]", "{}[ti]", "({})", "and"),
    "ovid": ("{}.ti,ab.", "{}.ti.", "({})", "and"),
    "wos": ("TS={}", "TI=({})", "({})", "AND"),
    "scopus": ("TITLE-ABS-KEY({})", "TITLE({})", "({})", "AND"),
    "embase": ("'{}':ti,ab", "{}:ti", "({})", "AND"),
}
trees = st.recursive(
    st.tuples(st.sampled_from(["text", "title"]), st.sampled_from(WORDS)),
    lambda inner: st.tuples(st.sampled_from(["AND", "OR", "NOT"]), inner, inner),
    max_leaves=6,
)


def written(tree, system):
    text, title, bracket, _ = SYSTEMS[system]
    if len(tree) == 2:
        return (title if tree[0] == "title" else text).format(tree[1])
    operator, one, other = tree
    if operator == "NOT" and system == "scopus":
        operator = "AND NOT"
    said = operator.lower() if SYSTEMS[system][3] == "and" else operator
    return f"{bracket.format(written(one, system))} {said} {bracket.format(written(other, system))}"


def holds(tree, title, abstract):
    match tree:
        case ("title", word):
            return word in title
        case ("text", word):
            return word in title or word in abstract
        case ("AND", one, other):
            return holds(one, title, abstract) and holds(other, title, abstract)
        case ("OR", one, other):
            return holds(one, title, abstract) or holds(other, title, abstract)
        case (_, one, other):
            return holds(one, title, abstract) and not holds(other, title, abstract)


@given(trees, st.sampled_from(sorted(SYSTEMS)), *[st.sets(st.sampled_from(WORDS))] * 2)
def test_each_system_means_what_logic_says(tree, system, title, abstract):
    where = read_query(written(tree, system)).filter
    paper = Paper("x", " and ".join(sorted(title)) or "-", " and ".join(sorted(abstract)))
    assert matches(where, paper) == holds(tree, title, abstract)


@given(st.integers(0, 9), st.integers(0, 9), st.booleans())
def test_nearness_counts_the_words_between(within, between, turned):
    pair = ("tea", "cup") if turned else ("cup", "tea")
    paper = Paper("x", "Title", " ".join(["start", pair[0], *["filler"] * between, pair[1]]))
    for typed, most in ((f"tea NEAR/{within} cup", within), (f"tea adj{within + 1} cup", within)):
        where = read_query(typed).filter
        assert matches(where, paper) == (between <= most or within > 7), typed
