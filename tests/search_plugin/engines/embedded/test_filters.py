"""Filters of the embedded engine, in the word index and in columns, against their plain meaning."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.contract.tree import Says
from search_plugin.engines.embedded.engine import EmbeddedEngine
from search_plugin.filters.parse import parse_filter
from search_plugin.filters.resolve import resolve
from tests.search_plugin.engines.embedded.small import lower
from tests.search_plugin.filters.filtered import EXTREME, PAPERS, SPEAKING, WITHOUT_VALUE, expected
from tests.search_plugin.filters.test_filters import FIELDS, filters, saying

SCHEMA = IndexSchema("tiny", "0123", (paper_vector("prx", 2, "dot"),), fields=FIELDS)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("filters"), PAPERS)


@pytest.fixture(scope="module")
def speaking(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("speaking"), SPEAKING)


def filled(folder, papers):
    """An index whose papers are half in the columns of a file, half behind them."""
    with pytest.MonkeyPatch.context() as patch:
        lower(patch)
        index = EmbeddedEngine(f"embedded:{folder}").build("papers", SCHEMA, "source")
        written = [Document(paper, "h", {"prx": np.ones(2, np.float32)}) for paper in papers]
        index.upsert(written[:100])
        index.finish()
        index.upsert(written[100:160])
        index.finish()
        index.upsert(written[160:])
    return index


def found(index, where, word="t"):
    hits = index.search(Plan(word, (), where, len(PAPERS)))["lexical"]
    return {hit.id for hit in hits}, set(index.ids(where))


@pytest.mark.slow
@settings(suppress_health_check=list(HealthCheck), deadline=None)
@given(where=filters)
def test_both_sides_find_what_the_filter_means(index, where):
    assert found(index, where) == (expected(where), expected(where))


def test_a_phrase_stands_in_the_title_or_in_the_abstract(tmp_path):
    index = filled(tmp_path, [Paper("1", "a virus", abstract="lung cells"), Paper("2", "x", abstract="a virus lung")])
    assert set(index.ids(Says("text", "virus lung"))) == {"2"}


def test_stop_words_keep_their_places_in_a_phrase(tmp_path):
    said = {"1": "theory of mind", "2": "theory mind", "3": "theory of the mind", "4": "mind and theory"}
    papers = [Paper(id_, text, abstract="x") for id_, text in said.items()]
    # Title and abstract are apart, also for a phrase that begins in one and would end in the other.
    papers += [Paper(str(5 + gap), "a theory", abstract=" ".join([*["the"] * gap, "mind"])) for gap in range(3)]
    index = filled(tmp_path, papers)
    assert set(index.ids(Says("text", "theory of mind"))) == {"1"}
    assert set(index.ids(Says("text", "theory mind"))) == {"2"}
    assert set(index.ids(Says("text", "theory in the mind"))) == {"3"}


@pytest.mark.parametrize("many", [True, False])
def test_vectors_pass_by_what_few_or_most_papers_say(many, tmp_path):
    papers = [Paper(str(number), "lung" if (number > 0) == many else "cell") for number in range(9)]
    index, query = filled(tmp_path, papers), np.ones(2, np.float32)
    hits = index.search(Plan("", (VectorClause("prx", query),), Says("text", "lung"), 9))["prx"]
    assert {hit.id for hit in hits} == {paper.id for paper in papers if paper.title == "lung"}


@pytest.mark.slow
@settings(suppress_health_check=list(HealthCheck), deadline=None)
@given(where=saying)
def test_both_sides_find_what_is_said(speaking, where):
    passing = expected(where, SPEAKING)
    assert found(speaking, where, "virus") == (passing, passing)


@pytest.mark.parametrize("where", WITHOUT_VALUE, ids=str)
def test_empty_strings_stand_for_no_value_but_in_lists(index, where):
    assert found(index, where) == (expected(where), expected(where))


@pytest.mark.slow
@pytest.mark.parametrize("text", EXTREME, ids=range(len(EXTREME)))
def test_whatever_the_grammar_allows_can_be_searched(index, text):
    where = parse_filter(text)
    assert found(index, resolve(where, index).filter) == (expected(where), expected(where))
