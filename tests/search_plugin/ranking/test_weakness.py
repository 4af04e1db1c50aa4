"""Weak matches, and scripts that an index does not know."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from corpora.paper import Paper
from encoders.registry import DEFAULT_MODEL, find_model
from search_plugin.contract.engine import Document
from search_plugin.contract.legs import Fused, Scored
from search_plugin.contract.plan import Plan, TermGroup, TermVariant, VectorClause
from search_plugin.contract.schema import ForeignField, IndexSchema, paper_vector
from search_plugin.engines.registry import connect
from search_plugin.filters.parse import parse_filter
from search_plugin.pages.highlights import find, share_of_words
from search_plugin.ranking import weakness
from search_plugin.ranking.state import SearchState
from search_plugin.ranking.weakness import THRESHOLDS, MatchThreshold, literal, threshold_of, unknown_script
from search_plugin.request import SearchRequest
from search_plugin.search import search

SCHEMA = IndexSchema("tiny", "f", (paper_vector("prx", 2, "cosine"),))
TITLES = {"a": "virus in the lung", "b": "virus", "c": "star", "d": "lung of a star"}
COSINES = {"a": 0.9, "b": 0.4, "c": 0.4, "d": 0.1}
NOTHING = "Nothing matches well; the nearest papers follow."


class Encoder:
    card = type("Card", (), {"name": "tiny", "fingerprint": "f", "papers_by": ""})

    def __init__(self, leg=""):
        assert leg in ("", "prx")

    @staticmethod
    def encode(_texts, _format):
        return np.array([[1, 0]], np.float32)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    opened = connect(f"embedded:{tmp_path_factory.mktemp('indexes')}").build("papers", SCHEMA, "s")
    vectors = {id_: np.array([cosine, (1 - cosine**2) ** 0.5], np.float32) for id_, cosine in COSINES.items()}
    papers = [Paper(id_, title, authors=("Fuerst, Max",) * (id_ == "d")) for id_, title in TITLES.items()]
    opened.upsert([Document(paper, paper.id, {"prx": vectors[paper.id]}) for paper in papers])
    opened.finish()
    return opened


@pytest.fixture
def threshold(monkeypatch):
    """With it, a paper needs a cosine of .8, or of .3 with all words of the query."""
    monkeypatch.setattr(weakness, "THRESHOLDS", {"f": MatchThreshold(least=0.8, words=0.5)})


def weak(page):
    return {hit.id: hit.weak for hit in page}


@pytest.mark.usefixtures("threshold")
def test_a_hit_is_weak_by_its_vector_and_its_words(index):
    page = search(index, SearchRequest("virus lung"), Encoder())
    # .9 + .5, .4 + .25, .1 + .25; c holds no word, and its .4 are below the floor
    assert weak(page) == {"a": False, "b": True, "d": True}
    assert (page.matches, page.near, page.candidates) == (3, 0, 3)
    assert page.notes == ()
    one = search(index, SearchRequest("a virus"), Encoder())
    assert weak(one) == {"a": False, "b": False}
    by_meaning = search(index, SearchRequest("virus lung", mode="vector"), Encoder())
    assert weak(by_meaning) == {**weak(page), "c": True}
    assert (by_meaning.matches, by_meaning.near) == (None, 4)


def test_the_floor_of_the_default_model_is_the_one_that_was_fitted(tmp_path):
    (fingerprint,) = THRESHOLDS
    assert find_model(DEFAULT_MODEL).card.fingerprint == fingerprint
    built = connect(f"embedded:{tmp_path}").build("papers", replace(SCHEMA, fingerprint=fingerprint), "s")
    # The second two say the query's only word, which counts as much as a cosine of .25.
    cosines = {"near": 0.307, "far": 0.297, "said near": 0.057, "said far": 0.047}
    documents = []
    for id_, cosine in cosines.items():
        vector = np.array([cosine, (1 - cosine**2) ** 0.5], np.float32)
        documents.append(Document(Paper(id_, "virus" if "said" in id_ else "star"), id_, {"prx": vector}))
    built.upsert(documents)
    built.finish()

    class Default(Encoder):
        card = type("Card", (), {"name": "tiny", "fingerprint": fingerprint, "papers_by": ""})

    page = search(built, SearchRequest("virus"), Default())
    assert weak(page) == {"near": False, "said near": False, "said far": True}
    assert (page.matches, page.near) == (2, 1)


@pytest.mark.usefixtures("threshold")
def test_a_paper_beyond_the_vector_leg_counts_as_near_as_its_last(index):
    asked = SearchRequest("star", window=3, size=3, fusion="rrf", weights={"lexical": 2})
    page = search(index, asked, Encoder())
    assert "prx" not in next(hit for hit in page if hit.id == "d").legs
    assert weak(page) == {"c": False, "d": False, "a": False}


@pytest.mark.usefixtures("threshold")
def test_a_page_says_if_nothing_matches_well(index):
    near = search(index, SearchRequest("xyzzy"), Encoder())
    assert (weak(near), near.notes, near.matches, near.near) == ({"a": False}, (), 0, 1)
    none = search(index, SearchRequest("xyzzy", filter=parse_filter("not id=a")), Encoder())
    assert (none.notes, none.matches, none.near) == ((NOTHING,), 0, 0)
    assert weak(none) == {"b": True, "c": True, "d": True}  # the nearest few
    rest = search(index, SearchRequest("xyzzy", filter=parse_filter("not id=a"), size=3, offset=1), Encoder())
    assert (set(weak(rest).values()), rest.notes) == ({True}, ())
    assert search(index, SearchRequest("xyzzy", mode="lexical")).notes == ()
    empty = search(index, SearchRequest("xyzzy", filter=parse_filter("year=1")), Encoder())
    assert (empty.hits, empty.notes) == ((), ())


@pytest.mark.usefixtures("threshold")
def test_papers_of_an_author_that_come_first_are_not_weak(index):
    page = search(index, SearchRequest("Fuerst virus"), Encoder())
    assert page.notes == ("Papers by Fuerst, Max come first.",)
    assert (page[0].id, page[0].known_by) == ("d", "author")
    # The name is no word of the topic: .4 + .5 for b, which says the rest.
    assert weak(page) == {"a": False, "b": False, "d": False}
    assert (page.matches, page.near) == (3, 0)  # the author's paper counts as a match


@pytest.mark.usefixtures("threshold")
def test_papers_that_say_the_only_word_come_before_those_that_are_a_little_near(index):
    by_vectors = {"fusion": "rrf", "weights": {"lexical": 0.01}}
    assert [hit.id for hit in search(index, SearchRequest("star", **by_vectors), Encoder())] == ["a", "c", "d"]
    more = search(index, SearchRequest("star xyzzy", verbatim=True, **by_vectors), Encoder())
    assert [hit.id for hit in more][-1] == "d"


@pytest.mark.usefixtures("threshold")
@pytest.mark.parametrize(
    ("query", "language", "order"),
    [
        ("star", "english", ["near", "said", "edge", "weak", "unfound"]),
        ("the star", "english", ["near", "said", "edge", "weak", "unfound"]),
        ("star lung", "english", ["weak", "near", "unfound", "said", "edge"]),
        ("die Entzündung", "german", ["near", "said", "edge", "weak", "unfound"]),
        ("die Entzündung", "english", ["weak", "near", "unfound", "said", "edge"]),
    ],
)
def test_what_neither_says_the_only_word_nor_is_near_ranks_last(query, language, order):
    index = SimpleNamespace(schema=replace(SCHEMA, language=language))
    legs = {"lexical": [Scored("said", 1.0)], "prx": [Scored("near", 0.9), Scored("edge", 0.8), Scored("weak", 0.79)]}
    plan = Plan(query, (VectorClause("prx", np.array([1, 0], np.float32)),), None, 9)
    before = [Fused(id_, 1.0, {}) for id_ in ("weak", "near", "unfound", "said", "edge")]
    state = SearchState(index, SearchRequest(query), plan, legs, ranking=before)
    assert [hit.id for hit in literal(state).ranking] == order
    by_meaning = replace(state, legs={"prx": legs["prx"]})
    assert literal(by_meaning) is by_meaning


@pytest.mark.usefixtures("threshold")
@pytest.mark.parametrize(
    ("plain", "groups", "moved"), [("", 1, True), (None, 1, True), ("lung", 1, False), ("", 2, False)]
)
def test_a_word_with_other_spellings_is_one_word(plain, groups, moved):
    spelled = (TermGroup("tumour", (TermVariant("tumor"),)),) * groups
    clause = VectorClause("prx", np.array([1, 0], np.float32))
    plan = Plan("tumour", (clause,), None, 9, plain=plain, groups=spelled)
    ranking = [Fused("weak", 1.0, {}), Fused("said", 1.0, {})]
    legs = {"lexical": [Scored("said", 1.0)], "prx": [Scored("weak", 0.1)]}
    index = SimpleNamespace(schema=SCHEMA)
    after = literal(SearchState(index, SearchRequest("tumour"), plan, legs, ranking=ranking))
    assert [hit.id for hit in after.ranking] == (["said", "weak"] if moved else ["weak", "said"])


@pytest.mark.usefixtures("threshold")
def test_words_count_and_are_marked_as_the_language_of_the_index_analyses_them(tmp_path):
    opened = connect(f"embedded:{tmp_path}").build("papers", replace(SCHEMA, language="german"), "s")
    vector = np.array([0.4, 0.84**0.5], np.float32)
    opened.upsert([Document(Paper("said", "Die Entzündung der Lungen"), "h", {"prx": vector})])
    opened.finish()
    page = search(opened, SearchRequest("Entzündungen Lunge"), Encoder())
    assert weak(page) == {"said": False}  # .4 + .5 for all words
    (snippet,) = page[0].snippets
    assert [snippet.text[start:end] for start, end in snippet.spans] == ["Entzündung", "Lungen"]


@pytest.mark.parametrize(
    ("similarity", "by", "leg"),
    [("cosine", "f", "theirs"), ("dot", "f", None), ("cosine", "other", None), ("l2", "f", None)],
)
@pytest.mark.usefixtures("threshold")
def test_thresholds_are_of_cosines_of_a_model_that_has_one(similarity, by, leg):
    foreign = ForeignField("owner.field", "theirs", 2, similarity, model="m", fingerprint=by)
    index = SimpleNamespace(schema=IndexSchema("tiny", "g", (paper_vector("prx", 2, "cosine"),), foreign=(foreign,)))
    zeros = np.zeros(2, np.float32)
    plan = Plan("star", (VectorClause("prx", zeros), VectorClause("theirs", zeros)), None, 9)
    judged = threshold_of(SearchState(index, SearchRequest("star"), plan))
    assert (judged and judged[0]) == leg


def test_without_a_floor_vectors_decide(index):
    page = search(index, SearchRequest("star", fusion="rrf", weights={"lexical": 0.01}), Encoder())
    assert [hit.id for hit in page][-1] == "d"


def test_of_a_model_without_a_floor_nothing_is_said(index):
    page = search(index, SearchRequest("xyzzy"), Encoder())
    assert set(weak(page).values()) == {False}
    assert page.notes == ()


@pytest.mark.parametrize(
    ("query", "share"),
    [
        ("virus", 1),
        ("the viruses of lungs", 1),
        ("virus star", 0.5),
        ("xyzzy", 0),
        ("the of", 0),
        ("virus virus star", 0.5),
    ],
)
def test_share_of_words(query, share):
    assert share_of_words(query, find(query, "Lung disease", "By a virus.").terms) == share


def test_share_of_words_in_another_spelling():
    groups = (TermGroup("tumours", (TermVariant("tumor"),)), TermGroup("TNF\u03b1", (TermVariant("tnf alpha"),)))

    def share(query, title):
        return share_of_words(query, find(f"{query} tumor tnf alpha", title, "").terms, groups=groups)

    assert share("tumours lung", "Lung tumor") == 1
    assert share("TNF\u03b1", "TNF alpha") == 1
    assert share("TNF\u03b1", "TNF beta") == 0


def test_one_of_several_spellings_is_enough_and_one_of_stop_words_alone_is_none():
    several = (TermGroup("tumours", (TermVariant("neoplasm"), TermVariant("the"), TermVariant("cancer"))),)
    assert share_of_words("tumours", frozenset({"cancer"}), groups=several) == 1
    assert share_of_words("tumours", frozenset({"lung"}), groups=several) == 0


@pytest.mark.parametrize(
    ("text", "language", "unknown"),
    [
        ("乳腺癌", "english", True),
        ("乳腺癌", "cjk", False),
        ("がん 治療", "cjk", False),
        ("암 치료", "cjk", False),
        ("\u3005", "cjk", False),  # the mark of repetition, and wide and narrow letters
        ("\uff8b\uff84", "cjk", False),
        ("\uff21\uff22", "cjk", False),
        ("\uff21\uff22", "english", True),
        ("рак лёгких", "cjk", True),
        ("рак лёгких", "german", True),
        ("TNF\u03b1 und β-catenin", "english", False),
        ("\u03b1", "english", False),
        ("Übergewicht", "english", False),
        ("COVID 病毒", "english", False),
        ("病毒感染 p53", "english", True),
        ("病毒 ab", "english", False),
        ("4983 %", "english", False),
        ("", "english", False),
    ],
)
def test_scripts_that_an_index_does_not_know(text, language, unknown):
    assert unknown_script(text, language) == unknown


def test_a_page_says_that_the_script_is_unknown(index):
    page = search(index, SearchRequest("乳腺癌", mode="lexical"))
    assert page.notes == (
        "Most of the query is in a script that this index does not know: it analyses words as english.",
    )
