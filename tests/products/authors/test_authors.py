"""Clusters of the papers under one name: by vectors and names, and the command."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from corpora.errors import InputError
from eval.measures.classes import b_cubed
from products.authors.authors import AuthorName, block_of, cut_block, read_blocks
from tests.commands import fails, ses
from tests.tiny import make_model


def units(*angles):
    return np.array([[np.cos(angle), np.sin(angle)] for angle in np.deg2rad(angles)])


def test_clusters_are_joined_by_the_mean_distance_below_the_threshold():
    # Distances: 1 - cos 10 = .015 within the pairs, and about 1 - cos 60 = .5 between them.
    rows = units(0, 10, 60, 70)
    found = cut_block(rows, [0.01, 0.1, 0.9])
    assert [len(set(cut)) for cut in found] == [4, 2, 1]
    assert found[1][0] == found[1][1] != found[1][2] == found[1][3]
    assert cut_block(units(0), [0.1]) == [[0]]


def test_names_that_contradict_keep_papers_apart():
    names = ["Kim, Jiho", "J. Kim", "Kim, Mina", "Kim, Jiho"]
    (cut,) = cut_block(units(0, 0, 0, 0), [0.5], names)
    assert cut[0] == cut[1] == cut[3] != cut[2]


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("Smith J", "j smith"),
        ("John A. Smith", "j smith"),
        ("Jan van der Berg", "j berg"),
        ("Müller, Jürgen", "j muller"),
        ("Plato", "plato"),
        (" ? ", "?"),
    ],
)
def test_a_block_is_the_family_name_with_an_initial(name, block):
    assert block_of(name) == block


def test_rows_are_checked():
    good = {"id": "a", "title": "t", "name": "Ada Byron"}
    (block,) = read_blocks([(1, good), (2, {"id": 5, "title": "t", "block": "a byron", "author": "x"})]).values()
    assert block == [AuthorName("a", "a byron", "Ada Byron", "t", ""), AuthorName("5", "a byron", "", "t", "", "x")]
    named = {**good, "abstract": "s", "block": "own"}
    assert read_blocks([(1, named)]) == {"own": [AuthorName("a", "own", "Ada Byron", "t", "s")]}
    for rows, message in (
        ([], "no rows"),
        ([(3, {**good, "title": ""})], "Line 3 has no title"),
        ([(3, {"id": "a", "title": "t"})], "Line 3 has neither name nor block"),
        ([(2, good), (3, good)], "Line 3: the id a came before"),
    ):
        with pytest.raises(InputError, match=message):
            read_blocks(rows)


def test_the_command_writes_clusters_and_measures_them(tmp_path):
    model = make_model(tmp_path / "model")
    rows = [
        ("1", "virus lung cell", "Kim, Jiho", "a"),
        ("2", "virus lung cell", "Kim J", "a"),
        ("3", "virus lung cell", "Kim, Jane", "b"),
        ("4", "quantum star", "Ada Byron", "c"),
    ]
    with (tmp_path / "p.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "title", "name", "author"), *rows])
    given = ("authors", "cluster", "--path", tmp_path / "p.csv", "--model", model)
    done = ses(tmp_path, *given, "--threshold", 0.3, "--out", tmp_path / "c.csv", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    with (tmp_path / "c.csv").open() as file:
        listed = list(csv.DictReader(file))
    found = {row["id"]: (row["block"], row["cluster"]) for row in listed}
    assert {row["id"]: row["title"] for row in listed} == {row[0]: row[1] for row in rows}
    assert told["clusters"]["4"] == {"block": "a byron", "cluster": int(found["4"][1]), "title": "quantum star"}
    assert found["4"][0] == "a byron"
    assert found["1"] != found["3"]
    assert found["2"] in (found["1"], found["3"])
    score = b_cubed([row[3] for row in rows], ["".join(found[row[0]]) for row in rows])
    assert told["b_cubed"] == {"precision": score.precision, "recall": score.recall, "f1": pytest.approx(score.f1)}
    shown = ses(tmp_path, *given, "--threshold", 0.3).stdout.splitlines()
    # The papers of a person stand together.
    lines = sorted((*found[row[0]], int(row[0]), row[0], row[1]) for row in rows)
    assert shown[:4] == ["\t".join((block, number, id_, title)) for block, number, _, id_, title in lines]
    assert shown[4] == "4 papers in 2 blocks: 3 authors"
    fails(
        ses(tmp_path, *given, "--threshold", 3),
        2,
        "The threshold must be between 0 and 2, and is 3; give --threshold from 0 to 2",
    )
