"""SciDocs on folders whose figures are known by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from eval.embedder import by_encoder
from eval.scidocs import SciDocs, evaluate_scidocs
from tests.commands import fails, ses
from tests.eval.vectors_by_hand import embedder, write_vectors
from tests.tiny import WORDS, make_model

PLACES = {
    "q": (0.0, 0.0),
    "near": (1.0, 0.0),
    "far": (3.0, 0.0),
    "further": (0.0, 4.0),
    "tie-a": (2.0, 0.0),
    "tie-b": (0.0, 2.000001),
    "r": (9.0, 9.0),
}
QREL = "q 0 far 1\nq 0 near 0\nq 0 tie-a 1\nq 0 tie-b 0\nq 0 gone 1\nr 0 near 1\nr 0 q 0\nlost 0 near 1\n"


def world(folder, classes=("a", "b"), papers=12):
    """A folder with MAG's classes on both sides of 0, one task of rankings, and the vectors of both."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    vectors = dict(PLACES)
    metadata = {}
    for split, count in (("train", papers), ("val", 4), ("test", 6)):
        rows = ["pid,class_label"]
        for i in range(count):
            name, side = f"{split}{i}", i % len(classes)
            vectors[name] = tuple(np.array((3.0 * side - 1.5, 1.0)) + 0.1 * rng.standard_normal(2))
            metadata[name] = {"paper_id": name, "title": f"{WORDS[side]} {WORDS[i]}", "abstract": None, "year": 2000}
            rows.append(f"{name},{side}")
        (folder / "mag").mkdir(exist_ok=True)
        (folder / "mag" / f"{split}.csv").write_text("\n".join(rows) + "\n")
    (folder / "paper_metadata_mag_mesh.json").write_text(json.dumps(metadata))
    ranked = {name: {"paper_id": name, "title": name, "abstract": "virus lung"} for name in (*PLACES, "gone", "lost")}
    (folder / "paper_metadata_view_cite_read.json").write_text(json.dumps(ranked))
    (folder / "cite").mkdir()
    (folder / "cite" / "test.qrel").write_text(QREL)
    return SciDocs(folder), vectors


def test_rankings_by_hand_with_ties_and_missing_papers(tmp_path):
    folder, vectors = world(tmp_path / "data")
    outcome = evaluate_scidocs(folder, embedder(vectors), tasks=["cite"])["cite"]
    # near, then tie-b before tie-a: equal to five places, and trec_eval ranks the larger id first. Then far.
    q_map = (1 / 3 + 2 / 4) / 3  # `gone` is relevant, but not ranked
    q_ndcg = (1 / math.log2(4) + 1 / math.log2(5)) / (1 + 1 / math.log2(3) + 1 / math.log2(4))
    assert outcome.per_unit["MAP"] == {"q": pytest.approx(q_map), "r": 1.0}  # r is nearer to `near` than to q
    assert outcome.per_unit["nDCG"]["q"] == pytest.approx(q_ndcg)
    assert outcome.cells["MAP"].mean == pytest.approx((q_map + 1) / 2)  # over the queries that have a vector
    assert outcome.counts == {
        "queries": 2,
        "queries_without_relevant": 0,
        "queries_left_out": 1,
        "candidates_left_out": 1,
    }


def test_classification_takes_zeros_for_papers_without_a_vector(tmp_path):
    folder, vectors = world(tmp_path / "data")
    whole = evaluate_scidocs(folder, embedder(vectors), tasks=["mag"])["mag"]
    assert whole.cells["F1 macro"].mean == 1.0
    for name in ("test0", "test2", "train5"):
        del vectors[name]
    outcome = evaluate_scidocs(folder, embedder(vectors), tasks=["mag"])["mag"]
    assert (outcome.counts["papers_as_zeros"], outcome.counts["training_papers_as_zeros"]) == (2, 1)
    # Zeros are of the first class, and so were test0 and test2.
    assert outcome.cells["F1 macro"].mean == 1.0
    vectors = {name: place for name, place in vectors.items() if name not in ("test1", "test3")}
    outcome = evaluate_scidocs(folder, embedder(vectors), tasks=["mag"])["mag"]
    wrong = (2 * 3 / (3 + 5) + 2 * 1 / (3 + 1)) / 2
    assert outcome.cells["F1 macro"].mean == pytest.approx(wrong)


