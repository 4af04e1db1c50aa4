"""Answers fit the tokens that an assistant gives, and its cursors lead through all results and texts."""

import json
import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.paper import Paper
from ses.assistants.budget import LEAST, first_part, fitting, size_of, tokens_of, within
from ses.assistants.tools import QUOTED, Assistant, clean, listed, position

TEXTS = st.text(max_size=200) | st.text(max_size=30).map(lambda text: 400 * text) | st.just("\x00\U000e0041" * 900)


def asking(paper):
    index = SimpleNamespace(find=lambda _: [paper])
    return Assistant(None, lambda _, question: question(index))


def as_json(answer):
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


@given(st.text(), st.integers(-5, 300))
def test_a_first_part_is_the_longest_that_fits(text, most):
    text = clean(text)
    part = first_part(text, most)
    assert text.startswith(part)
    bytes_of = len(as_json(part).encode()) - 2
    assert bytes_of <= max(most, 0)
    if part != text and not part.endswith((" ", "\n")):
        assert len(as_json(text[: len(part) + 1]).encode()) - 2 > most


def test_a_part_ends_between_words_where_it_can():
    assert first_part("The virus infects the lung", 12) == "The virus "
    assert first_part("a" * 100, 12) == "a" * 12
    assert first_part("\u00e9" * 10, 5) == "\u00e9" * 2
    assert size_of("\u00e9\n") == 6
    assert tokens_of("abc") == math.ceil(5 / 4)


@given(st.lists(TEXTS, max_size=40), st.integers(LEAST, 4 * LEAST), st.integers(0, 50))
def test_results_fit_and_a_cursor_leads_to_the_others(texts, most, more):
    wanted = [{"id": str(number), "text": first_part(clean(text), 800)} for number, text in enumerate(texts)]
    total, seen, cursor = len(wanted), [], ""
    while True:
        at = position(cursor)
        answer = listed(wanted[at : at + more + 1], at, total, ("Note.",), most)
        assert tokens_of(answer) <= most
        seen += answer["results"]
        cursor = answer.get("next_cursor", "")
        if not cursor:
            break
    assert seen == wanted


def test_no_result_is_lost_where_some_do_not_fit():
    wanted = [{"id": str(number), "text": 800 * "a"} for number in range(30)]
    first = listed(wanted, 0, 30, (), LEAST)
    assert first["next_cursor"] == str(len(first["results"])) == "9"
    assert first["cut"] == "21 more did not fit; give next_cursor as cursor."
    assert tokens_of(first) > 0.8 * LEAST


@given(TEXTS, TEXTS, st.lists(TEXTS, max_size=30), st.integers(LEAST, 2 * LEAST))
def test_a_paper_fits_and_is_read_to_its_end(title, abstract, authors, most):
    paper = Paper("\u00e9" * 256, title, abstract=abstract, authors=tuple(authors), url="https://x.org/" + 600 * "a")
    whole, cursor, answers = "", "", 0
    while True:
        answer = asking(paper).fetch(paper.id, cursor=cursor, max_tokens=most)
        assert tokens_of(answer) <= most
        assert answer["id"] == paper.id
        assert answer["note"] == QUOTED
        whole, answers, cursor = whole + answer["text"], answers + 1, answer.get("next_cursor", "")
        assert ("cut" in answer) == bool(cursor)
        if not cursor:
            break
    assert whole == clean(f"{title}\n\n{abstract}" if abstract else title)
    assert answers < 100


def test_what_does_not_fit_is_named():
    assert within([("a", "b" * 50), ("c", 1)], 20) == ({"c": 1}, ["a"])
    assert within([("a", 1), ("b", 2)], 7) == ({"a": 1}, ["b"])
    assert fitting([{"a": "b" * 90}, {}], 10) == [{"a": "b" * 90}]
    assert fitting([], 10) == []
    paper = Paper("a", "T", authors=tuple(f"Author {n}" for n in range(40)), extra={"long": "a" * 9_000, "short": "b"})
    metadata = asking(paper).fetch("a")["metadata"]
    assert (len(metadata["authors"]), metadata["authors_count"]) == (20, 40)
    assert (metadata["left_out"], metadata["short"]) == (["long"], "b")


def test_unseen_characters_are_gone():
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
    assert clean(f"A\x1b[31m vi\u200brus{hidden}\u202e\r\nB\ufeff") == "A[31m virus\nB"
    extra = {"text": f"a{hidden}", "texts": (f"b{hidden}", "\u202ec"), "score": 0.5, "flag": True}
    paper = Paper("a", f"T{hidden}", authors=(f"A{hidden}",), language=f"e{hidden}", venue=f"V{hidden}", extra=extra)
    answer = asking(paper).fetch("a")
    assert not set(str(answer)) & {*hidden, "\u202e"}
    found = {name: answer["metadata"][name] for name in extra}
    assert found == {"text": "a", "texts": ["b", "c"], "score": 0.5, "flag": True}


@pytest.mark.parametrize("cursor", ["-1", "1.5", "*", "\u0661", "1" * 9, " 1"])
def test_a_cursor_that_no_answer_gave(cursor):
    with pytest.raises(Exception, match="can't be read; give the one of the answer before"):
        position(cursor)
