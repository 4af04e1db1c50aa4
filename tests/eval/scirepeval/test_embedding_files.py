"""Embedding files that tasks load and save."""

from __future__ import annotations

import json

import numpy as np
import pytest

from corpora.errors import InputError, UnavailableError
from encoders.files.embeddings import read_embeddings
from encoders.models.formats import Format
from eval.scirepeval.protocols import run_task, run_tasks
from tests.commands import fails, ses
from tests.eval.scirepeval.worlds import a_task, embedder, write_jsonl, write_papers
from tests.tiny import make_model

SIMPLE = {"meta": {"name": "x/a", "config": "one"}, "simple_format": True}
NEAR = {"q": [0.1, 0], "p": [1, 0], "r": [5, 0], "spare": [7, 7]}
FAR = {"q": [0.1, 0], "p": [5, 0], "r": [1, 0]}


@pytest.fixture
def world(tmp_path, monkeypatch):
    """A query, a relevant and another candidate, and a paper that nothing is said of, in the working directory."""
    monkeypatch.chdir(tmp_path)
    write_papers(tmp_path / "one", ["q", "p", "r", "spare"])
    judged = [{"query_id": "q", "cand_id": name, "score": int(name == "p")} for name in ("p", "r")]
    write_jsonl(tmp_path / "one" / "test_qrel.jsonl", judged)
    return tmp_path


def task(folder, kind="proximity", data=SIMPLE, **files):
    return a_task(folder, kind, ["map"], data=data, embeddings=files)


def never(texts, task_format):
    raise AssertionError("nothing is to be encoded")


def write_vectors(path, vectors):
    write_jsonl(path, ({"doc_id": name, "embedding": vector} for name, vector in vectors.items()))


def map_of(result):
    return result.outcome.cells["map"].mean


def told(result):
    return {name: count for name, count in result.outcome.counts.items() if count and name != "queries"}


def test_what_a_task_saves_another_loads(world):
    made = embedder({Format.PRX: NEAR})
    first = run_task(task(world, save="embeddings/x.jsonl"), world, made)
    assert first.files == {"saved": "embeddings/x.jsonl"}
    rows = [json.loads(line) for line in (world / "embeddings" / "x.jsonl").read_text().splitlines()]
    # Of all papers, as others may be judged in the task that loads them; float32 to the last bit.
    saved = {row["doc_id"]: np.float32(row["embedding"]).tolist() for row in rows}
    assert saved == {name: np.float32(vector).tolist() for name, vector in NEAR.items()}
    assert all(row.keys() == {"doc_id", "embedding"} for row in rows)
    second = run_task(task(world, load="embeddings/x.jsonl"), world, never)
    assert second.files == {"loaded": "embeddings/x.jsonl"}
    assert map_of(first) == map_of(second) == 1.0
    assert second.outcome == first.outcome


def test_a_matrix_is_saved_and_loaded_too(world):
    run_task(task(world, save="x.npy"), world, embedder({Format.PRX: FAR}))
    assert sorted(read_embeddings(world / "x.npy").ids) == ["p", "q", "r"]
    assert map_of(run_task(task(world, load="x.npy"), world, never)) == 0.5


def test_labelled_papers_and_others_are_saved(world):
    labels = [{"paper_id": f"p{number}", "label": number % 2} for number in range(12)]
    write_jsonl(world / "one" / "train.jsonl", labels)
    write_jsonl(world / "one" / "test.jsonl", labels[:2])
    places = {f"p{number}": [(-1) ** number, number / 99] for number in range(14)}
    write_papers(world / "one", places)
    saving = a_task(world, metrics=["accuracy"], embeddings={"save": "x.jsonl"})
    result = run_task(saving, world, embedder({Format.CLF: places}))
    assert read_embeddings(world / "x.jsonl").ids == list(places)
    loading = a_task(world, metrics=["accuracy"], embeddings={"load": "x.jsonl"})
    assert run_task(loading, world, never).outcome == result.outcome


