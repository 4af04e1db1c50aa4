"""SciMult's and CoF's training files, in DPR's form."""

from __future__ import annotations

import json
from collections import Counter

from eval.frozen import title_key
from tests.training.data.papers import build, source
from training.data.guard import Guard, read_papers


def passage(text, title=None):
    return {"text": text} | ({"title": title} if title else {})


PAPER = {
    "question": "Mice\u2019s diet [SEP] They eat little.",
    "positive_ctxs": [passage("Thermal comfort.", "Cold"), passage("Heat.")],
    "negative_ctxs": [passage("Stars.")],
    "hard_negative_ctxs": [passage("Heat."), passage("Rats.", "Rodents")],
}


def test_a_question_gets_its_first_positive_and_a_hard_negative():
    given = source([PAPER])
    (made,) = build("dpr", given)
    assert made.record == {
        "query": {"title": "Mice's diet", "abstract": "They eat little."},
        "pos": {"title": "Cold", "abstract": "Thermal comfort."},
        "neg": {"title": "Rodents", "abstract": "Rats."},
    }
    several = build("dpr", [PAPER], pairs=5)
    assert [one.record["pos"].get("title") for one in several] == ["Cold", None]
    assert {one.record["neg"]["title"] for one in several} == {"Rodents"}, "a positive is no negative"


def test_negatives_are_drawn_and_the_same_in_every_order():
    many = {"hard_negative_ctxs": [passage(f"n{n}") for n in range(9)]}
    records = [{**PAPER, **many, "question": f"q{n}"} for n in range(30)]
    made = {one.record["query"]: one.record["neg"]["abstract"] for one in build("dpr", records)}
    assert len(set(made.values())) > 5
    assert {one.record["query"]: one.record["neg"]["abstract"] for one in build("dpr", records[::-1])} == made
    assert {one.record["query"]: one.record["neg"]["abstract"] for one in build("dpr", source(records, seed=2))} != made


def test_without_hard_negatives_others_stand_in():
    plain = {"question": "who?", "positive_ctxs": [passage("I.")]}
    records = [
        plain | {"negative_ctxs": [passage("You.")]},
        plain | {"question": "why?"},
        plain | {"positive_ctxs": []},
    ]
    second = {"question": "when?", "positive_ctxs": [passage("Now.")], "hard_negative_ctxs": []}
    given = source([*records, second, {"positive_ctxs": [passage("x")]}, {"question": "q", "positive_ctxs": "x"}])
    made = build("dpr", given)
    assert [(one.record["query"], one.record["neg"]) for one in made] == [
        ("who?", {"abstract": "You."}),
        ("when?", {"abstract": "I."}),
    ]
    # The positive of "who?" answers "why?" too.
    assert given.left_out == {"pair without a negative passage": 1, "no positive passage": 2, "no question": 1}


def test_questions_and_passages_of_evaluation_sets_are_refused(tmp_path):
    guard = Guard(titles=frozenset({title_key("Mice's diet")}))
    (tmp_path / "train.json").write_text(
        json.dumps([PAPER, {**PAPER, "question": "other"}, {"question": "mice's diet"}])
    )
    counts = Counter()
    kept = list(read_papers([tmp_path / "train.json"], guard, counts))
    assert [one["question"] for one in kept] == ["other"]
    assert counts["refused: title of an evaluation set"] == 2
