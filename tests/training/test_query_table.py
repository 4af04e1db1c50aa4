"""Tables for queries: what they are learned from, how near they come, and the folder that is written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.registry import find_model
from tests.commands import ses
from tests.tiny import WORDS, make_model, papers, write_jsonl
from training.query_table import TableSettings, fit, texts_of
from training.recipe import read_variants
from training.table_recipe import read_table_recipe

RECIPE = Path(__file__).parents[2] / "recipes" / "query-table.toml"
SENTENCES = "Masks kept the virus from the children of a school. We asked 12 of them. Nobody had a better idea at all."


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_texts_are_titles_sentences_and_some_words_each_once():
    found = texts_of([("A title", SENTENCES), ("A title", ""), ("", "")], 100, 1)
    assert found.count("A title") == 1
    assert any(text in SENTENCES.split(". ")[0] + "." for text in found)
    assert all(len(text.split()) <= 5 or text in SENTENCES for text in found)
    assert found == texts_of([("A title", SENTENCES), ("A title", ""), ("", "")], 100, 1)
    assert len(texts_of([(f"title {number}", "") for number in range(50)], 20, 1)) == 20


@pytest.mark.torch
def test_rows_that_make_the_vectors_are_found():
    """The vectors are sums of hidden rows, so a table can come as near as its quantised form allows."""
    draw = np.random.default_rng(0)
    hidden = draw.normal(size=(60, 16)).astype(np.float32)
    ids = [draw.integers(1, 60, draw.integers(1, 6)) for _ in range(4000)]
    vectors = unit(np.stack([hidden[one].sum(axis=0) for one in ids]))
    alone = unit(hidden + draw.normal(size=hidden.shape))
    counted = np.arange(60) > 0
    said = []
    settings = TableSettings(bytes_a_token=8, batch_size=256, epochs=20, learning_rate=0.05)
    found = fit(ids, vectors, alone, counted, settings, say=said.append)
    loss = found.loss(1)
    assert found.codes.shape == (60, 8)
    assert found.centroids.shape == (8, 256, 2)
    assert found.weights[0] == 0
    assert loss.cosine > 0.97
    assert loss.nearest > 0.7
    assert (loss.train, loss.test) == (3880, 120)
    assert said[-1]["epoch"]["loss"] < said[0]["epoch"]["loss"]
    again = fit(ids, vectors, alone, counted, settings)
    assert again.codes.tobytes() == found.codes.tobytes()


def test_the_recipe_is_read_and_any_mistake_in_it_is_one_sentence(tmp_path, data_dir):
    recipe = read_table_recipe(RECIPE, data_dir)
    assert recipe is not None
    assert recipe.base == "all-MiniLM-L6-v2"
    assert {name: getattr(recipe, name) for name in TableSettings.model_fields} == TableSettings().model_dump()
    assert len(recipe.papers) == 6
    text = 'base = "x"\ntrains = "query-table"\npapers = ["papers.jsonl"]\n'
    (tmp_path / "papers.jsonl").write_text("")
    for wrong, said in (
        (text + "epoch = 3\n", "did you mean 'epochs'"),
        (text + "epochs = 0\n", "epochs is not valid"),
        (text.replace("papers.jsonl", "none.jsonl"), "there is no such file"),
        ("trains = ", "can't be read"),
    ):
        (tmp_path / "wrong.toml").write_text(wrong)
        with pytest.raises(InputError, match=said):
            read_table_recipe(tmp_path / "wrong.toml")
    other = RECIPE.with_name("specter.toml")
    assert read_table_recipe(other) is None
    with pytest.raises(InputError):
        read_variants(RECIPE, (), data_dir)


@pytest.fixture
def model(tmp_path):
    folder = make_model(tmp_path / "model")
    (folder / "ses_card.json").write_text('{"pooling": "mean", "normalize": true, "similarity": "cosine"}')
    return folder


@pytest.mark.torch
def test_a_table_of_an_index_asks_it(model, tmp_path):
    write_jsonl(tmp_path / "papers.jsonl", papers(400))
    given = ("--corpus", "jsonl", "--path", tmp_path / "papers.jsonl", "--model", model)
    assert ses(tmp_path, "index", *given, "--index", "mine").returncode == 0
    done = ses(tmp_path, "train", "--query-table", "--from-index", "mine", "--output", tmp_path / "run", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["model"] == str(model)
    card = find_model(told["folder"]).card
    assert card.papers_by == find_model(str(model)).card.fingerprint
    made, wanted = (
        load_encoder(name, cache_dir=tmp_path / "graphs").encode(WORDS[:20], Format.QRY)
        for name in (told["folder"], str(model))
    )
    assert (made * wanted).sum(axis=1).mean() > 0.7
    found = ses(tmp_path, "search", "virus lung", "--index", "mine", "--model", told["folder"], "--json")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["hits"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--query-table",), "Say what a table learns from"),
        (("--query-table", "--from-index", "mine", "--labels", "year"), "leave --labels out"),
        (("--from-index", "mine", "--labels", "year", "--model", "x"), "leave --model out"),
    ],
)
def test_options_that_do_not_go_together_are_refused(tmp_path, arguments, said):
    done = ses(tmp_path, "train", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
