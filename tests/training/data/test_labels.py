"""The builder labels: which papers get which labels."""

from __future__ import annotations

from collections import Counter

import pytest

from corpora.errors import InputError
from tests.training.data.papers import asks, build, paper, source


def of(made):
    return {asks(one): one.record["label"] for one in made}


def test_labels_of_too_few_papers_are_left_out_and_counted():
    papers = [paper(n, journal="ab"[n % 2]) for n in range(6)]
    given = source([*papers, paper(6, journal="c"), paper(7), paper(8, journal="a", title="", abstract=None)])
    made = build("labels", given, field="journal", fewest=2)
    assert of(made) == {f"p{n}": "ab"[n % 2] for n in range(6)}
    assert made[0].record == {"title": "Paper 0", "abstract": "About 0.", "label": "a"}
    assert given.left_out == {"only rare labels": 1, "no label under journal": 1, "no text": 1}


def test_one_label_is_the_first_and_several_are_all_that_are_left():
    papers = [paper(n, categories=["cs.CL", "cs.LG", "math.ST"][n % 2 :]) for n in range(4)]
    assert of(build("labels", papers, field="categories", fewest=2)) == {
        f"p{n}": ["cs.CL", "cs.LG"][n % 2] for n in range(4)
    }
    several = build("labels", papers, field="categories", fewest=3, multi_label=True)
    assert set(map(tuple, of(several).values())) == {("cs.LG", "math.ST")}
    areas = build("labels", papers, field="categories", fewest=2, multi_label=True, until=".")
    assert set(map(tuple, of(areas).values())) == {("cs", "math")}


def test_concepts_are_taken_by_level_and_score():
    # OpenAlex gives scores as strings.
    concepts = [["Medicine", 0, 0.9], ["Surgery", 1, 0.5], ["Biology", 0, "0.2"], ["Physics", "0", "0.4"]]
    papers = [paper(n, concepts=concepts) for n in range(2)]
    assert of(build("labels", papers, field="concepts", fewest=1, level=0, score=0.3, multi_label=True)) == {
        "p0": ["Medicine", "Physics"],
        "p1": ["Medicine", "Physics"],
    }


def test_so_many_papers_of_a_label_are_drawn_in_any_order_of_the_file():
    papers = [paper(n, label="a" if n < 30 else "b") for n in range(35)]
    given = source(papers)
    made = build("labels", given, fewest=2, most=10)
    assert Counter(of(made).values()) == {"a": 10, "b": 5}
    assert given.left_out == {"of labels with enough papers": 20}
    assert of(build("labels", papers[::-1], fewest=2, most=10)) == of(made)
    assert of(build("labels", source(papers, seed=2), fewest=2, most=10)) != of(made)
    first = {f"p{n}" for n in range(10)}
    assert {name for name, label in of(made).items() if label == "a"} != first


def test_a_file_of_classes_replaces_labels(tmp_path):
    (tmp_path / "trees").write_text("Lung;A04.411\nLung;A04\nAsthma;C08.127\nnothing;\n")
    papers = [paper(n, mesh=["Lung", "Unknown"] if n % 2 else ["Asthma"]) for n in range(4)]
    given = source(papers, files={"classes": tmp_path / "trees"})
    made = of(build("labels", given, field="mesh", fewest=2, multi_label=True, until=""))
    assert made == {"p0": ["C08.127"], "p1": ["A04.411", "A04"], "p2": ["C08.127"], "p3": ["A04.411", "A04"]}


def test_one_label_alone_is_no_task():
    with pytest.raises(InputError, match="1 labels under 'label' have 2 papers or more"):
        build("labels", [paper(n, label="a") for n in range(3)], fewest=2)


def test_papers_without_an_id_of_their_own_are_told_apart_by_title():
    papers = [paper(n, label="ab"[n % 2]) | {"id": "cvpr:None"} for n in range(4)]
    assert of(build("labels", papers, fewest=2)) == {f"p{n}": "ab"[n % 2] for n in range(4)}
