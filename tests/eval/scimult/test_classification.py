"""Labels ranked for papers: by hand, against the script's own way of counting, and on damaged files."""

from __future__ import annotations

import json

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.models.formats import Format
from eval.scimult import evaluate_classification, read_classification
from tests.commands import fails, ses
from tests.eval.scimult.worlds import paper, write_fine
from tests.eval.vectors_by_hand import embedder, write_lines, write_vectors
from tests.tiny import make_model


def means(outcome):
    return {measure: getattr(cell, "mean", cell) for measure, cell in outcome.cells.items()}


def test_matching_puts_mentioned_labels_first(tmp_path):
    labels = [f"l{i:03d}" for i in range(150)]
    folder = write_fine(tmp_path, [["l149", "l000"], ["l030", "nowhere"]], [["l149", "l140"], []], labels)
    vectors = {name: (float(-i), 1.0) for i, name in enumerate(labels)} | {"p0": (1.0, 0.0), "p1": (1.0, 0.0)}
    found = evaluate_classification(read_classification(folder, "Toy"), embedder(vectors))
    # l000 is first by the ranking and l149 last; matched, l140 and l149 stand before l000.
    assert means(found[""]) == {"R@20": 0.25, "R@50": 0.5, "R@100": 0.5}
    assert means(found["with label matching"]) == {"R@20": 0.5, "R@50": 0.75, "R@100": 0.75}
    assert found[""].per_unit["R@20"] == {"p0": 0.5, "p1": 0.0}
    assert found[""].counts["gold_labels_unknown"] == 1


def test_labels_are_read_by_their_names_alone(tmp_path):
    folder = write_fine(tmp_path / "data", [["l0"], ["l1"]], None, ["l0", "l1"])
    data, names = (read_classification(folder, "Toy", names_only=one) for one in (False, True))
    assert [(label.title, label.abstract) for label in data.labels] == [
        ("name l0", "means l0"),
        ("name l1", "means l1"),
    ]
    assert [(label.title, label.abstract) for label in names.labels] == [("name l0", None), ("name l1", None)]
    assert (names.papers, names.gold) == (data.papers, data.gold)


def test_the_command_with_names_only_is_the_command_without_definitions(tmp_path):
    folder = write_fine(tmp_path / "data", [["l0"], ["l1"]], None, ["l0", "l1", "l2"])
    model = make_model(tmp_path / "model")
    given = ("eval", "scimult", "--data", folder, "--task", "classification", "--model", model, "--json")
    told = ses(tmp_path, *given, "--names-only")
    assert json.loads(told.stdout)["labels"] == "names"
    lines = [{"label": name, "name": [f"name {name}"]} for name in ("l0", "l1", "l2")]
    write_lines(folder / "Toy_label.json", lines)
    plain = json.loads(ses(tmp_path, *given).stdout)
    assert "labels" not in plain
    assert json.loads(told.stdout)["rows"] == plain["rows"]
    wrong = ses(tmp_path, *given[:4], "--task", "links", "--names-only")
    fails(wrong, 2, "--names-only is for --task classification")


def test_many_matches_against_the_plain_definition(tmp_path):
    rng = np.random.default_rng(0)
    labels = [f"l{i:03d}" for i in range(300)]
    gold = [rng.choice(labels, 6, replace=False).tolist() for _ in range(40)]
    matched = [rng.choice(labels, size, replace=False).tolist() for size in rng.integers(0, 200, 40)]
    # Few distinct values, so that many scores tie exactly.
    vectors = {name: rng.integers(-2, 3, 3) for name in (*labels, *(f"p{i}" for i in range(40)))}
    data = read_classification(write_fine(tmp_path, gold, matched, labels), "Toy")
    found = evaluate_classification(data, embedder(vectors))
    for cutoff in (20, 50, 100):
        plain, first = [], []
        for i in range(40):
            # Ties: the larger id first.
            ranked = sorted(labels, key=lambda name: (vectors[name] @ vectors[f"p{i}"], name), reverse=True)
            again = [x for x in ranked if x in matched[i]] + [x for x in ranked if x not in matched[i]]
            plain.append(len(set(ranked[:cutoff]) & set(gold[i])) / 6)
            first.append(len(set(again[:cutoff]) & set(gold[i])) / 6)
        assert means(found[""])[f"R@{cutoff}"] == pytest.approx(np.mean(plain))
        assert means(found["with label matching"])[f"R@{cutoff}"] == pytest.approx(np.mean(first))


