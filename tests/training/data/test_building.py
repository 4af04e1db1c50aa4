"""Building: records are written once, with a manifest that tells what became of every paper."""

from __future__ import annotations

import hashlib
import json
import re

import pytest

from corpora.errors import InputError
from eval.frozen import FROZEN
from tests.commands import ses
from tests.tiny import make_model
from tests.training.data.papers import paper
from tests.training.recipes import read_recipe, toml, write
from training.data.building import build_tasks
from training.data.guard import Guard
from training.preparing import prepare
from training.train import train


def recipe_of(folder, papers, *, task="", recipe="", build=""):
    """Write papers and a recipe that builds one task of them."""
    write(folder / "papers.jsonl", papers)
    if not (folder / "base").exists():
        make_model(folder / "base")
    values = {"base": str(folder / "base"), "trains": "adapters", "learning_rate": 0.01, "batch_size": 8}
    path = folder / "recipe.toml"
    path.write_text(
        f'{toml(values)}{recipe}\n[[tasks]]\nname = "topics"\nformat = "clf"\n{task}\n'
        f'[tasks.build]\nbuilder = "labels"\npapers = ["papers.jsonl"]\n{build}\n'
    )
    return path


def no_model():
    raise AssertionError("labels need no model")


def build(path, folder, base="base"):
    told = []
    recipe = build_tasks(read_recipe(path), base, no_model, folder, told.append)
    return recipe.tasks[0], told[0]


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


PAPERS = [paper(n, label="ab"[n % 2]) for n in range(200)]


@pytest.mark.slow
def test_records_are_divided_by_paper_and_the_manifest_tells_what_became_of_each(tmp_path):
    odd = [paper(0, label="a"), paper(1000, label="a", title="PAPER: 1 !"), paper(1001)]
    path = recipe_of(tmp_path, [*PAPERS, *odd], build="validation = 0.2")
    with (tmp_path / "papers.jsonl").open("a") as file:
        file.write("no JSON\n")
    task, told = build(path, tmp_path / "data")
    train, held = lines(task.train), lines(task.validation)
    assert {one["title"] for one in (*train, *held)} == {one["title"] for one in PAPERS}
    assert 20 < len(held) < 60
    assert task.build is None
    assert told["papers"] == {
        "read": 204,
        "duplicate: id": 1,
        "duplicate: title": 1,
        "malformed": 1,
        "left out: no label under label": 1,
    }
    assert told["records"] == {"train": len(train), "validation": len(held)}
    assert told["options"]["fewest"] == 8
    content = (tmp_path / "papers.jsonl").read_bytes()
    assert told["sources"]["papers 0: papers.jsonl"] == hashlib.sha256(content).hexdigest()
    assert told["outputs"]["train.jsonl"] == hashlib.sha256(task.train.read_bytes()).hexdigest()
    assert json.loads((task.train.parent / "manifest.json").read_text()).items() <= told.items()


@pytest.mark.slow
def test_what_was_built_is_kept_until_something_changes(tmp_path):
    path = recipe_of(tmp_path, PAPERS)
    first, _ = build(path, tmp_path / "data")
    stamp = first.train.stat().st_mtime_ns
    again, told = build(path, tmp_path / "data")
    assert (again.train, again.train.stat().st_mtime_ns) == (first.train, stamp)
    assert told["records"]["train"] == len(lines(first.train))
    places = {first.train}
    for change in ("options = {fewest = 2}", "validation = 0.3"):
        places.add(build(recipe_of(tmp_path, PAPERS, build=change), tmp_path / "data")[0].train)
    places.add(build(recipe_of(tmp_path, PAPERS, task='fields = ["title"]'), tmp_path / "data")[0].train)
    places.add(build(recipe_of(tmp_path, PAPERS, recipe="seed = 7"), tmp_path / "data")[0].train)
    places.add(build(recipe_of(tmp_path, PAPERS[:-1]), tmp_path / "data")[0].train)
    places.add(build(recipe_of(tmp_path, PAPERS), tmp_path / "data", base="another")[0].train)
    assert len(places) == 7


@pytest.mark.slow
def test_what_was_built_stays_in_the_folder_whatever_the_task_is_called(tmp_path):
    path = recipe_of(tmp_path, PAPERS)
    path.write_text(path.read_text().replace('"topics"', '"../../topics/v2: Ä"'))
    task, _ = build(path, tmp_path / "runs" / "data")
    assert task.train.parent.parent == tmp_path / "runs" / "data"


def test_an_interrupted_build_leaves_nothing_that_is_taken_for_whole(tmp_path):
    path = recipe_of(tmp_path, PAPERS)
    whole, _ = build(path, tmp_path / "data")
    content = whole.train.read_bytes()
    place = whole.train.parent
    place.rename(place.with_name(f"{place.name}.part"))
    (place.with_name(f"{place.name}.part") / "train.jsonl").write_text("half")
    again, _ = build(path, tmp_path / "data")
    assert again.train.read_bytes() == content


