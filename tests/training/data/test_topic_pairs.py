"""Papers that share a topic."""

from __future__ import annotations

from tests.training.data.papers import asks, build, paper, source


def number(text):
    return int(text["title"].split()[1])


def test_pairs_share_a_fine_topic_and_negatives_share_the_venue_and_none():
    papers = [paper(n, topics=["Science", f"t{n // 2}"], venue=str(n % 5)) for n in range(100)]
    papers = [one | {"topics": one["topics"][n >= 50 :]} for n, one in enumerate(papers)]
    made = build("topic-pairs", papers, widest=0.1)
    assert len(made) == 100
    venues = 0
    for one in made:
        query, right, wrong = (number(one.record[part]) for part in ("query", "pos", "neg"))
        assert asks(one) == f"p{query}"
        assert (right != query, right // 2) == (True, query // 2)
        assert wrong // 2 != query // 2
        venues += query % 5 == wrong % 5
    assert venues == 100


def test_wide_topics_make_no_pairs():
    papers = [paper(n, topics=["Science"] if n % 2 else ["Art", "Science"]) for n in range(20)]
    given = source(papers)
    assert build("topic-pairs", given, widest=0.4) == []
    assert given.left_out == {"no paper shares a fine-grained topic": 20}
    made = build("topic-pairs", given, widest=0.5)
    assert {(number(one.record["pos"]) % 2, number(one.record["neg"]) % 2) for one in made} == {(0, 1)}
    assert len(made) == 10


def test_topics_of_a_level():
    papers = [paper(n, topics=[["Science", 0, 1.0], [f"t{n % 2}", 3, 1.0]], venue="one") for n in range(8)]
    given = source([one | {"topics": one["topics"][n < 4 :]} for n, one in enumerate(papers)])
    made = build("topic-pairs", given, level=3, widest=1.0)
    assert {(number(one.record["query"]) - number(one.record["pos"])) % 2 for one in made} == {0}
    assert build("topic-pairs", given, level=4, widest=1.0) == []


def test_more_pairs_of_a_paper_are_different_draws():
    papers = [paper(n, topics=[f"t{n % 2}"], venue="one") for n in range(40)]
    made = build("topic-pairs", papers, widest=1.0, pairs=3)
    assert len(made) == 120
    assert len({one.record["pos"]["title"] for one in made if asks(one) == "p0"}) > 1
    assert [one.record for one in made] == [one.record for one in build("topic-pairs", papers, widest=1.0, pairs=3)]


def test_a_venue_of_one_topic_takes_negatives_from_elsewhere():
    papers = [paper(n, topics=[f"t{n % 2}"], venue=str(n % 2)) for n in range(10)]
    made = build("topic-pairs", papers, widest=1.0)
    assert len(made) == 10
    assert all((number(one.record["query"]) + number(one.record["neg"])) % 2 for one in made)
