"""The gold standard of reviewers: its measures by hand, and against what its own scripts print."""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile

import numpy as np
import pytest
from click.testing import CliRunner

from corpora.errors import InputError
from eval.embedder import Text, Vectors
from eval.reviewers.gold_standard import (
    compare_factors,
    compare_pairs,
    evaluate_gold_standard,
    read_gold_standard,
    score_predictions,
)
from ses.terminal.commands.eval import eval_


def test_pairs_by_hand():
    reported = {"a": 5.0, "b": 4.0, "c": 2.0, "d": 2.0}
    predicted = {"a": 0.1, "b": 0.9, "c": 0.1, "d": 0.0}
    found = compare_pairs(predicted, reported)
    # ab is wrong (1), ac is a tie (3 / 2), cd is no difference; ad, bc and bd are right.
    assert found == (1 + 1.5, 1 + 3 + 3 + 2 + 2, 3, 4, 0, 1)


@pytest.mark.parametrize(
    ("one", "other", "easy", "hard"),
    [
        *((4.0, 2.0, 1, 0), (5.0, 1.0, 1, 0), (4.0, 2.5, 0, 0), (3.5, 2.0, 0, 0)),
        *((5.0, 4.0, 0, 1), (4.5, 4.0, 0, 1), (4.0, 3.5, 0, 0), (3.0, 1.0, 0, 0), (5.0, 5.0, 0, 0)),
    ],
)
def test_easy_and_hard_pairs_by_their_bounds(one, other, easy, hard):
    for first, second in ((one, other), (other, one)):
        right = compare_pairs({"a": first, "b": second}, {"a": first, "b": second})
        assert right == (0, abs(one - other), easy, easy, hard, hard) if one != other else (0, 0, 0, 0, 0, 0)
        wrong = compare_pairs({"a": second, "b": first}, {"a": first, "b": second})
        assert wrong == (abs(one - other), abs(one - other), 0, easy, 0, hard)


def test_a_paper_without_prediction_ties():
    found = compare_pairs({"a": 1.0}, {"a": 5.0, "b": 1.0})
    assert found == (2.0, 4.0, 0, 1, 0, 0)


