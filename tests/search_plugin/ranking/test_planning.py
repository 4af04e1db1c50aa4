"""From a request to the plan of an engine, and the models that may search an index."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.models.formats import Format
from search_plugin.contract.engine import check_model
from search_plugin.contract.legs import NEWEST_FIRST, parse_sort
from search_plugin.contract.plan import TermGroup
from search_plugin.contract.schema import (
    MOST_TOKENS,
    ForeignField,
    IndexSchema,
    paper_vector,
    sentence_vectors,
    sparse_field,
)
from search_plugin.filters.parse import parse_filter
from search_plugin.ranking.planning import make_plan, plan_of, text_vector
from search_plugin.request import SearchRequest

TOKENS = 2 * MOST_TOKENS
FOREIGN = (
    ForeignField("owner.cosine", "near", 2, "cosine", model="theirs", fingerprint="789a"),
    ForeignField("owner.dot", "dot", 2, "dot", model="theirs", fingerprint="789a"),
)
PRX = (paper_vector("prx", 2, "dot"), sentence_vectors(2, "dot"))
SCHEMA = IndexSchema("tiny", "0123", PRX, sparse=(sparse_field(TOKENS, "splade", "4567"),), foreign=FOREIGN)


class Held:
    name = "papers"

    def __init__(self, schema=SCHEMA):
        self.schema = schema


class Encoder:
    """Encodes all texts as one row, and notes what it was asked."""

    def __init__(self, name, fingerprint, row):
        text = "{} [SEP] {}".format
        self.card = SimpleNamespace(name=name, fingerprint=fingerprint, papers_by="", text=text)
        self.row, self.asked = np.array(row, np.float32), []

    def encode(self, texts, task_format):
        self.asked.append((*texts, task_format))
        return [self.row]


def encoders():
    """An encoder of each leg; the weights of tokens rise with their numbers."""
    tokens = np.stack([np.arange(TOKENS), np.arange(TOKENS) + 1.0], axis=1)
    theirs = {leg: Encoder("theirs", "789a", (3, 4)) for leg in ("near", "dot")}
    return {"prx": Encoder("tiny", "0123", (3, 4)), "sparse": Encoder("splade", "4567", tokens), **theirs}


def test_every_leg_has_the_vector_of_its_own_model_and_sentences_that_of_papers():
    by_leg = encoders()
    vectors = {one.field: one.vector for one in make_plan(Held(), SearchRequest("masks"), by_leg.get).vectors}
    assert list(vectors) == ["prx", "sentences", "sparse", "near", "dot"]
    np.testing.assert_array_equal(vectors["prx"], [3, 4])
    assert vectors["sentences"] is vectors["prx"]
    assert len(vectors["sparse"]) == MOST_TOKENS
    assert vectors["sparse"][:, 0].min() == TOKENS - MOST_TOKENS  # the heaviest
    np.testing.assert_allclose(vectors["near"], [0.6, 0.8])
    np.testing.assert_array_equal(vectors["dot"], [3, 4])
    assert {(leg, *one.asked) for leg, one in by_leg.items()} == {(leg, ("masks", Format.QRY)) for leg in by_leg}


def test_a_vector_of_zeros_stays_one():
    by_leg = {**encoders(), "near": Encoder("theirs", "789a", (0, 0))}
    vectors = {one.field: one.vector for one in make_plan(Held(), SearchRequest("masks"), by_leg.get).vectors}
    np.testing.assert_array_equal(vectors["near"], [0, 0])


@pytest.mark.parametrize(
    ("options", "legs"),
    [
        ({"mode": "lexical"}, ("lexical",)),
        ({"query": ""}, ()),
        ({"mode": "vector"}, ("prx", "sentences", "sparse", "near", "dot")),
        ({"weights": {"sparse": 0}}, ("lexical", "prx", "sentences", "near", "dot")),
        ({"weights": {"sparse": 0.1, "prx": 0}}, ("lexical", "prx", "sentences", "sparse", "near", "dot")),
    ],
)
def test_only_the_legs_of_the_mode_are_planned_and_no_tokens_that_weigh_nothing(options, legs):
    plan = make_plan(Held(), SearchRequest(**{"query": "masks", **options}), encoders().get)
    assert plan.legs == legs


def test_a_plan_has_the_options_of_its_request():
    where = parse_filter("year=2020")
    request = SearchRequest(
        "tumours", "lexical", filter=where, window=7, size=5, exact=True, title_boost=0.25, collapse="journal"
    )
    plan = plan_of(Held(), request)
    assert (plan.words, plan.filter, plan.window, plan.exact, plan.title_boost) == ("tumours", where, 7, True, 0.25)
    assert (plan.column, plan.order, plan.plain) == ("venue", None, "")
    assert plan.groups == (TermGroup("tumours", (("tumors", 1.0),)),)
    synonyms = {("tumours",): ("cancer",)}
    with_others = plan_of(Held(), replace(request, synonyms=synonyms)).groups
    assert [other.text for other in with_others[0].others] == ["cancer", "tumors"]
    typed = plan_of(Held(), replace(request, verbatim=True, synonyms=synonyms, collapse="work"))
    assert (typed.plain, typed.groups, typed.column) == (None, (), "")
    german = plan_of(Held(replace(SCHEMA, language="german")), request)
    assert german.groups == ()  # American spellings are English


def test_without_words_a_plan_lists_the_newest_first_or_in_the_order_of_the_request():
    assert plan_of(Held(), SearchRequest("")).order == NEWEST_FIRST
    order = parse_sort("year")
    assert plan_of(Held(), SearchRequest("", sort=order)).order == order
    assert plan_of(Held(), SearchRequest("masks", "lexical", sort=order)).order is None


def test_a_paper_is_encoded_as_papers_are_for_the_first_leg_or_a_named_one():
    by_leg = encoders()
    np.testing.assert_array_equal(text_vector(Held(), "Masks", "Of cloth.", by_leg.get), [3, 4])
    assert by_leg["prx"].asked == [("Masks [SEP] Of cloth.", Format.PRX)]
    np.testing.assert_allclose(text_vector(Held(), "Masks", "Of cloth.", by_leg.get, "near"), [0.6, 0.8])
    np.testing.assert_array_equal(text_vector(Held(), "Masks", "", by_leg["prx"]), [3, 4])


@pytest.mark.parametrize(
    ("leg", "name", "fingerprint", "sentence", "hint"),
    [
        ("", "tiny", "9999", "was made by another tiny (0123) than the one here (9999)", "restore that model, or "),
        ("prx", "big", "9999", "was made by the model tiny (0123), not by big (9999)", "give <model=tiny>, or "),
        ("sparse", "big", "9999", "The vectors sparse of the index papers are of the model splade (4567), not of big",
         "give <sparse=splade>, or index again with <fresh> and <sparse=big>"),
        ("near", "big", "9999", "The vectors near of the index papers are of the model theirs (789a), not of big",
         "attach the index again with that model"),
    ],
)  # fmt: skip
def test_a_model_that_did_not_make_the_vectors_is_refused(leg, name, fingerprint, sentence, hint):
    with pytest.raises(InputError) as caught:
        check_model(Held(), name, fingerprint, leg)
    assert sentence in caught.value.sentence
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize(("leg", "made_by"), [("", "0123"), ("prx", "0123"), ("sparse", "4567"), ("near", "789a")])
def test_the_model_that_made_the_vectors_and_one_that_reads_them_are_taken(leg, made_by):
    check_model(Held(), "any", made_by, leg)
    check_model(Held(), "a query encoder", "9999", leg, papers_by=made_by)
    with pytest.raises(InputError):
        check_model(Held(), "a query encoder", "9999", leg, papers_by="8888")
