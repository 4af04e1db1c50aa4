"""Which papers are the same work: what joins them, what keeps them apart, and that their order changes nothing."""

from __future__ import annotations

import dataclasses
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.paper import Paper
from search_plugin.words.works import MOST_ALIKE, LikeVectors, works

TITLE = "Aerosol transmission of a respiratory virus in primary schools"
AUTHORS = ("Ada Byron", "Eric A. Toth", "Mi-Na Kim")
ONE = Paper("a", TITLE, authors=AUTHORS, year=2020)
SIMILARITY = LikeVectors(same_title=0.6, other_title=0.9)


def other(**changes):
    return dataclasses.replace(ONE, **{"id": "b", **changes})


def same(one, two, cosine=None, similarity=SIMILARITY):
    def cosines(pairs):
        return {} if cosine is None else dict.fromkeys(pairs, cosine)

    found = [works(pair, similarity=similarity, cosines=cosines) for pair in ([one, two], [two, one])]
    assert found[0] == found[1]
    return found[0] == [sorted([one.id, two.id])]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("doi:10.1101/2020.04.01.20049999", "doi:10.1101/2020.04.01.20049999v2"),
        ("doi:10.1101/2020.04.01.20049999v1", "DOI:10.1101/2020.04.01.20049999V3.full"),
        ("doi:10.21203/rs.3.rs-12345/v1", "doi:10.21203/rs.3.rs-12345/v2"),
        ("doi:10.20944/preprints202001.0001.v1", "doi:10.20944/preprints202001.0001.v2"),
        ("doi:10.26434/chemrxiv-2020-abc-v2", "doi:10.26434/chemrxiv-2020-abc"),
        ("doi:10.12688/f1000research.12345.1", "doi:10.12688/f1000research.12345.2"),
        ("doi:10.2196/preprints.20345", "doi:10.2196/20345"),
        ("arxiv:2004.01234v1", "arXiv:2004.01234v3"),
        ("arxiv:2004.01234v2", "doi:10.48550/arXiv.2004.01234"),
        ("arxiv:2004.01234", "doi:10.48550/arxiv.2004.01234v2"),
        ("pmid:012345", "pmid:12345"),
        ("pmc:PMC123456", "pmc:123456"),
    ],
)
def test_identifiers_without_their_versions_join_papers(one, two):
    first, second = other(id="a", identifiers=(one,)), other(identifiers=(two,), title=f"{TITLE} and homes", authors=())
    assert same(first, second)
    assert not same(first, dataclasses.replace(second, identifiers=()))
    # Also as the id of a paper.
    assert same(dataclasses.replace(first, id=one, identifiers=()), second)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("doi:10.1101/2020.04.01.20049999", "doi:10.1101/2020.04.01.20049998"),
        ("doi:10.1000/env2", "doi:10.1000/env3"),
        ("doi:10.1000/rev1", "doi:10.1000/rev2"),
        ("doi:10.1371/journal.pone.12345.1", "doi:10.1371/journal.pone.12345.2"),
        ("isbn:123", "isbn:123"),
        ("pmid:12345", "doi:12345"),
    ],
)
def test_other_identifiers_do_not(one, two):
    first, second = (Paper(id_, f"{id_} masks", identifiers=(name,)) for id_, name in (("a", one), ("b", two)))
    assert not same(first, dataclasses.replace(second, title="b masks in schools"))


def test_an_identifier_that_other_papers_of_a_collection_have_joins_only_what_agrees():
    shared = {"identifiers": ("doi:10.1000/supplement",)}
    poster = Paper("a", "Masks in schools", authors=("Ada Byron",), **shared)
    assert not same(poster, Paper("b", "Hepatitis among nurses", authors=("Eric Toth",), **shared))
    assert not same(poster, Paper("b", "Hepatitis among nurses", **shared))
    assert same(poster, Paper("b", "Masken in Schulen", authors=("A Byron",), language="de", **shared))  # a translation
    many = [Paper(f"{at:03}", "Masks in schools", **shared) for at in range(MOST_ALIKE + 1)]
    assert works(many) == []
    assert works(many[1:]) == [[paper.id for paper in many[1:]]]


