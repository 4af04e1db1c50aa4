"""Any text is read without an exception, and what is read is sound."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from corpora.paper import Paper
from search_plugin.contract.tree import And, Nearness, Not, Or, Wild, WildPhrase
from search_plugin.filters.matching import matches
from search_plugin.filters.parse import MAX_LENGTH, as_query, parse_filter
from search_plugin.request import SearchRequest, clean_query, make_request, typed_query
from search_plugin.understanding.expansion import expand
from search_plugin.understanding.queries import read_query
from tests.chance import drawn, effort
from tests.search_plugin.filters.written import to_text

_WITHOUT_SPACES = """
" \u201c \u201d \u00ab ( ) (( )) - \u2212 -- : .. , . AND OR NOT and
title: author: year: journal: retracted: unknown: http:// AUTHOR: [tiab] [mh] [ti:~3] .ti,ab. /exp / :ti NEAR/3 adj3
TI= PY= vir* TITLE-ABS-KEY( w?m?n $ ? [au] ti: #1 ~2 [zz] 5-HT2A TNF-alpha Ca(2+) p<0.05 virus cells the of 2019
2019..2021 -80 °C 病毒 β İ ß e\u0301 \u0000 \ud800 \ufeff 🧬 \u202e \\ ' < > = *
"""
_WITH_SPACES = ("[mh ", "exp ", "PUBYEAR > ", " or ", " not ", "AND NOT", "\n", "\t", *[" "] * 4)
PIECES = (*_WITHOUT_SPACES.split(), *_WITH_SPACES)


def check(text):
    """Read a text, and see that nothing is lost or made up."""
    try:
        query = read_query(text)
    except InputError:  # it joins lines of a search history
        return
    plain, groups = expand(query.words)
    assert groups or plain == query.words
    if query.filter is None:
        assert query.words == text
        return
    assert all(note[0].strip() and note.endswith(".") for note in query.notes)
    for word in query.words.split():
        assert word in text
    assert as_query(query.filter)
    kinds = {type(one) for one in leaves(query.filter)}
    if WildPhrase in kinds:
        return
    assert matches(query.filter, Paper(id="x", title=query.words)) in (True, False)
    if kinds & {Wild, Nearness}:  # filters have no words for these
        return
    try:
        written = to_text(query.filter)
        written.encode()
    except UnicodeEncodeError:
        return
    assert len(written) > MAX_LENGTH or parse_filter(written) == query.filter


def leaves(where):
    match where:
        case Not(part):
            return leaves(part)
        case And(parts) | Or(parts):
            return [leaf for part in parts for leaf in leaves(part)]
    return [where]


@pytest.mark.slow
def test_any_mixture_of_operators_is_read():
    chance = drawn()
    for _ in range(effort(5_000, 15_000, 100_000)):
        check("".join(chance.choices(PIECES, k=chance.randint(1, 14))))


@given(st.text(max_size=200) | st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=30).map("".join))
def test_any_text_is_read(text):
    check(text)
    try:
        typed = typed_query(text)
        made = make_request(text)
    except InputError:
        return
    assert made.query == typed
    assert SearchRequest(text).query == clean_query(text)


@pytest.mark.parametrize(
    "text", ["(" * 10_000, "-" * 10_000, '"' * 9_999, "NOT " * 2_500, "-(" * 5_000, "(a OR " * 1_600, "a:" * 5_000]
)
def test_absurd_texts_are_read(text):
    check(text)


@given(st.text(st.sampled_from("abc äß-'.,;/+<>=0123 病"), max_size=80))
def test_words_without_signs_are_plain(text):
    # A sign before a word excludes it, and one after it makes it a subject heading.
    plain = " ".join(text.replace("-", "a-").replace("/", "/a").split())
    assert read_query(plain).filter is None
    assert read_query(plain).words == plain


WORDS = ("cat", "dog", "cow")
trees = st.recursive(
    st.sampled_from(WORDS),
    lambda inner: st.tuples(st.sampled_from(["AND", "OR"]), inner, inner) | st.tuples(st.just("NOT"), inner),
    max_leaves=6,
)


def written(tree):
    match tree:
        case str():
            return tree
        case ("NOT", part):
            return f"NOT ({written(part)})"
        case (operator, one, other):
            return f"({written(one)}) {operator} ({written(other)})"


def holds(tree, words):
    match tree:
        case str():
            return tree in words
        case ("NOT", part):
            return not holds(part, words)
        case ("AND", one, other):
            return holds(one, words) and holds(other, words)
        case ("OR", one, other):
            return holds(one, words) or holds(other, words)


@given(trees.filter(lambda tree: not isinstance(tree, str)), st.sets(st.sampled_from(WORDS)))
def test_operators_mean_what_logic_says(tree, words):
    where = read_query(written(tree)).filter
    found = where is None or matches(where, Paper(id="x", title=" and ".join(sorted(words)) or "-"))
    assert found == holds(tree, words) or where is None
