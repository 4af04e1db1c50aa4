"""Papers with the texts of their labels."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from corpora.errors import InputError
from tests.training.data.papers import asks, build, paper, source

LABELS = [
    {"label": "D1", "name": ["Lung", "Lungs"], "definition": "An organ."},
    {"label": "D2", "name": "Heart", "definition": ""},
    {"label": "D3", "name": "Liver"},
    {"label": "D4", "name": "Stars"},
]


def write(folder):
    (folder / "label.json").write_text("".join(json.dumps(label) + "\n" for label in LABELS))
    return {"labels": folder / "label.json"}


def test_labels_are_names_with_definitions_and_negatives_of_the_same_venue(tmp_path):
    papers = [paper(n, mesh=["D1", "D9"], venue="Chest") for n in range(3)]
    papers += [paper(n, mesh=["D2", "D1"], venue="Chest") for n in range(3, 6)]
    papers += [paper(n, mesh=["D4"], venue="Sky") for n in range(6, 9)]
    made = build("label-pairs", source(papers, files=write(tmp_path)), field="mesh")
    told = [(asks(one), one.record["pos"]["title"], one.record["neg"]["title"]) for one in made]
    assert len(told) == 12
    assert all(wrong == "Heart" for _, right, wrong in told[:3])
    lung = next(one for one in made if one.record["pos"]["title"] == "Lung")
    assert lung.record == {
        "query": {"title": "Paper 0", "abstract": "About 0."},
        "pos": {"title": "Lung", "abstract": "An organ."},
        "neg": {"title": "Heart"},
    }
    # These lack only what no paper of their venue has, and the stars' papers are alone: any paper's label.
    assert {wrong for key, _, wrong in told if key in ("p3", "p4", "p5")} == {"Stars"}
    assert {wrong for key, _, wrong in told if key in ("p6", "p7", "p8")} <= {"Lung", "Heart"}


def test_no_negative_is_a_label_of_the_paper():
    papers = [paper(n, label=[f"l{(n * k) % 11}" for k in range(1, 5)], venue=str(n % 3)) for n in range(99)]
    made = build("label-pairs", papers)
    by_paper = {f"p{n}": papers[n]["label"] for n in range(99)}
    assert len(made) > 200
    assert all(one.record["pos"]["title"] in by_paper[asks(one)] for one in made)
    assert all(one.record["neg"]["title"] not in by_paper[asks(one)] for one in made)


def test_a_close_paper_shares_an_author_or_is_cited():
    papers = [
        paper(0, label=["a"], references=["p1"]),
        paper(1, label=["b"]),
        *(paper(n, label=["c"]) for n in range(2, 50)),
    ]
    made = {asks(one): one.record["neg"]["title"] for one in build("label-pairs", papers, related="references")}
    assert made["p0"] == "b"
    authors = [one | {"authors": ["Ada", str(n)] if n < 2 else [str(n)]} for n, one in enumerate(papers)]
    made = {asks(one): one.record["neg"]["title"] for one in build("label-pairs", authors, related="authors")}
    assert (made["p0"], made["p1"]) == ("b", "a")


def test_labels_of_many_papers_are_in_so_many_pairs_drawn():
    papers = [paper(n, label=["wide", f"narrow {n % 20}"]) for n in range(100)]
    given = source(papers)
    made = build("label-pairs", given, most=10)
    counts = Counter(one.record["pos"]["title"] for one in made)
    assert counts["wide"] == 10
    assert set(counts.values()) == {10, 5}
    assert given.left_out == {"pair of a label with enough pairs": 90}
    wide = {asks(one) for one in made if one.record["pos"]["title"] == "wide"}
    assert wide == {
        asks(one) for one in build("label-pairs", papers[::-1], most=10) if one.record["pos"]["title"] == "wide"
    }
    assert wide != {f"p{n}" for n in range(10)}
    assert len(build("label-pairs", papers, most=0)) == 200


def test_papers_without_labels_or_text_are_counted():
    papers = [paper(0, label="a"), paper(1, label=["a", "b"]), paper(2), paper(3, label="b", title="", abstract="")]
    given = source(papers)
    assert {asks(one) for one in build("label-pairs", given)} == {"p0"}
    assert given.left_out == {"no label under label": 1, "no text": 1, "pair without a label that the paper lacks": 2}


def test_levels_of_concepts():
    papers = [paper(n, concepts=[["Medicine", 0, 0.9], [f"c{n}", 2, 0.5]]) for n in range(4)]
    made = build("label-pairs", papers, field="concepts", level=1)
    assert {one.record["pos"]["title"] for one in made} == {f"c{n}" for n in range(4)}


def test_too_few_labels_or_a_malformed_file(tmp_path):
    with pytest.raises(InputError, match="The papers have 1 labels under 'label'"):
        build("label-pairs", [paper(0, label="a")])
    (tmp_path / "bad").write_text('{"definition": "x"}\n')
    with pytest.raises(InputError, match="line 1: a label needs label or name"):
        build("label-pairs", source([paper(0, label="a")], files={"labels": tmp_path / "bad"}))
    (tmp_path / "bad").write_text("no JSON\n")
    with pytest.raises(InputError, match="line 1: The line isn't JSON"):
        build("label-pairs", source([paper(0, label="a")], files={"labels": tmp_path / "bad"}))
