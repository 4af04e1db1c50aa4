"""Suggestions from the nearest papers: each score by hand, and the command."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import ses as api
from corpora.paper import Paper
from products.suggestions import (
    TEMPERATURE,
    TEMPERATURES,
    Neighbour,
    fit_temperature,
    read_neighbours,
    suggest_labels,
    suggest_references,
    suggest_reviewers,
    suggest_venues,
    weights_of,
)
from tests.commands import fails, ses
from tests.tiny import make_model

NEAR = [
    Neighbour(Paper("a", "A", venue="X", authors=("Ada", "Bob"), references=("r", "b")), 0.9),
    Neighbour(Paper("b", "B", venue="Y", authors=("Ada",), references=("r",)), 0.85),
    Neighbour(Paper("c", "C", authors=("Cy",)), 0.8),
    Neighbour(Paper("d", "D", venue="X", authors=("Ada", "Dan")), 0.6),
]


def test_a_venue_has_the_weight_of_its_papers():
    weights = [math.exp(similarity / 0.05) for similarity in (0.9, 0.85, 0.6)]
    found = {one.name: (one.score, one.because) for one in suggest_venues(NEAR)}
    assert found == {
        "X": (pytest.approx((weights[0] + weights[2]) / sum(weights)), ("a", "d")),
        "Y": (pytest.approx(weights[1] / sum(weights)), ("b",)),
    }
    assert weights_of(NEAR).sum() == pytest.approx(1)
    assert suggest_venues([]) == suggest_venues(NEAR[2:3]) == []


def near_of(venues, vectors) -> list[Neighbour]:
    units = [np.array(row, np.float32) / np.linalg.norm(row) for row in vectors]
    return [
        Neighbour(Paper(f"p{n:02}", "P", venue=venue), 0.9 - n / 100, unit)
        for n, (venue, unit) in enumerate(zip(venues, units, strict=True))
    ]


def test_the_temperature_is_the_most_likely_one_for_papers_held_out_in_turn():
    draw = np.random.default_rng(3)
    venues = draw.choice(["X", "Y", "Z"], 40).tolist()
    centres = {"X": [1, 0, 0], "Y": [0.7, 0.7, 0], "Z": [0.7, 0, 0.7]}
    near = near_of(venues, [np.array(centres[venue]) + draw.normal(size=3) * 0.6 for venue in venues])

    def likelihood(temperature):
        total = 0.0
        for one in near:
            weights = {other.paper.id: math.exp(float(one.vector @ other.vector) / temperature) for other in near}
            del weights[one.paper.id]
            same = sum(weights[other.paper.id] for other in near
                       if other is not one and other.paper.venue == one.paper.venue)  # fmt: skip
            total += math.log(0.95 * same / sum(weights.values()) + 0.05 / 3)
        return total

    assert fit_temperature(near) == max(TEMPERATURES, key=likelihood) != TEMPERATURE
    weights = weights_of(near, fit_temperature(near))
    assert {one.name: one.score for one in suggest_venues(near)} == {
        venue: pytest.approx(sum(weight for weight, held in zip(weights, venues, strict=True) if held == venue))
        for venue in "XYZ"
    }


def test_labels_have_the_weight_of_their_papers_and_the_most_likely_temperature():
    draw = np.random.default_rng(3)
    rows = draw.normal(size=(40, 3))
    labels = {
        f"p{n:02}": tuple(np.array(["X", "Y", "Z"])[row + draw.normal(size=3) * 0.4 > 0]) for n, row in enumerate(rows)
    }
    near = near_of([""] * 40, rows)
    held = [one for one in near if labels[one.paper.id]]

    def likelihood(temperature):
        total = 0.0
        for one in held:
            weights = {other: math.exp(float(one.vector @ other.vector) / temperature) for other in held}
            del weights[one]
            for label in "XYZ":
                share = sum(weight for other, weight in weights.items() if label in labels[other.paper.id])
                likely = 0.95 * share / sum(weights.values()) + 0.05 / 3
                total += math.log(likely if label in labels[one.paper.id] else 1 - likely)
        return total

    best = max(TEMPERATURES, key=likelihood)
    assert TEMPERATURES[0] < best < TEMPERATURES[-1]
    weights = weights_of(held, best)
    assert {one.name: one.score for one in suggest_labels(near, labels)} == {
        label: pytest.approx(sum(w for w, one in zip(weights, held, strict=True) if label in labels[one.paper.id]))
        for label in "XYZ"
    }
    assert suggest_labels(near, {}) == []


def test_venues_that_near_papers_share_make_probabilities_sharper():
    draw = np.random.default_rng(0)
    axes = np.repeat(np.eye(4), 10, axis=0) + draw.normal(size=(40, 4)) * 0.05
    apart = near_of(np.repeat(list("ABCD"), 10), axes)
    mixed = near_of(draw.permutation(np.repeat(list("ABCD"), 10)), axes)
    assert fit_temperature(apart) < fit_temperature(mixed)
    assert fit_temperature(apart[:19]) == TEMPERATURE != fit_temperature(apart[:20])


def test_three_papers_speak_for_a_suggestion_and_equal_ones_are_in_order():
    near = [Neighbour(Paper(str(n), "P", authors=("Bo", "Al"), references=("r",)), 0.9 - n / 10) for n in range(4)]
    found = suggest_reviewers(near)
    assert [(one.name, one.because) for one in found] == [("Al", ("0", "1", "2")), ("Bo", ("0", "1", "2"))]
    assert found[0].score == pytest.approx(0.8)
    assert suggest_references(near, lambda _: {})[0].because == ("0", "1", "2")
    equal = suggest_references([Neighbour(Paper("z", "P", references=("b", "a")), 0.5)], lambda _: {})
    assert [(one.name, one.score) for one in equal] == [("a", 1), ("b", 1), ("z", 1)]


def test_references_are_what_the_nearest_cite_and_themselves():
    found = suggest_references(NEAR, lambda ids: {"b": "B"} if "b" in ids else {})
    weights = weights_of(NEAR).tolist()
    assert [(one.name, one.title) for one in found[:3]] == [("b", "B"), ("r", ""), ("a", "")]
    assert found[0].score == found[1].score == pytest.approx(weights[0] + weights[1])
    assert found[2].score == pytest.approx(weights[0])


def test_reviewers_wrote_the_nearest_and_one_near_paper_is_less_than_three():
    found = {one.name: one.score for one in suggest_reviewers(NEAR, without=("Dan",))}
    assert found == {
        "Ada": pytest.approx((0.9 + 0.85 + 0.6) / 3),
        "Bob": pytest.approx((0.9 + 2 * 0.6) / 3),
        "Cy": pytest.approx((0.8 + 2 * 0.6) / 3),
    }
    known = [Neighbour(Paper("a", "A", authors=("Ada",), extra={"reviewers": ("r1",)}), 0.5)]
    assert [one.name for one in suggest_reviewers(known)] == ["r1"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("similar")
    library = api.open(
        folder / "library",
        model=str(make_model(folder / "model")),
        data_dir=folder / "data",
        cache_dir=folder / "cache",
    )
    library.index(
        "mine",
        [
            Paper("a", "virus lung cell", "protein gene", venue="Lung", authors=("Ada Byron",), references=("b",)),
            Paper("b", "virus vaccine", "immune response", venue="Vaccine", authors=("Lise Meitner",)),
            Paper("c", "quantum star galaxy", venue="Stars", authors=("Ada Byron",)),
        ],
    )
    return folder, library


def test_a_manuscript_finds_the_paper_with_its_text(home, tmp_path):
    folder, library = home
    page = library["mine"].similar_text("virus lung cell\n\nprotein\ngene")
    assert page[0].id == "a"
    assert len(page) == 3
    (tmp_path / "m.txt").write_text("virus lung cell\nprotein gene\n")
    given = ("--engine", f"embedded:{folder / 'library'}", "--json")
    done = ses(folder, "similar", "--file", tmp_path / "m.txt", *given)
    assert [hit["paper"]["id"] for hit in json.loads(done.stdout)["hits"]] == [hit.id for hit in page]
    (best, *_) = library["mine"].suggest("references", text="virus lung cell\nprotein gene")
    assert (best.title, best.because[0]) in (("virus lung cell", "a"), ("virus vaccine", "a"))


def test_an_index_gives_its_neighbours_vectors(home):
    _, library = home
    index = library["mine"].index
    vector = index.vectors(["a"], "prx")["a"]
    near = read_neighbours(index, ["c", "a", "b"], 3 * vector, "prx")
    assert near[0].paper.id == "a"
    for one in near:
        assert np.linalg.norm(one.vector) == pytest.approx(1)
        assert one.similarity == pytest.approx(float(one.vector @ vector) / np.linalg.norm(vector), abs=1e-6)


@pytest.mark.parametrize(("what", "name"), [("venues", "Lung"), ("references", "b"), ("reviewers", "Ada Byron")])
def test_the_command_suggests(home, what, name):
    folder, _ = home
    given = ("--engine", f"embedded:{folder / 'library'}", "--suggest", what)
    text = ("--text", "virus lung cell\nprotein gene")
    done = ses(folder, "similar", *text, *given, "--json")
    assert done.returncode == 0, done.stderr
    assert name in [one["name"] for one in json.loads(done.stdout)["suggestions"]]
    assert name in ses(folder, "similar", *text, *given).stdout
    if what == "venues":
        scores = [one["score"] for one in json.loads(done.stdout)["suggestions"]]
        assert sum(scores) == pytest.approx(1)
    if what == "reviewers":
        assert "Ada Byron" not in ses(folder, "similar", "a", *given).stdout


def test_labels_come_from_a_field_of_the_papers_that_have_any(home):
    folder, library = home
    given = ("--engine", f"embedded:{folder / 'library'}", "--suggest", "labels", "--from")
    library.index("headed", [
        Paper("a", "virus lung cell", "protein gene", fields=("Lung", "Virus")),
        Paper("b", "virus vaccine", "immune response", fields=("Virus",)),
        Paper("c", "virus lung cell", "protein"),
    ])  # fmt: skip
    found = {one.name: one for one in library["headed"].suggest("labels", paper_id="c", field="fields")}
    assert found["Virus"].score == pytest.approx(1)
    assert found["Lung"].because == ("a",)
    assert 0.2 < found["Lung"].score < 1
    done = ses(folder, "similar", "c", "--index", "headed", *given, "fields", "--json")
    assert [one["name"] for one in json.loads(done.stdout)["suggestions"]] == ["Virus", "Lung"]
    fails(ses(folder, "similar", "c", "--index", "headed", *given, "year"), 2, "The field year is of the kind number")
    fails(ses(folder, "similar", "c", *given[:-1]), 2, "To suggest labels, and only then, name the field")
    fails(ses(folder, "similar", "c", *given[:2], "--from", "fields"), 2, "Labels are suggested with --suggest labels")


def test_one_manuscript_or_one_paper(home):
    folder, _ = home
    given = ("--engine", f"embedded:{folder / 'library'}")
    for wrong in ((), ("a", "--text", "x"), ("--text", "")):
        fails(ses(folder, "similar", *wrong, *given), 2, "Name one paper by its id, or give a manuscript")
    fails(ses(folder, "similar", "--text", " \n ", *given), 2, "The text is empty")