def test_one_label_a_paper_is_f1_as_scikit_learn_counts_it(tmp_path):
    from sklearn import metrics

    rng = np.random.default_rng(1)
    truth = rng.integers(0, 4, 50).tolist()
    write_lines(tmp_path / "MAG_papers_test.json", [paper(f"p{i}", label=one) for i, one in enumerate(truth)])
    names = ["z", "y", "x", "w", "never"]  # numbers count lines, whatever the labels are called
    write_lines(tmp_path / "MAG_label.json", [{"label": x, "name": [x], "definition": ""} for x in names])
    places = rng.standard_normal((54, 4))
    vectors = {f"p{i}": places[i] for i in range(50)} | dict(zip(names, places[50:], strict=False))
    predicted = [int(np.argmax([vectors[x] @ vectors[f"p{i}"] for x in names[:4]])) for i in range(50)]
    found = evaluate_classification(read_classification(tmp_path, "MAG"), embedder(vectors))[""]
    assert found.counts["labels_missing"] == 1
    for average in ("micro", "macro"):
        wanted = metrics.f1_score(truth, predicted, average=average)
        assert means(found)[f"F1 {average}"] == pytest.approx(wanted)
    del vectors["p0"]
    found = evaluate_classification(read_classification(tmp_path, "MAG"), embedder(vectors))[""]
    missed = [-1, *predicted[1:]]
    assert means(found)["F1 micro"] == pytest.approx(metrics.accuracy_score(truth, missed))
    known = metrics.f1_score(truth, missed, average="macro", labels=sorted({*truth, *predicted}))
    assert means(found)["F1 macro"] == pytest.approx(known)
    assert found.counts["papers_missing"] == 1


def test_cosine_l2_and_labels_of_their_own_file(tmp_path):
    data = read_classification(write_fine(tmp_path, [["a"]], None, ["a", *(f"b{i}" for i in range(20))]), "Toy")
    papers = {"p0": (1.0, 0.0), "a": (0.0, 9.0)}
    labels = {"a": (1.0, 0.0)} | {f"b{i}": (2.0, 1.0 + i) for i in range(20)}

    def ranked(similarity):
        found = evaluate_classification(data, embedder(papers), similarity=similarity, embed_labels=embedder(labels))
        assert list(found) == [""]
        return means(found[""])["R@20"]

    assert (ranked("dot"), ranked("cosine"), ranked("l2")) == (0.0, 1.0, 1.0)


def test_all_counts_and_the_forms_of_labels(tmp_path):
    folder = write_fine(tmp_path, [["a", "gone"], ["b", "a"]], [["a"], []], ["a", "b"])
    found = evaluate_classification(read_classification(folder, "Toy"), embedder({"p0": (1.0,), "a": (1.0,)}))
    counts = {"papers": 2, "papers_missing": 1, "labels": 2, "labels_missing": 1, "gold_labels_unknown": 1}
    assert [(way, outcome.counts) for way, outcome in found.items()] == [("", counts), ("with label matching", counts)]
    described = [
        {"label": "a", "name": "A", "definition": "means"},
        {"label": "b", "name": ["B", "other"]},
        {"label": "c", "name": [], "definition": None},
    ]
    write_lines(folder / "Toy_label.json", described)
    labels = read_classification(folder, "Toy").labels
    assert [(text.id, text.title, text.abstract) for text in labels[:2]] == [("a", "A", "means"), ("b", "B", None)]
    assert labels[2].abstract is None


