"""`ses models` as a user runs it."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.commands import fails, ses
from tests.encoders.every import MAKERS
from tests.tiny import make_model, papers, write_jsonl


def told(folder, *arguments):
    done = ses(folder, "models", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_list_shows_what_models_are_chosen_by(tmp_path):
    rows = {row["name"]: row for row in told(tmp_path, "list")["models"]}
    assert [name for name, row in rows.items() if row["default"]] == ["ses-minilm"]
    assert rows["specter2"]["hub_id"] == "allenai/specter2_base"
    small = rows["bge-small-en-v1.5"]
    assert (small["parameters"], small["dimension"], small["layers"]) == (33_360_000, 384, 12)
    assert (small["speed"], small["work"], small["scifact"], small["source"]) == ("medium", 2, 0.713, "MTEB, run")
    done = ses(tmp_path, "models", "list")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["model", "here", "parameters", "numbers", "speed", "SciFact", "languages", "licence"]
    assert lines[1][:8] == ["ses-minilm", "(default)", "yes", "23", "M", "384", "fast", "(1)"]
    assert "ses-minilm: the same model as all-MiniLM-L6-v2\n" in done.stdout
    assert ["bge-small-en-v1.5", "no", "33", "M", "384", "medium", "(2)", "0.713", "English", "MIT"] in lines


def test_list_shows_models_in_folders(tmp_path):
    make_model(tmp_path / "runs" / "a" / "model")
    (make_model(tmp_path / "runs" / "b") / "config.json").write_text("{")
    done = ses(tmp_path, "models", "list", tmp_path / "runs")
    assert done.returncode == 0, done.stderr
    assert "runs/a/model" in done.stdout
    assert "runs/b: " in done.stdout.splitlines()[-1]
    assert "can't be read as JSON" in done.stdout
    (tmp_path / "empty").mkdir()
    fails(ses(tmp_path, "models", "list", tmp_path / "empty"), 2, "There is no model in", "give a model's folder")


@pytest.mark.parametrize(
    ("name", "passes"),
    [
        ("plain", "clf+rgn+prx+qry, all of 2 layers shared"),
        ("codes", "clf / rgn / prx / qry; they read different texts"),
        ("adapters", "clf+rgn+prx+qry, 1 of 3 layers shared"),
        ("shared-codes", "clf+rgn+prx+qry, all of 3 layers shared"),
        ("ensemble", "those of its members"),
    ],
)
def test_info_says_which_formats_one_pass_makes(name, passes, tmp_path):
    model = MAKERS[name](tmp_path / "model")
    done = ses(tmp_path, "models", "info", model)
    assert done.returncode == 0, done.stderr
    assert f"passes: {passes}\n" in done.stdout
    facts = told(tmp_path, "info", model)
    assert (facts["folder"], facts["formats"]) == (facts["name"], ["clf", "rgn", "prx", "qry"]) or name == "adapters"
    assert len(facts["fingerprint"]) == 16


@pytest.mark.slow
def test_an_exported_model_searches_what_its_source_indexed(tmp_path):
    make_model(tmp_path / "model", codes=True)
    corpus = write_jsonl(tmp_path / "corpus.jsonl", papers(30))
    options = ("--model", tmp_path / "model", "--formats", "prx,clf,rgn")
    done = ses(tmp_path, "index", "--corpus", "jsonl", "--path", corpus, *options)
    assert done.returncode == 0, done.stderr
    facts = told(tmp_path, "export", tmp_path / "model", tmp_path / "out", "--formats", "prx,qry")
    assert facts["bytes"] > 100_000
    shutil.rmtree(tmp_path / "model")
    done = ses(tmp_path, "search", "virus lung", "--model", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["hits"]) == 10
    assert "exported for: onnx-int8" in ses(tmp_path, "models", "info", tmp_path / "out").stdout
    fails(
        ses(tmp_path, "search", "virus", "--model", tmp_path / "out", "--precision", "fp32"), 2, "was exported for onnx"
    )


def test_what_goes_wrong_is_told(tmp_path):
    model = make_model(tmp_path / "model")
    assert told(tmp_path, "fetch", model)["folder"] == str(model)
    fails(ses(tmp_path, "models", "info", "specter2"), 3, "allenai/specter2_base can't be fetched from the hub")
    fails(ses(tmp_path, "models", "export", model, tmp_path), 2, "exists already; name an empty or a new folder")
    fails(ses(tmp_path, "models", "export", model, tmp_path / "x", "--runtime", "tpu"), 2, "There is no runtime 'tpu'")
    fails(ses(tmp_path, "models", "export", model, tmp_path / "x", "--runtime", "auto"), 2, "depends on the machine")
    (model / "model.safetensors").write_bytes(b"damaged")
    fails(ses(tmp_path, "models", "fetch", model), 2, "is an incomplete safetensors file")


def test_a_format_that_the_model_lacks_is_told_before_anything_is_read(tmp_path):
    folder = MAKERS["adapters"](tmp_path / "m")
    card = json.loads((folder / "ses_card.json").read_text())
    del card["adapters"]["rgn"]
    (folder / "ses_card.json").write_text(json.dumps(card))
    corpus = write_jsonl(tmp_path / "corpus.jsonl", papers(5))
    done = ses(tmp_path, "index", "--corpus", "jsonl", "--path", corpus, "--model", folder, "--formats", "prx,rgn")
    fails(done, 2, f"The model {folder} has no rgn vectors, only clf, prx, qry")