def test_the_grid_and_folds_are_those_of_the_harness(tmp_path):
    from sklearn.metrics import f1_score
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import LinearSVC

    folder, vectors = world(tmp_path / "data", classes=("a", "b", "c"), papers=30)
    rng = np.random.default_rng(1)
    vectors = {name: np.array(place) + 2 * rng.standard_normal(2) for name, place in vectors.items()}
    parts = {split: folder.labels("mag", split) for split in ("train", "val")}
    x = {split: np.array([vectors[name] for name, _ in part], np.float32) for split, part in parts.items()}
    y = {split: np.array([int(label) for _, label in part]) for split, part in parts.items()}
    svm = LinearSVC(random_state=42, fit_intercept=False)  # as that of sklearn-contrib-lightning
    search = GridSearchCV(svm, {"C": np.logspace(-4, 2, 7)}, cv=3)
    wanted = f1_score(y["val"], search.fit(x["train"].astype(float), y["train"]).predict(x["val"]), average="macro")
    outcome = evaluate_scidocs(folder, embedder(vectors), tasks=["mag"], split="val")["mag"]
    assert outcome.cells["F1 macro"].mean == pytest.approx(wanted)


def test_formats_and_texts_that_are_embedded(tmp_path):
    folder, vectors = world(tmp_path / "data")
    asked = {}

    def embed(texts, task_format):
        asked[task_format] = {text.id: (text.title, text.abstract) for text in texts}
        return embedder(vectors)(texts, task_format)

    evaluate_scidocs(folder, embed)
    assert set(asked) == {Format.CLF, Format.PRX}
    assert set(asked[Format.PRX]) == {*PLACES, "gone", "lost"} - {"further"}
    assert asked[Format.CLF]["train1"] == (f"{WORDS[1]} {WORDS[1]}", "")
    assert not any(name.startswith("val") for name in asked[Format.CLF])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: (d / "mag" / "test.csv").write_text("pid,class_label\nx\n"), "line 2: The row has 1 columns"),
        (lambda d: (d / "mag" / "test.csv").write_text("pid,class_label\nx,1\ny,\n"), "line 3: a row is"),
        (lambda d: (d / "mag" / "test.csv").write_text("pid,class_label\n"), "holds no papers"),
        (lambda d: (d / "mag" / "train.csv").write_text("pid,class_label\nx,1\ny,1\n"), "No paper of the task"),
        (lambda d: (d / "mag" / "train.csv").write_text("pid,class_label\ntrain0,1\ntest0,1\n"), "can't be trained"),
        (lambda d: (d / "paper_metadata_mag_mesh.json").write_text('{"a": {"title": '), "Fetch the file again"),
        (lambda d: (d / "paper_metadata_mag_mesh.json").unlink(), "There is no file"),
        (lambda d: (d / "cite" / "test.qrel").write_text("q 0 far 1\nq 0 far 0\n"), "judged before"),
        (lambda d: (d / "cite" / "test.qrel").write_text("lost 0 far 1\n"), "No judged query has a vector"),
    ],
)
def test_damage_is_told(tmp_path, change, message):
    folder, vectors = world(tmp_path / "data")
    change(folder.path)
    with pytest.raises(InputError, match=message):
        evaluate_scidocs(folder, embedder(vectors))


@pytest.mark.slow
def test_a_model_and_the_command(tmp_path):
    folder, vectors = world(tmp_path / "data")
    make_model(tmp_path / "model")
    encoder = load_encoder(str(tmp_path / "model"), cache_dir=tmp_path / "cache", precision="fp32")
    wanted = evaluate_scidocs(folder, by_encoder(encoder))
    given = ("eval", "scidocs", "--data", folder.path, "--model", tmp_path / "model", "--precision", "fp32", "--json")
    done = ses(tmp_path, *given)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [row["task"] for row in told["rows"]] == ["mag", "cite"]
    assert (told["data"], told["split"]) == (str(folder.path), "test")
    for row, outcome in zip(told["rows"], wanted.values(), strict=True):
        for measure, cell in outcome.cells.items():
            assert row["measures"][measure]["mean"] == pytest.approx(cell.mean)
    assert told["fingerprint"] == encoder.card.fingerprint
    write_vectors(tmp_path / "v.jsonl", vectors)
    done = ses(tmp_path, "eval", "scidocs", "--data", folder.path, "--embeddings", tmp_path / "v.jsonl")
    assert "cite: 2 queries, 1 query left out, 1 candidate left out" in done.stdout
    fails(ses(tmp_path, "eval", "scidocs", "--data", tmp_path), 2, "holds no SciDocs data")
    fails(ses(tmp_path, "eval", "scidocs", "--data", folder.path, "--task", "recomm"), 2, "it has: mag, cite")
    both = ("--embeddings", tmp_path / "v.jsonl", "--model", "x")
    fails(ses(tmp_path, "eval", "scidocs", "--data", folder.path, *both), 2, "leave --model out")