@pytest.mark.parametrize(
    "title",
    [
        TITLE.upper(),
        f"[{TITLE}].",
        TITLE.replace("a respiratory virus", "respiratory viruses"),
        f"{TITLE} (Extended Abstract)",
        f"{TITLE}: extended abstract",
        f"{TITLE} [version 2; peer review: 1 approved]",
        f"RETRACTED: {TITLE}",
        f"RETRACTED ARTICLE: {TITLE}",
        f"[Retracted] {TITLE}",
        TITLE.replace("primary schools", "primary-schools"),
    ],
)
def test_titles_that_say_the_same_join_papers_of_the_same_authors_and_time(title):
    assert same(ONE, other(title=title))
    assert same(ONE, other(title=title, year=2022, authors=("Byron A", "Toth EA")))
    assert same(ONE, other(title=title, year=None))
    assert same(ONE, other(title=title), 0.6)
    assert not same(ONE, other(title=title), 0.59)
    assert same(ONE, other(title=title), 0.59, similarity=None)  # nothing is known of the model
    assert not same(ONE, other(title=title, year=2023))
    assert not same(ONE, other(title=title, authors=("Grace Hopper", "Eric Toth", "Jo Neumann")))
    assert same(ONE, other(title=title, authors=("Ada Lovelace", "Eric Toth")))


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (f"{TITLE}. Part I", f"{TITLE}. Part II"),
        (f"{TITLE} 2020", f"{TITLE} 2021"),
        (f"{TITLE} for WMT19", f"{TITLE} for WMT20"),
        ("Serum levels of vitamin A in children of refugees", "Serum levels of vitamin B in children of refugees"),
        (
            "The first edition of the challenge on question answering",
            "The second edition of the challenge on question answering",
        ),
        (TITLE, TITLE.replace(" in", " not in")),
        (TITLE, f"Retraction: {TITLE}"),
        (TITLE, f"Correction to: {TITLE}"),
        (TITLE, f"Erratum for {TITLE}"),
        (TITLE, f"Reply to {TITLE}"),
        (TITLE, f"Author's reply: {TITLE}"),
        (TITLE, f"Comment on: {TITLE}"),
        (TITLE, f"Expression of Concern: {TITLE}"),
        (f"Correction to: {TITLE}", f"Retraction Note: {TITLE}"),
        (f"Erratum: {TITLE}", f"Erratum: {TITLE}"),
        ("Editorial", "Editorial"),
        ("Introduction to the special issue on masks", "Introduction to the special issue on masks"),
        ("Abstracts of the annual meeting of virologists", "Abstracts of the annual meeting of virologists"),
    ],
)
def test_parts_notices_and_common_titles_stay_apart(one, two):
    assert not same(other(id="a", title=one), other(title=two), 1.0)


NUMBERING = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "first", "second", "third"),
    *("fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "i", "ii", "iii", "iv", "v", "vi", "vii"),
    *("viii", "ix", "x", "xi", "xii", "alpha", "beta", "gamma", "delta", "no", "not", "non", "without"),
)


@pytest.mark.parametrize("word", NUMBERING)
def test_every_word_that_numbers_or_negates_keeps_titles_apart(word):
    assert not same(ONE, other(title=f"{TITLE} {word} more"), 1.0)
    assert same(ONE, other(title=f"{TITLE} and more"), 1.0)


@pytest.mark.parametrize(
    "title",
    [
        "Response of children to masks in primary schools",
        "Correction of scoliosis by early surgery in children",
        "Removal of heavy metals from water by algae",
        "Letters from the past: sound change in character embeddings",
        "News is more than a collection of facts for readers",
        "Introduction to information retrieval for librarians",
        "Comments in code help readers to understand programs",
        "Removed sutures after operations of the eye",
    ],
)
def test_articles_may_begin_like_notices_and_sections(title):
    assert same(other(id="a", title=title), other(title=title))


def test_a_notice_is_not_its_article_even_with_the_same_identifier():
    shared = ("doi:10.1000/1",)
    article = other(id="a", identifiers=shared)
    assert not same(article, other(title=f"Retraction: {TITLE}", identifiers=shared))
    for kind in ("Retraction of Publication", "Published Erratum", "Expression of Concern"):
        assert not same(article, other(types=(kind,), identifiers=shared))
    assert not same(article, other(types=("Comment",)))
    assert same(article, other(types=("Comment",), identifiers=shared))
    assert same(
        other(id="a", title=f"Erratum: {TITLE}", identifiers=shared),
        other(title=f"Erratum: {TITLE}", identifiers=shared),
    )