def test_a_paper_is_held_out_in_every_task_or_in_none(tmp_path):
    papers = [one | {"label": "ab"[n % 2], "year": 1900 + n if n % 3 else None} for n, one in enumerate(PAPERS)]
    path = recipe_of(tmp_path, papers, build="validation = 0.2")
    path.write_text(
        path.read_text()
        + '[[tasks]]\nname = "years"\nformat = "rgn"\n[tasks.build]\nbuilder = "numbers"\npapers = ["papers.jsonl"]\n'
        + 'validation = 0.2\noptions = {field = "year"}\n'
    )
    recipe = build_tasks(read_recipe(path), "base", no_model, tmp_path / "data")
    first, second = ({one["title"] for one in lines(task.validation)} for task in recipe.tasks)
    dated = {one["title"] for one in papers if one["year"]}
    assert second == first & dated != first


def test_several_labels_are_the_tasks_own_key(tmp_path):
    papers = [paper(n, label=["a", "b"]) for n in range(40)]
    task, _ = build(recipe_of(tmp_path, papers, task="multi_label = true"), tmp_path / "data")
    assert {tuple(one["label"]) for one in lines(task.train)} == {("a", "b")}
    assert task.objective == "bce"


@pytest.mark.parametrize(
    ("where", "before", "after", "told"),
    [
        ("build", "", "options = {fewst = 2}", "the builder labels has no option 'fewst'; did you mean 'fewest'?"),
        ("build", "", "options = {multi_label = true}", "has no option 'multi_label'"),
        ("build", "", 'options = {fewest = "2"}', "the option fewest of the builder labels is '2'; give a number"),
        ("build", "", "options = {field = true}", "the option field of the builder labels is True; give a string"),
        ("build", "", 'files = {clases = "x"}', "the builder labels has no file 'clases'; did you mean 'classes'?"),
        ("build", "", 'files = {classes = "x"}', "is built of .*x, and there is no such file"),
        ("build", "", "validaton = 0.1", "the key tasks.0.build.validaton is unknown; did you mean 'validation'?"),
        ("build", '"labels"', '"lables"', "tasks.0.build.builder is not valid: choose one of .*labels"),
        ("build", "papers.jsonl", "none.jsonl", "is built of .*none.jsonl, and there is no such file"),
        ("task", "", 'train = "papers.jsonl"', "needs one of the keys train"),
        ("task", "", 'validation = "papers.jsonl"', "give the share to validate on as build.validation"),
        ("task", "", 'type = "regression"', "the builder labels makes tasks of the type classification"),
        ("recipe", "", 'guard = ["nowhere"]', "guards .*nowhere, and there is no such file or folder"),
    ],
)
def test_mistakes_are_told_in_one_sentence(tmp_path, where, before, after, told):
    path = recipe_of(tmp_path, PAPERS, **({where: after} if not before else {}))
    if before:
        path.write_text(path.read_text().replace(before, after))
    with pytest.raises(InputError, match=told):
        read_recipe(path)


def test_neither_a_file_nor_a_build_is_a_mistake(tmp_path):
    path = recipe_of(tmp_path, PAPERS)
    path.write_text(path.read_text().partition("[tasks.build]")[0] + 'type = "classification"\n')
    with pytest.raises(InputError, match="the task topics needs one of the keys train"):
        read_recipe(path)


def test_no_record_is_told_with_the_reasons(tmp_path):
    path = recipe_of(tmp_path, [paper(n, label="ab"[n % 2], title="", abstract="") for n in range(20)])
    with pytest.raises(InputError, match=r"The task topics gets no training record .*read 20, left out: no text 20"):
        build(path, tmp_path / "data")


@pytest.mark.torch
def test_a_prepared_run_trains_where_it_was_moved_to(tmp_path):
    (tmp_path / "here").mkdir()
    path = recipe_of(tmp_path / "here", PAPERS[:40], recipe='guard = ["set.jsonl"]', build="validation = 0.2")
    write(tmp_path / "here" / "set.jsonl", [{"title": "Paper 7"}])
    assert prepare(read_recipe(path), tmp_path / "here" / "run") == {"topics": (28, 11)}
    packs = {one.name: one.stat().st_mtime_ns for one in (tmp_path / "here" / "run" / "packs").iterdir()}
    (tmp_path / "here" / "run").rename(tmp_path / "run")
    (tmp_path / "here" / "papers.jsonl").unlink()
    recipe = read_recipe(tmp_path / "run" / "recipe.json")
    done = train(recipe, tmp_path / "run")
    assert done.folder
    assert {one.name: one.stat().st_mtime_ns for one in (tmp_path / "run" / "packs").iterdir()} == packs
    (tmp_path / "run").rename(tmp_path / "again")
    recipe = read_recipe(tmp_path / "again" / "recipe.json")
    assert train(recipe, tmp_path / "again", resume=True).steps == done.steps