def test_papers_that_a_loaded_file_lacks_are_counted_and_those_it_has_are_taken(world):
    write_vectors(world / "x.jsonl", {name: FAR[name] for name in ("q", "p")})
    lacking = run_task(task(world, load="x.jsonl"), world, never)
    assert told(lacking) == {"candidates_missing": 1}
    assert map_of(lacking) == 1.0
    write_vectors(world / "x.jsonl", FAR)
    write_papers(world / "one", ["q", "p"])
    unlisted = run_task(task(world, load="x.jsonl"), world, never)
    assert told(unlisted) == {"candidates_unknown": 1}
    assert map_of(unlisted) == 0.5


def test_a_search_keeps_queries_and_papers_in_one_file(world):
    candidates = [{"doc_id": name, "title": name} for name in ("p", "r", "spare")]
    write_jsonl(world / "one" / "metadata.jsonl", [{"doc_id": "q", "query": "words", "candidates": candidates}])
    search = {"kind": "adhoc_search", "data": {"meta": {"name": "x/a", "config": "one"}}}
    embed = embedder({Format.QRY: {"q": [0, 0]}, Format.PRX: NEAR})
    run_task(task(world, save="x.jsonl", **search), world, embed)
    assert sorted(read_embeddings(world / "x.jsonl").ids) == sorted(NEAR)
    assert map_of(run_task(task(world, load="x.jsonl", **search), world, never)) == 1.0
    # Queries from a file of the command line, papers from that of the task.
    other = embedder({Format.QRY: {"q": [6, 0]}})
    mixed = run_task(task(world, load="x.jsonl", **search), world, other, given={Format.QRY})
    assert mixed.files == {"not_loaded": "x.jsonl", "loaded": "x.jsonl"}
    assert map_of(mixed) == 0.5
    other = embedder({Format.PRX: {"p": [9, 0], "r": [1, 0]}})
    assert map_of(run_task(task(world, load="x.jsonl", **search), world, other, given={Format.PRX})) == 0.5
    run_task(task(world, save="y.jsonl", **search), world, embed, given={Format.QRY})
    assert sorted(read_embeddings(world / "y.jsonl").ids) == ["p", "r", "spare"]


def test_the_command_lines_vectors_go_before_the_task_files(world):
    write_vectors(world / "x.jsonl", NEAR)
    before = (world / "x.jsonl").read_bytes()
    given = {"embed": embedder({Format.PRX: FAR}), "given": frozenset(Format)}
    loading = run_task(task(world, load="x.jsonl"), world, **given)
    assert (map_of(loading), loading.files) == (0.5, {"not_loaded": "x.jsonl"})
    saving = run_task(task(world, save="x.jsonl"), world, **given)
    assert (map_of(saving), saving.files) == (0.5, {"not_saved": "x.jsonl"})
    elsewhere = run_task(task(world, load="x.jsonl"), world, never, given={Format.CLF})
    assert (map_of(elsewhere), elsewhere.files) == (1.0, {"loaded": "x.jsonl"})
    both = run_task(task(world, load="x.jsonl", save="y.jsonl"), world, never)
    assert both.files == {"loaded": "x.jsonl", "not_saved": "y.jsonl"}
    assert (world / "x.jsonl").read_bytes() == before
    assert not (world / "y.jsonl").exists()


def test_files_that_cant_be_loaded_or_saved_are_told(world):
    with pytest.raises(InputError, match=r"The task One loads its vectors from gone\.jsonl, which does not exist; run"):
        run_task(task(world, load="gone.jsonl"), world, never)
    write_vectors(world / "x.jsonl", {"q": [1, 2], "p": [1]})
    with pytest.raises(InputError, match=r"x\.jsonl, line 2: the vector has 1 values"):
        run_task(task(world, load="x.jsonl"), world, never)
    (world / "taken.jsonl").mkdir()
    for path in ("taken.jsonl", "x.jsonl/y.jsonl"):
        with pytest.raises(UnavailableError, match=rf"The task One can't save its vectors as {path} \(.*name another"):
            run_task(task(world, save=path), world, never)
    with pytest.raises(InputError, match=r"embeddings\.save is notes\.txt; end it with \.jsonl or \.npy"):
        task(world, save="notes.txt")