def test_doubtful_titles_need_close_vectors():
    renamed = other(title="Airborne transmission of a respiratory virus in primary schools")
    for one, two in (
        (ONE, renamed),
        (dataclasses.replace(ONE, authors=()), other()),
        (other(id="a", title="Lansoprazole"), other(title="Lansoprazole")),
    ):
        assert same(one, two, 0.9)
        assert not same(one, two, 0.89)
        assert not same(one, two)
        assert not same(one, two, 1.0, similarity=None)
    far = other(title="Masks and the immune system of children in schools")
    assert not same(ONE, far, 1.0)
    assert not same(ONE, dataclasses.replace(renamed, authors=()), 1.0)
    assert not same(ONE, dataclasses.replace(renamed, authors=("Someone Else",)), 1.0)
    assert not same(ONE, dataclasses.replace(renamed, year=2023), 1.0)


def test_vectors_are_asked_for_once_and_only_where_they_matter():
    asked = []

    def cosines(pairs):
        asked.append(sorted(pairs))
        return dict.fromkeys(pairs, 1.0)

    shared = [other(id=id_, identifiers=("doi:10.1000/1",), title="Masks") for id_ in "xy"]
    papers = [ONE, other(), Paper("c", "Hepatitis among nurses", authors=("Eric Toth",)), *shared]
    assert works(papers, similarity=SIMILARITY, cosines=cosines) == [["a", "b"], ["x", "y"]]
    assert asked == [[("a", "b")]]
    works(papers[2:], similarity=SIMILARITY, cosines=cosines)
    assert len(asked) == 1


TITLES = (TITLE, f"{TITLE}. Part II", f"Erratum: {TITLE}", "Editorial", "Masks", "Masks and children in schools today")
PAPERS = st.lists(
    st.builds(
        Paper,
        st.uuids().map(str),
        st.sampled_from(TITLES) | st.text(max_size=20),
        authors=st.lists(st.sampled_from((*AUTHORS, "Wang L", "\u738b")) | st.text(max_size=8), max_size=3).map(tuple),
        year=st.none() | st.integers(2018, 2023),
        types=st.lists(st.sampled_from(("Comment", "Published Erratum")), max_size=1).map(tuple),
        identifiers=st.lists(
            st.sampled_from(("doi:10.1/1v1", "doi:10.1/1v2", "doi:", "arxiv:2004.01234v1", "pmid:1", "x")), max_size=2
        ).map(tuple),
    ),
    max_size=9,
)


@given(PAPERS, st.randoms(use_true_random=False), st.booleans())
def test_groups_share_no_paper_and_do_not_depend_on_the_order(papers, draw, close):
    def cosines(pairs):
        return {pair: float(close) for pair in pairs if sum(map(ord, "".join(pair))) % 3}

    found = works(papers, similarity=SIMILARITY, cosines=cosines)
    mixed = list(papers)
    draw.shuffle(mixed)
    assert works(mixed, similarity=SIMILARITY, cosines=cosines) == found
    ids = [id_ for group in found for id_ in group]
    assert len(ids) == len(set(ids))
    assert all(len(group) > 1 and group == sorted(group) for group in found)
    # What joins two papers joins them whatever else there is, and so everything that hangs together is one work.
    group_of = {id_: place for place, group in enumerate(found) for id_ in group}
    for one in papers:
        for two in papers:
            if one.id != two.id and works([one, two], similarity=SIMILARITY, cosines=cosines):
                assert group_of[one.id] == group_of[two.id]
    # Nor does any group hold papers that nothing joins: without its joined pairs it falls apart.
    for group in found:
        held = [paper for paper in papers if paper.id in group]
        assert works(held, similarity=SIMILARITY, cosines=cosines) == [group]


def test_hundreds_of_papers_take_milliseconds_not_seconds():
    draw = random.Random(1)
    words = ["virus", "mask", "school", "lung", "cell", "gene", "trial", "cohort", "child", "nurse", "risk", "model"]
    papers = [
        Paper(f"{at}", " ".join(draw.choices(words, k=9)), authors=(f"{draw.choice(words)} {at % 40}",))
        for at in range(300)
    ]
    calls = []
    works(papers, similarity=SIMILARITY, cosines=lambda pairs: calls.append(len(pairs)) or {})
    assert sum(calls) < 300 * 300 / 20