def test_reviewers_count_by_their_differences_not_equally():
    expertise = {"r": {"a": 5.0, "b": 1.0}, "q": {"a": 2.0, "b": 1.0}}
    right, wrong = {"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0}
    outcome = score_predictions([{"r": right, "q": wrong}, {"r": right, "q": right}], expertise)
    assert outcome.cells["loss"].mean == pytest.approx((1 / 5 + 0) / 2)
    assert outcome.cells["easy"].mean == 1
    assert "hard" not in outcome.cells
    assert outcome.per_unit["loss of each reviewer"] == {"r": 0, "q": 0.5}


def note(name: str, title: str) -> dict:
    return {"id": name, "content": {"title": title, "abstract": None}}


@pytest.fixture
def small(tmp_path):
    """Two reviewers and three papers, one draw; the second reviewer's order comes out wrong."""
    root = tmp_path / "gold"
    (root / "data").mkdir(parents=True)
    names = [f"{kind}{n}" for kind in ("Paper", "Expertise") for n in range(1, 11)]
    rows = [{"ParticipantID": "1", "Paper1": "x", "Paper2": "y", "Expertise1": "5.0", "Expertise2": "1.0"}]
    rows += [{"ParticipantID": "2", "Paper1": "x", "Paper2": "z", "Expertise1": "4.0", "Expertise2": "5.0"}]
    cells = [["ParticipantID", *names], *([row.get(name, "") for name in ("ParticipantID", *names)] for row in rows)]
    (root / "data/evaluations.csv").write_text("".join("\t".join(row) + "\n" for row in cells))
    draw = root / "evaluation_datasets" / "d_20_1"
    (draw / "archives").mkdir(parents=True)
    (draw / "submissions.json").write_text(json.dumps({name: note(name, name) for name in ("x", "y", "z")}))
    (draw / "archives" / "~1.jsonl").write_text(json.dumps(note("p", "p")) + "\n")
    (draw / "archives" / "~2.jsonl").write_text(json.dumps(note("p", "p")) + "\n" + json.dumps(note("q", "q")) + "\n")
    return root


def test_vectors_predict_by_the_nearest_paper(small, tmp_path):
    embedded = {"p": [1, 0], "q": [0, 1], "x": [0, 2], "y": [0.5, -0.5], "z": [1, 1]}
    seen = []

    def embed(texts, task_format):
        seen.extend(texts)
        return Vectors({name: n for n, name in enumerate(embedded)}, np.array(list(embedded.values()), np.float32))

    # Reviewer 1: cosines to p are 0 for x and .71 for y, wrong by 4. Reviewer 2: x 1, z .71, wrong by 1.
    outcome = evaluate_gold_standard(read_gold_standard(small), embed)
    assert outcome.cells["loss"].mean == 1
    assert sorted(text.id for text in seen) == ["p", "q", "x", "y", "z"]
    assert outcome.counts == {
        "reviewers": 2,
        "papers": 3,
        "draws": 1,
        "papers_without_vector": 0,
        "scores_not_predicted": 0,
    }
    del embedded["y"]
    missing = evaluate_gold_standard(read_gold_standard(small), embed)
    assert missing.cells["loss"].mean == pytest.approx((4 / 2 + 1) / 5)
    assert (missing.counts["papers_without_vector"], missing.counts["scores_not_predicted"]) == (1, 1)


def test_draws_are_in_the_order_of_their_numbers_and_the_folder_may_lie_in_another(small):
    draws = small / "evaluation_datasets"
    for number, papers in ((10, ["q"]), (2, ["q", "p"])):
        shutil.copytree(draws / "d_20_1", draws / f"d_20_{number}")
        own = "".join(json.dumps(note(name, name)) + "\n" for name in papers)
        (draws / f"d_20_{number}" / "archives" / "~1.jsonl").write_text(own)
    data = read_gold_standard(small.parent)
    assert [draw["1"] for draw in data.draws] == [("p",), ("q", "p"), ("q",)]
    assert data.expertise == {"1": {"x": 5.0, "y": 1.0}, "2": {"x": 4.0, "z": 5.0}}
    assert data.papers["x"] == Text("x", "x", "")
    assert data == read_gold_standard(small)
    shutil.rmtree(draws)
    with pytest.raises(InputError, match="has no evaluation_datasets/d_20_1"):
        read_gold_standard(small)


def test_the_command_takes_the_archive_too(small, tmp_path):
    with tarfile.open(tmp_path / "gold.tar.xz", "w:xz") as archive:
        archive.add(small, "gold")
    rows = {"p": [1, 0], "q": [0, 1], "x": [2, 1], "y": [0, 2], "z": [1, 0]}
    file = tmp_path / "v.jsonl"
    file.write_text("".join(json.dumps({"paper_id": name, "embedding": row}) + "\n" for name, row in rows.items()))
    told = []
    for data in (tmp_path / "gold.tar.xz", small):
        run = CliRunner().invoke(eval_, ["gold-standard", "--data", str(data), "--embeddings", str(file), "--json"])
        assert run.exit_code == 0, run.output
        assert json.loads(run.stdout)["data"] == str(data)
        told.append(json.loads(run.stdout)["rows"])
    assert told[0] == told[1]
    assert told[0][0]["measures"]["loss"]["mean"] == 0


def test_archives_that_reach_outside_and_other_folders_are_refused(tmp_path):
    (tmp_path / "f").write_text("x")
    with tarfile.open(tmp_path / "bad.tar", "w") as archive:
        archive.add(tmp_path / "f", "../f")
    with pytest.raises(InputError, match="nor a tar archive that can be unpacked"):
        read_gold_standard(tmp_path / "bad.tar")
    (tmp_path / "link").symlink_to(tmp_path / "f")
    with tarfile.open(tmp_path / "link.tar", "w") as archive:
        archive.add(tmp_path / "link", "data")
    with pytest.raises(InputError, match="'data' is outside its folder, a link or a device"):
        read_gold_standard(tmp_path / "link.tar")
    with pytest.raises(InputError, match=r"no data/evaluations\.csv"):
        read_gold_standard(tmp_path)


def test_its_own_scripts_say_the_same_of_the_same_predictions(data_dir):
    """The figures are those of the data set's repository (commit 1ddb35c): evaluation_script.py printed 0.16 and
    [0.15; 0.18] for these predictions; scripts/scoring.py gave the rest, and 244 of 261 and 245 of 417 for the first.
    The archive has the first script only, without the modules that it imports, so it can't run here.
    """
    data = read_gold_standard(data_dir / "eval" / "goldstandard-reviewers.tar.xz")
    assert (len(data.expertise), sum(map(len, data.expertise.values())), len(data.draws)) == (58, 477, 10)

    def made(draw: int, reviewer: str, paper: str, expertise: float) -> float:
        noise = hashlib.sha256(f"{draw} {reviewer} {paper}".encode()).digest()[0] % 8
        return expertise * 2 // 1 + noise

    predictions = [
        {r: {p: made(draw, r, p, e) for p, e in reported.items()} for r, reported in data.expertise.items()}
        for draw in range(1, 11)
    ]
    outcome = score_predictions(predictions, data.expertise)
    loss = outcome.cells["loss"]
    assert loss.mean == pytest.approx(0.16365759663669274, abs=1e-12)
    assert (loss.low, loss.high) == pytest.approx((0.15, 0.18), abs=0.0075)
    assert outcome.cells["easy"].mean == pytest.approx(0.9325670498084291, abs=1e-12)
    assert outcome.cells["hard"].mean == pytest.approx(0.588009592326139, abs=1e-12)
    first = score_predictions(predictions[:1], data.expertise)
    assert (first.cells["easy"].mean, first.cells["hard"].mean) == pytest.approx((244 / 261, 245 / 417))


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("data/evaluations.csv", lambda text: text.replace("ParticipantID", "Who"), "under ParticipantID"),
        ("data/evaluations.csv", lambda text: text + text.splitlines()[1] + "\n", "who comes once"),
        ("evaluation_datasets/d_20_1/archives/~1.jsonl", lambda _: '{"id": "p", "content": []}\n', "OpenReview's form"),
        ("evaluation_datasets/d_20_1/submissions.json", lambda _: '{"x": []}', "OpenReview's submissions"),
        (
            "evaluation_datasets/d_20_1/submissions.json",
            lambda _: '{"x": {"id": "x", "content": {"title": 5}}}',
            "OpenReview's submissions",
        ),
    ],
)
def test_damaged_files_are_told(small, file, change, message):
    (small / file).write_text(change((small / file).read_text()))
    with pytest.raises(InputError, match=message):
        read_gold_standard(small)