def test_a_task_that_fails_leaves_no_file_and_an_older_one_as_it_was(world):
    write_vectors(world / "x.jsonl", NEAR)
    before = (world / "x.jsonl").read_bytes()
    tasks = [task(world, save=name) for name in ("x.jsonl", "new.jsonl")]
    errors = [error for _, error in run_tasks(tasks, world, embedder({Format.PRX: {"z": [0]}}))]
    assert [type(error) for error in errors] == [InputError] * 2
    assert (world / "x.jsonl").read_bytes() == before
    assert sorted(path.name for path in world.iterdir()) == ["one", "one_task.jsonl", "x.jsonl"]


def test_the_command_runs_the_tasks_that_it_can_and_says_why_not_the_others(tmp_path):
    write_papers(tmp_path / "one", ["q", "p"])
    write_jsonl(tmp_path / "one" / "test_qrel.jsonl", [{"query_id": "q", "cand_id": "p", "score": 1}])
    data = {"One": SIMPLE, "Two": {**SIMPLE, "meta": {"name": "x/a", "config": "lost"}}}
    line = {"type": "proximity", "metrics": ["map"]}
    file = write_jsonl(tmp_path / "t.jsonl", ({"name": name, "data": where, **line} for name, where in data.items()))
    command = ("eval", "task", file, "--data", tmp_path, "--model", make_model(tmp_path / "model"))
    done = ses(tmp_path, *command, "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 1
    assert [row["task"] for row in told["rows"]] == ["One, map"]
    assert list(told["not_run"]) == ["Two"]
    assert (told["file"], told["data"]) == (str(file), str(tmp_path))
    assert ses(tmp_path, *command, "One").returncode == 0


def test_the_command_says_which_files_it_used(tmp_path):
    write_papers(tmp_path / "one", ["q", "p", "r"])
    write_jsonl(tmp_path / "one" / "test_qrel.jsonl", [{"query_id": "q", "cand_id": "p", "score": 1}])
    file = str(tmp_path / "kept" / "x.jsonl")
    names = {"Kept": {"save": file}, "Taken": {"load": file}}
    line = {"type": "proximity", "data": SIMPLE, "metrics": ["map"]}
    tasks = write_jsonl(
        tmp_path / "t.jsonl", ({"name": name, "embeddings": use, **line} for name, use in names.items())
    )
    command = ("eval", "task", tasks, "--data", tmp_path)
    fails(
        ses(tmp_path, *command, "Taken", "--model", make_model(tmp_path / "model")), 2, "which does not exist; run the"
    )
    report = ("--report", tmp_path / "report.json")
    done = ses(tmp_path, *command, "--model", tmp_path / "model", "--json", *report)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["embedding_files"] == {"Kept": {"saved": file}, "Taken": {"loaded": file}}
    assert "'Taken': {'loaded':" in report[1].read_text()
    shown = "".join(ses(tmp_path, *command, "--model", tmp_path / "model").stdout.split("\n"))
    assert f"Kept: vectors saved as {file}, as the task file says" in shown
    assert f"Taken: vectors loaded from {file}, as the task file says" in shown
    given = ses(tmp_path, *command, "--embeddings", file)
    assert given.returncode == 0, given.stderr
    said = "".join(given.stdout.split("\n"))
    assert f"Kept: {file} was not written, since vectors that come from files aren't saved again" in said
    assert f"Taken: --embeddings goes before {file}, which the task file says to load" in said
