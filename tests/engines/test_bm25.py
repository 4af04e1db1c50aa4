"""BM25's constants: those an index is made with, those tried for a moment, and what titles add."""

from __future__ import annotations

import re

import numpy as np
import pytest

from corpora.errors import InputError, UnavailableError
from corpora.paper import Paper
from search_plugin.contract.engine import Document, scored_by
from search_plugin.contract.plan import LEXICAL, Plan
from search_plugin.contract.schema import Bm25, IndexSchema, paper_vector
from search_plugin.engines.registry import connect
from tests.engines.conftest import another, every_version, newest_version

COUNTS = {f"p{virus}{other}": (virus, other) for virus in range(1, 6) for other in (0, 3, 9)}
"""By paper, how often its abstract has the word that is searched for, and others."""
OTHER = Bm25(2.0, 0.1)


def build(engine, bm25):
    schema = IndexSchema("tiny", "0" * 16, (paper_vector("prx", 3, "cosine"),), bm25=bm25)
    with engine.lock("words"):
        index = engine.build("words", schema, "test")
        index.upsert([
            Document(Paper(id_, "Cells", "virus " * virus + "lung " * other), "", {"prx": np.ones(3, np.float32)})
            for id_, (virus, other) in COUNTS.items()
        ])  # fmt: skip
        index.finish()
        engine.publish(index)
    return another(engine).open("words")


def shares(index):
    """Scores of the search for one word, each as a part of the best: rarity and constant factors are gone."""
    found = {hit.id: hit.score for hit in index.search(Plan("virus", (), None, 50, title_boost=0))[LEXICAL]}
    return {id_: score / max(found.values()) for id_, score in found.items()}


def expected(bm25):
    """The same by Robertson and Zaragoza's formula."""
    lengths = {id_: 1 + virus + other for id_, (virus, other) in COUNTS.items()}
    mean = np.mean(list(lengths.values()))
    raw = {
        id_: virus / (virus + bm25.k1 * (1 - bm25.b + bm25.b * lengths[id_] / mean))
        for id_, (virus, _) in COUNTS.items()
    }
    return {id_: score / max(raw.values()) for id_, score in raw.items()}


@pytest.mark.parametrize("bm25", [Bm25(), OTHER, Bm25(0, 1)], ids=str)
@every_version
def test_words_are_scored_by_the_constants_an_index_was_made_with(server, bm25):
    index = build(server, bm25)
    assert index.schema.bm25 == bm25
    (told,) = server.diagnose("words").indexes
    assert told.details["bm25"] == {"k1": bm25.k1, "b": bm25.b}
    assert shares(index) == pytest.approx(expected(bm25), rel=1e-5)


@newest_version
def test_other_constants_hold_while_they_are_tried(server):
    index = build(server, Bm25())
    with index.scored_by(OTHER):
        assert shares(index) == pytest.approx(expected(OTHER), rel=1e-5)
        with pytest.raises(UnavailableError, match=r"similarity.default.k1 of the index words .* was changed"):
            another(server).open("words")
    with pytest.raises(KeyError), index.scored_by(OTHER):
        raise KeyError
    assert shares(another(server).open("words")) == pytest.approx(expected(Bm25()), rel=1e-5)


@every_version
def test_a_closed_index_says_how_to_open_it(server):
    index = build(server, Bm25())
    server.cluster.call("POST", f"/{index.physical}/_close")
    how = rf"^The index words .* is closed.*POST /{index.physical}/_open"
    with pytest.raises(UnavailableError, match=how):
        server.open("words")
    assert [bool(re.search(how, trouble)) for trouble in server.diagnose("words").troubles].count(True) == 1
    server.cluster.call("POST", f"/{index.physical}/_open")
    assert len(shares(server.open("words"))) == len(COUNTS)


def test_titles_add_as_much_as_is_asked(filled):
    def scores(boost):
        found = filled.search(Plan("virus lung", (), None, 200, title_boost=boost))[LEXICAL]
        return {hit.id: hit.score for hit in found}

    none, some, much = scores(0.0), scores(0.3), scores(3.0)
    assert none.keys() == some.keys() == much.keys()
    assert any(much[id_] > none[id_] + 1 for id_ in none)
    assert any(much[id_] == pytest.approx(none[id_]) for id_ in none)
    assert some == pytest.approx({id_: none[id_] + 0.1 * (much[id_] - none[id_]) for id_ in none}, abs=1e-4)


def test_the_embedded_engine_says_that_its_constants_are_fixed(tmp_path):
    engine = connect(f"embedded:{tmp_path}")
    with pytest.raises(InputError, match=r"k1 1.2, b 0.75, which can't be changed"):
        build(engine, OTHER)
    index = build(engine, Bm25())
    with scored_by(index, Bm25()):
        assert shares(index) == pytest.approx(expected(Bm25()), rel=0.02)
    with pytest.raises(InputError, match="can't be changed"), scored_by(index, OTHER):
        pass


@pytest.mark.parametrize("constants", [(-1, 0.5), (float("nan"), 0.5), (float("inf"), 0.5), (1, -0.1), (1, 1.1)])
def test_constants_that_cannot_be(constants):
    with pytest.raises(InputError, match="BM25 can't have"):
        Bm25(*constants)
