"""Cursors reach all results of a search over HTTP, and a broken, foreign or expired one is a plain error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from search_plugin.contract.legs import Position
from search_plugin.reading import Bookmark, FixedRanking
from ses.service.cursors import Cursor, KeptOrders, fingerprint, parsed, written

pytestmark = pytest.mark.serve

ORDER = FixedRanking(
    papers=[["a", 0.5, {"lexical": [1, 2.0, 0.5]}]],
    last={"lexical": 2.0},
    found={"lexical": 1},
    hidden={"a": 2},
    known_by={},
    notes=["One."],
    joined_by="ses",
    complete=True,
)


def read_all(client, path="/v1/search", **asked):
    """The answers of all pages, by following the links."""
    answers, reply = [], client.get(path, params={**asked, "cursor": "*"})
    while True:
        assert reply.status_code == 200, reply.text
        answers.append(reply.json())
        following = answers[-1].get("next_cursor")
        assert bool(following) == ("link" in reply.headers)
        if not following:
            return answers
        target = reply.headers["link"].partition(">")[0].removeprefix("<")
        assert reply.headers["link"].endswith('; rel="next"')
        reply = client.get(path + target)


def ids(answers):
    return [hit["paper"]["id"] for answer in answers for hit in answer["hits"]]


@pytest.mark.parametrize(
    "asked",
    [
        {"query": "virus lung", "size": 9},
        {"query": "virus lung", "mode": "lexical", "window": 6, "size": 4},
        {"filter": "year>=2000", "sort": "title", "size": 7},
        {"size": 20, "facets": "year"},
    ],
)
def test_all_results_are_those_of_python(client, library, asked):
    answers = read_all(client, **asked)
    python = {name: value for name, value in asked.items() if name != "facets"}
    hits = list(library["papers"].iterate(**python))
    assert ids(answers) == [hit.id for hit in hits]
    assert [hit["rank"] for answer in answers for hit in answer["hits"]] == list(range(1, len(hits) + 1))
    assert len(answers) > 1
    assert {len(answer["hits"]) for answer in answers[:-1]} == {asked["size"]}
    assert all(bool(answer["facets"]) == ("facets" in asked) for answer in answers)


def test_papers_like_one_are_read_to_the_end(client, library):
    answers = read_all(client, "/v1/similar/p00003", size=25)
    assert ids(answers) == [hit.id for hit in library["papers"].similar("p00003", size=61, window=10_000)]


def test_other_formats_have_the_link(client):
    reply = client.get("/v1/search", params={"format": "jsonl", "cursor": "*", "size": 3})
    assert len(reply.text.splitlines()) == 3
    assert "cursor=" in reply.headers["link"]
    assert reply.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("cursor", ["zz", "é", "a" * 3_000, "****", "W10", ""])
def test_what_is_no_cursor_is_a_problem(client, cursor):
    reply = client.get("/v1/search", params={"cursor": cursor or "="})
    assert (reply.status_code, reply.json()["detail"]) == (
        400,
        "This cursor can't be read; use one as it was answered, or begin with cursor=*.",
    )


def test_a_cursor_of_another_search(client):
    following = client.get("/v1/search", params={"query": "virus", "cursor": "*", "size": 2}).json()["next_cursor"]
    for other in ({"query": "lung"}, {"query": "virus", "mode": "lexical"}, {"query": "virus", "filter": "year=2000"}):
        reply = client.get("/v1/search", params={**other, "cursor": following})
        assert reply.status_code == 400
        assert "This cursor is of another search" in reply.json()["detail"]
    assert client.get("/v1/search", params={"query": "virus", "cursor": following, "size": 5}).status_code == 200
    reply = client.get("/v1/search", params={"cursor": "*", "offset": 3})
    assert (reply.status_code, "leave offset out" in reply.text) == (400, True)


def test_an_expired_cursor_says_so(client):
    lost = written(Cursor(fingerprint({}, "papers", "virus"), Bookmark(2), "nothing"))
    reply = client.get("/v1/search", params={"query": "virus", "cursor": lost})
    assert reply.status_code == 410
    assert "has expired" in reply.json()["detail"]
    # A listing needs no file; and its cursor can't be one of a ranking, nor of another order.
    forged = written(Cursor(fingerprint({}, "papers", ""), Bookmark(2, Position("title", "p00001"))))
    assert client.get("/v1/search", params={"cursor": forged}).status_code == 410


@given(
    st.builds(
        Cursor,
        st.text(max_size=16),
        st.builds(
            Bookmark,
            st.integers(0, 10**9),
            st.none()
            | st.builds(Position, st.none() | st.text(max_size=20) | st.integers(-(2**63), 2**63 - 1), st.text()),
        ),
        st.text(max_size=16),
    ).filter(lambda cursor: len(str(cursor)) < 400)
)
def test_a_cursor_is_read_as_it_was_written(cursor):
    text = written(cursor)
    assert parsed(text) == cursor
    changed = text[:-2] + ("A" if text[-2] != "A" else "B") + text[-1]
    with pytest.raises(InputError):
        parsed(changed)


@given(st.text(max_size=60))
def test_no_text_breaks_the_reader(text):
    with pytest.raises(InputError):
        parsed(text)


def test_orders_are_kept_for_a_time_and_not_too_many(tmp_path):
    clock = [1000.0]
    orders = KeptOrders(tmp_path / "new", seconds=10, most=2, now=lambda: clock[0])
    first = orders.put(ORDER)
    clock[0] += 9
    assert orders.get(first) == ORDER
    clock[0] += 9  # kept longer since it was used
    assert KeptOrders(tmp_path / "new", seconds=10, now=lambda: clock[0]).get(first) == ORDER
    clock[0] += 11
    assert orders.get(first) is None
    kept = [orders.put(ORDER) for _ in range(3)]
    assert [orders.get(key) is None for key in kept] == [True, False, False]
    assert (tmp_path / "new" / "service-cursors.sqlite").stat().st_mode & 0o077 == 0
