"""Searches for papers that the user knows already, on the embedded engine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import InputError, NotFoundError
from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.contract.tree import Says
from search_plugin.engines.registry import connect
from search_plugin.filters.parse import parse_filter
from search_plugin.request import make_request
from search_plugin.search import search, similar
from search_plugin.understanding.meaning import find, look_up
from tests.tiny import papers

SCHEMA = IndexSchema("tiny", "f", (paper_vector("prx", 8, "cosine"),))
TITLE = "Efficacy of Surgical Masks—a Randomised Trial in Zürich"
KNOWN = [
    Paper("a1", "Virus one", "virus", identifiers=("doi:10.1000/one", "pmid:11111", "pmc:PMC111"), year=2001),
    Paper("A1", "Virus two", "virus", identifiers=("doi:10.1000/two", "arxiv:2004.10706v2"), year=2002),
    Paper("4983", "Virus three", "virus", identifiers=("doi:10.1000/shared",), venue="Cell"),
    Paper("4984", "Virus four", "virus", identifiers=("doi:10.1000/shared", "pmid:22222"), venue="Cell"),
    Paper("title", TITLE, "lung"),
    Paper("long", f"{TITLE} and what followed from it", f"{TITLE} {TITLE} masks trial Zürich"),
]


class Encoder:
    """Gives every query a vector of its own length."""

    card = type("Card", (), {"name": "tiny", "fingerprint": "f", "papers_by": ""})

    def __init__(self, leg=""):
        assert leg in ("", "prx")

    @staticmethod
    def encode(texts, _format):
        return np.eye(8, dtype=np.float32)[[len(text) % 8 for text in texts]]


class Refusing:
    """An encoder that must not be asked."""

    card = Encoder.card

    @staticmethod
    def encode(_texts, _format):
        raise AssertionError


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    draw = np.random.default_rng(1)
    opened = connect(f"embedded:{tmp_path_factory.mktemp('indexes')}").build("papers", SCHEMA, "s")
    opened.upsert(
        [Document(paper, "h", {"prx": draw.standard_normal(8).astype(np.float32)}) for paper in [*papers(60), *KNOWN]]
    )
    opened.finish()
    return opened


def asked(index, query, encoder=Encoder, **options):
    return search(index, make_request(query, fields=SCHEMA.fields, **options), encoder)


@pytest.mark.parametrize(
    ("query", "ids", "note"),
    [
        ("10.1000/ONE", ["a1"], "Found by its DOI 10.1000/one."),
        ("https://doi.org/10.1000/one", ["a1"], "Found by its DOI 10.1000/one."),
        ("PMID: 11111", ["a1"], "Found by its PMID 11111."),
        ("11111", ["a1"], "Found by its PMID 11111."),
        ("pmc111", ["a1"], "Found by its PMCID PMC111."),
        ("arXiv:2004.10706", ["A1"], "Found by its arXiv id 2004.10706."),
        ("2004.10706v1", ["A1"], "Found by its arXiv id 2004.10706."),
        ("4983", ["4983"], "Found by its id 4983."),
        ("10.1000/shared", ["4983", "4984"], "Found by their DOI 10.1000/shared."),
        ("10.1000/two, pmid:11111", ["A1", "a1"], "Found by their DOI 10.1000/two and PMID 11111."),
    ],
)
def test_only_the_papers_that_are_named_are_found_and_nothing_is_encoded(index, query, ids, note):
    page = asked(index, query, Refusing)
    assert ([hit.id for hit in page], page.notes) == (ids, (note,))
    assert [hit.rank for hit in page] == list(range(1, len(ids) + 1))
    assert page.candidates == len(ids)
    assert page.hits[0].known_by in note
    assert page.to_dict()["hits"][0]["known_by"] == page.hits[0].known_by


def test_an_id_is_found_in_other_case_only_where_its_own_case_is_not_there(index):
    assert {hit.id for hit in asked(index, "a1", Refusing)} == {"a1", "A1"}
    assert find(index, "a1")[0].title == "Virus one"
    assert [paper.id for paper in find(index, "TITLE")] == ["title"]


@pytest.mark.parametrize(
    "name", ["4983,4984", "4983 4984", "4983; 99999", "10.1000/two, pmid:11111", "10.1000/two 10.1000/none"]
)
def test_a_name_of_several_papers_is_none_of_a_paper(index, name):
    with pytest.raises(InputError, match=f"'{name}' names several papers; give them one by one"):
        find(index, name)


def test_two_names_of_one_paper_name_it(index):
    assert [paper.id for paper in find(index, "arXiv:2004.10706 10.48550/arXiv.2004.10706")] == ["A1"]
    assert [paper.id for paper in find(index, "10.1000/shared")] == ["4983", "4984"]


def test_an_identifier_that_is_not_there_is_said_and_nothing_is_ranked(index):
    page = asked(index, "doi:10.1000/none", Refusing)
    assert (page.hits, page.notes) == ((), ("No paper has the DOI 10.1000/none.",))
    page = asked(index, "10.1000/none pmid:22222", Refusing)
    assert [hit.id for hit in page] == ["4984"]
    assert page.notes == ("Found by its PMID 22222.", "No paper has the DOI 10.1000/none.")


def test_a_number_that_is_no_identifier_is_searched_as_a_word(index):
    page = asked(index, "7777777")
    assert page.notes == ()
    assert page.mode == "hybrid"
    assert page.found["prx"] > 10


def test_other_words_of_the_query_rank_the_other_papers(index):
    page = asked(index, "brain infection 10.1000/two", size=20)
    plain = asked(index, "brain infection", size=20)
    assert page.notes == ("Found by its DOI 10.1000/two.",)
    assert page.hits[0].id == "A1"
    assert [hit.id for hit in page.hits[1:]] == [hit.id for hit in plain if hit.id != "A1"][:19]
    assert page.query == "brain infection 10.1000/two"


def test_a_filter_holds_for_papers_that_are_named_too(index):
    page = asked(index, "10.1000/one", Refusing, filter="year>2001")
    assert (page.hits, page.notes) == ((), ("The filter excludes the paper with the DOI 10.1000/one.",))
    assert asked(index, "10.1000/one", Refusing, filter="year=2001").hits[0].id == "a1"


def test_facets_collapse_and_pages_of_papers_that_are_named(index):
    page = asked(index, "10.1000/shared", Refusing, facets="journal")
    assert page.facets.counts == {"journal": (("Cell", 2),)}
    page = asked(index, "10.1000/shared", Refusing, collapse="journal")
    assert [(hit.id, hit.collapsed) for hit in page] == [("4983", 1)]
    page = asked(index, "10.1000/shared", Refusing, size=1, offset=1)
    assert [(hit.rank, hit.id) for hit in page] == [(2, "4984")]
    for options in ({"rerank": "complete"}, {"mode": "lexical"}, {"weights": {"lexical": 0.5}}):
        assert asked(index, "10.1000/one", Refusing, **options).hits[0].id == "a1"


@pytest.mark.parametrize("typed", [TITLE, TITLE.upper(), "efficacy of surgical masks a randomised trial in zurich?"])
@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_whole_title_comes_first(index, typed, mode):
    page = asked(index, typed, mode=mode)
    assert (page.hits[0].id, page.hits[0].known_by) == ("title", "title")
    assert [hit.known_by for hit in page.hits[1:]] == [""] * (len(page) - 1)
    assert len({hit.id for hit in page}) == len(page)


def test_two_words_are_a_topic_and_no_title(index):
    assert all(hit.known_by == "" for hit in asked(index, "Virus one"))


def test_similar_takes_any_identifier(index):
    by_id = similar(index, "A1")
    assert [hit.id for hit in similar(index, "https://doi.org/10.1000/two")] == [hit.id for hit in by_id]
    assert "A1" not in {hit.id for hit in by_id}
    with pytest.raises(NotFoundError, match=r"holds no paper '10\.1000/none'"):
        similar(index, "10.1000/none")


def test_a_value_that_no_paper_has_names_the_nearest(index):
    page = asked(index, "virus", filter="journal = Natuer or journal=zzz")
    assert page.notes == (
        'No paper of the index papers has venue = Natuer; the nearest is "Nature".',
        "No paper of the index papers has venue = zzz.",
    )
    assert asked(index, "virus", filter="journal=nature").notes == ()
    assert similar(index, "A1", make_request("x", filter="journal=Natuer")).notes[0].startswith("No paper")


def test_filters_in_any_case_and_by_any_form_of_a_name(index):
    def ids(text):
        return {hit.id for hit in asked(index, "virus lung cell", filter=text, size=100)}

    exact = ids('venue == "The Lancet"')
    assert exact
    assert exact == ids("journal = the lancet") == ids("journal=THE LAN*") == ids('journal in ("the lancet", x)')
    assert ids('journal == "the lancet"') == set()
    franklin = ids('authors == "Rosalind Franklin"')
    assert franklin
    assert franklin == ids("author=franklin") == ids("author = 'Franklin, R.'") == ids("author=Franklin R")
    assert ids("author=Franklin B") == set()
    assert ids("doi=10.1000/ONE") == ids("pmid=11111") == {"a1"}


def test_parsed_filters_keep_their_meaning_in_the_reference(index):
    for text in ("author=franklin", "journal=the*", "not journal=nature", "doi=10.1000/two or id=4983"):
        where = parse_filter(text)
        assert {hit.id for hit in search(index, make_request("virus lung cell", filter=where, size=100), Encoder())}


def test_a_filter_of_words_holds_in_the_language_of_the_index(tmp_path):
    schema = replace(SCHEMA, language="german")
    opened = connect(f"embedded:{tmp_path}").build("papers", schema, "s")
    paper = Paper("lunge", "Die Entzündung der Lungen", identifiers=("doi:10.1000/lunge",))
    opened.upsert([Document(paper, "h", {"prx": np.ones(8, np.float32)})])
    assert list(look_up(opened, "10.1000/lunge", Says("text", "Entzündungen")).papers) == ["lunge"]
    assert not look_up(opened, "10.1000/lunge", Says("text", "Herz")).papers
