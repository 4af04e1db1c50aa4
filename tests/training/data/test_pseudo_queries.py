"""Queries made of papers: what is asked, and that its answer does not hold a copy of it."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tiny import WORDS
from tests.training.data.papers import build, source
from training.data.builders.base import identity_of
from training.data.queries import KINDS, OPTIONS, folded, query_of, shown

ABSTRACT = (
    "Mice were kept in the cold. They ate less than before. CONCLUSIONS: Cold makes mice thin. More is to be done."
)
MOUSE = {
    "id": "p1",
    "title": "Mice in the cold",
    "abstract": ABSTRACT,
    "keywords": "mice; cold ;mice",
    "mesh_major": ["Mus", "Cold", "Weight"],
    "citation_sentences": ["Cold was tried before [3].", "See also [3]."],
}
SHORT = {"least": 5}


def only(kind, paper=MOUSE, seed=1, **options):
    given = {**OPTIONS, **dict.fromkeys(KINDS, 0.0), kind: 1.0, **SHORT, **options}
    return query_of(paper, {name: paper[name] for name in ("title", "abstract") if paper.get(name)}, given, seed)


def test_a_title_asks_for_its_abstract():
    query = only("titles")
    assert (query.key, query.kind, query.content, query.answer) == (
        "p1",
        "titles",
        MOUSE["title"],
        {"abstract": ABSTRACT},
    )


def test_a_conclusion_asks_for_the_rest_of_its_paper():
    query = only("conclusions")
    rest = "Mice were kept in the cold. They ate less than before. More is to be done."
    assert (query.content, query.answer) == ("Cold makes mice thin.", {"title": MOUSE["title"], "abstract": rest})


def test_keywords_are_two_to_four_of_the_first_field_that_has_two():
    asked = {only("keywords", seed=seed, shortest=1).content for seed in range(20)}
    assert asked == {"mice cold", "cold mice"}
    assert only("keywords", shortest=1).answer == {"title": MOUSE["title"], "abstract": ABSTRACT}
    mesh = {only("keywords", MOUSE | {"keywords": ["one"]}, seed, shortest=1).content for seed in range(99)}
    assert {len(one.split()) for one in mesh} == {2, 3}
    assert {word for one in mesh for word in one.split()} == {"Mus", "Cold", "Weight"}
    many = {"keywords": [f"w{n}" for n in range(9)]}
    drawn = [
        len(only("keywords", MOUSE | many, seed).content.split())
        for seed in range(200)
        if only("keywords", MOUSE | many, seed)
    ]
    assert set(drawn) == {3, 4}, "two words are fewer than the shortest query's three"


def test_a_citing_sentence_asks_for_what_it_cites():
    asked = {only("citations", seed=seed).content for seed in range(20)}
    assert asked == set(MOUSE["citation_sentences"])
    one = {**MOUSE, "contexts": "Only this says it."}
    assert only("citations", one, citation_field="contexts").content == "Only this says it."


@pytest.mark.parametrize(
    ("kind", "change", "options"),
    [
        ("titles", {"abstract": ""}, {}),
        ("titles", {"title": "Cold mice"}, {}),
        ("titles", {"abstract": f"MICE, in the cold! {ABSTRACT}"}, {}),
        ("titles", {}, {"longest": 3}),
        ("titles", {}, {"least": 99}),
        ("conclusions", {"abstract": "Cold makes mice thin."}, {}),
        ("conclusions", {"title": "Cold makes mice thin"}, {}),
        ("keywords", {"keywords": "", "mesh_major": []}, {}),
        ("citations", {"citation_sentences": None}, {}),
    ],
)
def test_papers_that_give_no_query_of_a_kind(kind, change, options):
    assert only(kind, MOUSE | change, **options) is None


def test_a_paper_gives_the_kinds_by_their_shares():
    papers = [MOUSE | {"id": f"p{n}"} for n in range(3000)]
    shares = {**OPTIONS, "titles": 3.0, "conclusions": 1.0, "keywords": 1.0, "citations": 0.0, **SHORT, "shortest": 2}
    counts = Counter(
        query_of(paper, {"title": "Mice in the cold", "abstract": ABSTRACT}, shares, 1).kind for paper in papers
    )
    assert {kind: round(count / 600) for kind, count in counts.items()} == {
        "titles": 3,
        "conclusions": 1,
        "keywords": 1,
    }


_SENTENCES = st.lists(
    st.lists(st.sampled_from(WORDS[:6]), min_size=1, max_size=5).map(lambda w: " ".join(w).capitalize() + ".")
)


@given(_SENTENCES, st.lists(st.sampled_from(WORDS[:6]), max_size=5), st.integers(0, 9), st.sampled_from(sorted(KINDS)))
def test_no_answer_holds_its_query(sentences, title, seed, kind):
    paper = {"id": "p", "title": " ".join(title), "abstract": " ".join(sentences), "keywords": WORDS[:3]}
    query = only(kind, paper, seed, shortest=1, least=0)
    if query and kind != "keywords":
        words = [re.findall(r"\w+", text.lower()) for text in (query.content, " ".join(query.answer.values()))]
        copies = [n for n in range(len(words[1])) if words[1][n : n + len(words[0])] == words[0]]
        assert words[0]
        assert not copies


def test_every_query_gets_its_paper_and_others_that_are_shown_alike():
    papers = [
        MOUSE | {"id": f"p{n}", "title": f"Mice in the cold {n}", "abstract": ABSTRACT.replace("thin", f"thin {n}")}
        for n in range(9)
    ]
    given = source([*papers, {"id": "bare", "title": "A bare title"}, {"id": "none"}])
    made = build("pseudo-queries", given, **SHORT, keywords=0, citations=0, negatives=3)
    assert {one.papers[0] for one in made} == {identity_of(one) for one in papers}
    assert given.left_out == {"no query can be made of it": 2}
    kinds = Counter()
    for one in made:
        right, *wrong = one.record["candidates"]
        assert (right["score"], [other["score"] for other in wrong]) == (1, [0, 0, 0])
        texts = [str({**candidate, "score": 0}) for candidate in (right, *wrong)]
        assert len(set(texts)) == 4
        title = one.record["query"].startswith("Mice in the cold")
        kinds[title] += 1
        for candidate in (right, *wrong):
            if candidate.get("title") != "A bare title":
                assert ("title" in candidate) is not title
                assert ("Cold makes mice thin" in candidate["abstract"]) is title
    assert len(kinds) == 2


def test_a_query_that_two_papers_give_is_asked_once():
    papers = [MOUSE | {"id": f"p{n}", "title": f"Title {n} of it", "abstract": f"{ABSTRACT} {n}"} for n in range(3)]
    given = source(papers)
    made = build("pseudo-queries", given, **SHORT, titles=0, keywords=0, citations=0)
    assert [one.papers[0] for one in made] == [identity_of(papers[0])]
    assert given.left_out == {"its query is another's too": 2}


def test_one_paper_alone_has_no_other():
    given = source([MOUSE])
    assert build("pseudo-queries", given, **SHORT) == []
    assert given.left_out == {"there is no other paper": 1}


def test_lengths_may_be_the_limits():
    words = len(MOUSE["title"].split())
    assert only("titles", shortest=words, longest=words)
    assert not only("titles", shortest=words + 1)
    assert not only("titles", longest=words - 1)
    length = len(ABSTRACT.split())
    assert only("titles", least=length)
    assert not only("titles", least=length + 1)


def test_a_paper_in_the_form_of_an_answer():
    text = {"title": "T", "abstract": "We ran. So it is.", "year": 3}
    assert shown("titles", text) == {"abstract": "We ran. So it is.", "year": 3}
    assert shown("conclusions", text) == {"title": "T", "abstract": "We ran.", "year": 3}
    assert shown("keywords", text) == shown("citations", text) == shown("", text) == text
    for kind in KINDS:
        assert shown(kind, {"title": "T"}) == {"title": "T"}
        assert shown(kind, text) is not text


def test_without_a_share_a_kind_is_never_asked():
    paper = MOUSE | {"title": ""}
    text = {"abstract": ABSTRACT}
    none = {**OPTIONS, **dict.fromkeys(KINDS, 0.0), **SHORT}
    assert query_of(paper, text, none, 1) is None
    # The title gives no query, so that the other kind does.
    assert query_of(paper, text, none | {"titles": 9.0, "citations": 1.0}, 1).kind == "citations"


def test_queries_are_folded_to_words():
    assert folded(" Mice, in\tthe COLD-room (x)! ") == "mice in the cold room x"