def test_numbers_of_labels_begin_at_0_and_end_at_the_last_line(tmp_path):
    write_lines(tmp_path / "MAG_label.json", [{"label": name, "name": name, "definition": ""} for name in "xyz"])
    write_lines(tmp_path / "MAG_papers_test.json", [paper("p0", label=0), paper("p1", label=2)])
    data = read_classification(tmp_path, "MAG")
    assert (data.gold, data.single, data.matched) == ({"p0": {"x"}, "p1": {"z"}}, True, None)
    for wrong in (3, -1):
        write_lines(tmp_path / "MAG_papers_test.json", [paper("p0", label=wrong)])
        with pytest.raises(InputError, match="a number below 3"):
            read_classification(tmp_path, "MAG")


def test_texts_and_formats(tmp_path):
    data = read_classification(write_fine(tmp_path, [["a"]], None, ["a"]), "Toy")
    asked = []

    def embed(texts, task_format):
        asked.extend((text.title, text.abstract, task_format) for text in texts)
        return embedder({"p0": (1.0,), "a": (1.0,)})(texts, task_format)

    evaluate_classification(data, embed)
    assert asked == [("title p0", "abstract p0", Format.CLF), ("name a", "means a", Format.CLF)]


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("Toy_papers_test.json", [paper("p0", label=[])], 'line 1: "label" must be'),
        ("Toy_papers_test.json", [paper("p0", label=9)], "a number below 1"),
        ("Toy_papers_test.json", [paper("p0", label=True)], "must be a list"),
        ("Toy_papers_test.json", [paper("p0", label=["a"]), paper("p1", label=0)], "mixes"),
        ("Toy_papers_test.json", [paper("p0", label=["a"])] * 2, "line 2: the id p0 came before"),
        ("Toy_papers_test.json", [[1]], "isn't a JSON object"),
        ("Toy_matched.json", [{"candidate": []}, {"candidate": []}], "2 lines for 1 papers"),
        ("Toy_matched.json", [{"candidate": "a"}], "must be a list of ids"),
    ],
)
def test_damage_is_told(tmp_path, name, lines, message):
    write_fine(tmp_path, [["a"]], [["a"]], ["a"])
    write_lines(tmp_path / name, lines)
    with pytest.raises(InputError, match=message):
        read_classification(tmp_path, "Toy")


def test_foreign_vectors_are_told(tmp_path):
    data = read_classification(write_fine(tmp_path, [["a"]], None, ["a"]), "Toy")
    for vectors, message in (({"a": (1.0,)}, "such as 'p0'"), ({"p0": (1.0,)}, "none of the 1 wanted, such as 'a'")):
        with pytest.raises(InputError, match=message):
            evaluate_classification(data, embedder(vectors))
    with pytest.raises(InputError, match="papers have 1 values and those of labels 2"):
        evaluate_classification(data, embedder({"p0": (1.0,)}), embed_labels=embedder({"a": (1.0, 2.0)}))


def test_the_command(tmp_path):
    data = write_fine(tmp_path / "fine", [["a"], ["b"]], [["a"], []], ["a", "b", *(f"c{i}" for i in range(30))])
    make_model(tmp_path / "model")
    given = ("eval", "scimult", "--data", data, "--task", "classification")
    done = ses(tmp_path, *given, "--model", tmp_path / "model", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [row["set"] for row in told["rows"]] == ["Toy", "Toy with label matching"]
    assert (told["data"], told["task"], told["similarity"]) == (str(data), "classification", "l2")
    assert told["rows"][1]["measures"]["R@20"]["mean"] >= 0.5
    papers = write_vectors(tmp_path / "papers.jsonl", {"p0": (1.0, 0.0), "p1": (0.0, 1.0)})
    labels = write_vectors(tmp_path / "labels.jsonl", {"a": (1.0, 0.0), "b": (0.0, 1.0)})
    done = ses(
        tmp_path, *given, "--embeddings", f"clf={papers}", "--label-embeddings", labels, "--model", tmp_path / "model"
    )
    assert "Toy: 2 papers, 32 labels, 30 labels missing" in done.stdout, done.stderr
    fails(ses(tmp_path, *given, "--set", "Geography"), 2, "it has: Toy")
    fails(ses(tmp_path, "eval", "scimult", "--data", tmp_path, "--task", "links"), 2, "holds no set of SciMult's")
    fails(ses(tmp_path, *given[:-1], "links", "--label-embeddings", labels), 2, "leave it out")