@pytest.mark.torch
def test_a_prepared_run_is_the_same_run(tmp_path):
    path = recipe_of(tmp_path, PAPERS[:40], recipe='guard = ["set.jsonl"]', build="validation = 0.2")
    write(tmp_path / "set.jsonl", [{"title": "Else"}])
    prepare(read_recipe(path), tmp_path / "run")
    train(read_recipe(tmp_path / "run" / "recipe.json"), tmp_path / "run")
    assert train(read_recipe(path), tmp_path / "run", resume=True).folder


def test_the_command_prepares(tmp_path):
    path = recipe_of(tmp_path, PAPERS[:40], build="validation = 0.2")
    done = ses(tmp_path, "train", path, "--prepare", "--output", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "topics: 29 examples for training, 11 for validation" in done.stdout
    assert f"train with: ses train {tmp_path / 'run' / 'recipe.json'} --output {tmp_path / 'run'}" in done.stdout
    assert "topics: train records 29, validation records 11, read 40" in done.stderr
    done = ses(tmp_path, "train", path, "--prepare", "--output", tmp_path / "run", "--json")
    assert json.loads(done.stdout) == {"topics": {"train": 29, "validation": 11}}


def hashed(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_manifest_is_told_whole(tmp_path):
    (tmp_path / "classes.txt").write_text("a;x\nb;y\n")
    (tmp_path / "set.jsonl").write_text('{"title": "Paper 3"}\n')
    more = 'files = {classes = "classes.txt"}\nvalidation = 0\noptions = {fewest = 2}'
    path = recipe_of(tmp_path, PAPERS[:9], recipe='seed = 5\nguard = ["set.jsonl"]', build=more)
    task, told = build(path, tmp_path / "data", base="fingerprint")
    defaults = {"field": "label", "most": 0, "multi_label": False, "level": -1, "score": 0.0, "until": ""}
    folder = task.train.parent
    assert told == {
        "built": "topics",
        "builder": "labels",
        "options": {**defaults, "fewest": 2},
        "seed": 5,
        "base": "fingerprint",
        "sources": {
            "papers 0: papers.jsonl": hashed(tmp_path / "papers.jsonl"),
            "guard 0: frozen.tsv": hashed(FROZEN),
            "guard 1: set.jsonl": hashed(tmp_path / "set.jsonl"),
            "classes": hashed(tmp_path / "classes.txt"),
        },
        "papers": {"read": 9, "refused: title of an evaluation set": 1},
        "records": {"train": 8, "validation": 0},
        "outputs": {name: hashed(folder / name) for name in ("train.jsonl", "validation.jsonl")},
    }
    assert (task.train.name, task.validation, task.build) == ("train.jsonl", None, None)
    assert [one["label"] for one in lines(task.train)] == ["x" if n % 2 == 0 else "y" for n in range(9) if n != 3]
    assert re.fullmatch(r"topics-[0-9a-f]{12}", folder.name)


def test_files_of_other_names_give_the_same_task_and_other_content_another(tmp_path, monkeypatch):
    monkeypatch.setattr("training.data.building.make_guard", lambda _: Guard())  # reading the whole one takes seconds
    (tmp_path / "classes.txt").write_text("a;x\nb;y\n")
    files = 'files = {classes = "classes.txt"}\noptions = {fewest = 2}'
    path = recipe_of(tmp_path, PAPERS[:9], build=files)
    first = build(path, tmp_path / "data")[0].train
    (tmp_path / "papers.jsonl").rename(tmp_path / "other.jsonl")
    path.write_text(path.read_text().replace("papers.jsonl", "other.jsonl"))
    assert build(path, tmp_path / "data")[0].train == first
    (tmp_path / "classes.txt").write_text("a;x\nb;z\n")
    second = build(path, tmp_path / "data")[0].train
    path.write_text(path.read_text().replace('format = "clf"', 'format = "clf"\nmulti_label = true'))
    third = build(path, tmp_path / "data")[0].train
    # What another task holds out, this one does not train on.
    path.write_text(
        f'{path.read_text()}[[tasks]]\nname = "n"\nformat = "rgn"\n'
        '[tasks.build]\nbuilder = "numbers"\npapers = ["other.jsonl"]\nvalidation = 0.5\noptions = {field = "n"}\n'
    )
    (tmp_path / "other.jsonl").write_text("".join(json.dumps(one | {"n": 1}) + "\n" for one in PAPERS[:9]))
    fourth = build(path, tmp_path / "data")[0].train
    assert len({first, second, third, fourth}) == 4
    assert len(lines(fourth)) < len(lines(third))