@pytest.mark.slow
def test_words_count_only_where_they_are_named(small):
    """Words order all pairs rightly, and equal vectors none."""
    draw = small / "evaluation_datasets" / "d_20_1"
    titles = {"x": "virus of a star", "y": "heart", "z": "lung", "p": "virus", "q": "lung"}
    (draw / "submissions.json").write_text(json.dumps({name: note(name, titles[name]) for name in "xyz"}))
    for reviewer, own in enumerate(("p", "pq"), start=1):
        archive = "".join(json.dumps(note(name, titles[name])) + "\n" for name in own)
        (draw / "archives" / f"~{reviewer}.jsonl").write_text(archive)
    equal = Vectors({name: n for n, name in enumerate("pqxyz")}, np.ones((5, 2), np.float32))
    found = compare_factors(read_gold_standard(small), {"semantic": equal, "topic": equal}, "max")
    assert {name: outcome.cells["loss"].mean for name, outcome in found.items() if "ranks" not in name} == {
        "words": 0,
        "semantic": 0.5,
        "topic": 0.5,
        "semantic + topic, by scores": 0.5,
        "semantic + topic + words, by scores": 0,
    }


@pytest.mark.slow
def test_factors_are_measured_alone_together_and_against_words(small, tmp_path):
    data = read_gold_standard(small)
    embedded = {"p": [1, 0], "q": [0, 1], "x": [0, 2], "y": [0.5, -0.5], "z": [1, 1]}
    vectors = Vectors({name: n for n, name in enumerate(embedded)}, np.array(list(embedded.values()), np.float32))
    found = compare_factors(data, {"semantic": vectors}, "max")
    assert list(found) == ["words", "semantic", "semantic + words, by scores", "semantic + words, by ranks"]
    # Vectors order both reviewers' pairs wrongly; no word is shared, so all ties of words are at half.
    assert found["semantic"].cells["loss"].mean == 1
    assert found["words"].cells["loss"].mean == 0.5
    assert found["semantic"].cells["loss - words"].mean == 0.5
    assert found["words"].cells["loss - words"].mean == 0
    both = compare_factors(data, {"semantic": vectors, "topic": vectors}, "max")
    assert both["semantic + topic, by scores"].cells["loss"].mean == 1
    file = tmp_path / "v.jsonl"
    file.write_text("".join(json.dumps({"paper_id": name, "embedding": row}) + "\n" for name, row in embedded.items()))
    given = ["gold-standard", "--data", str(small), "--embeddings", str(file), "--factors"]
    run = CliRunner().invoke(eval_, [*given, "--aggregate", "max", "--json"])
    assert run.exit_code == 0, run.output
    told = json.loads(run.stdout)
    assert (told["data"], told["aggregate"]) == (str(small), "max")
    rows = {row["factors"]: row["measures"]["loss"]["mean"] for row in told["rows"]}
    assert rows["semantic"] == 1
    del vectors.rows["y"]
    with pytest.raises(InputError, match="Some papers of the gold standard have no vector"):
        compare_factors(data, {"semantic": vectors}, "max")
    with pytest.raises(InputError, match="--aggregate is one of top3, max"):
        CliRunner().invoke(eval_, [*given, "--aggregate", "p75"], catch_exceptions=False)
