"""Rerankers: what a step learns, that the folder is a cross-encoder, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from corpora.errors import InputError
from encoders.encoder import load_encoder
from encoders.registry import find_model
from encoders.rerankers.registry import load_reranker
from encoders.tokens.pairs import load_pair_tokenizer
from tests.encoders.checkpoints.pairs import write_pair_form
from tests.tiny import make_model
from tests.training.recipes import read_recipe, task_files, write_recipe
from training.batches import texts_of
from training.train import train

pytestmark = pytest.mark.torch

QUERY, TEXTS = "virus lung", ["cell protein gene", "galaxy star quantum", "virus lung lung"]


@pytest.fixture
def home(tmp_path):
    """A folder with task files, and a base whose tokenizer joins pairs."""
    task_files(tmp_path)
    make_model(tmp_path / "base")
    write_pair_form(tmp_path / "base", "bert")
    return tmp_path


def recipe_of(home, objectives=("listwise",), *, longest=100, **values):
    given = {"trains": "reranker", "learning_rate": 0.01, "batch_size": 8, "max_tokens": 48} | values
    options = {"max_tokens": longest} if given["trains"] == "reranker" else None
    return read_recipe(write_recipe(home, objectives, options, **given))


def losses(folder):
    return [json.loads(line)["loss"] for line in (folder / "log.jsonl").read_text().splitlines()]


def test_it_learns_which_paper_answers_and_the_folder_is_a_cross_encoder(home):
    done = train(recipe_of(home, ("listwise", "listwise of a teacher"), epochs=20), home / "run")
    found = losses(home / "run")
    assert np.mean(found[-5:]) < 0.7 * np.mean(found[:5])
    assert done.measures["listwise"] > 0.8
    model = find_model(str(done.folder))
    assert (model.card.architecture, model.card.max_tokens) == ("pairs", 100)
    scorer = load_reranker(str(done.folder), cache_dir=home / "cache", precision="fp32")
    judged = [json.loads(line) for line in (home / "judged.jsonl").read_text().splitlines()]
    first = [
        np.argmax(scorer.scores(one["query"], [f"{paper['title']} {paper['abstract']}" for paper in one["candidates"]]))
        for one in judged
    ]
    assert first.count(0) > 0.8 * len(judged)  # the answers are the first candidates
    with pytest.raises(InputError, match="scores pairs of texts and makes no vectors; name it with rerank"):
        load_encoder(str(done.folder), cache_dir=home / "cache")


def test_what_is_trained_is_what_runs(home):
    from encoders.models.model import read_checked
    from encoders.models.module import as_module

    done = train(recipe_of(home, steps=2, longest=30), home / "run")
    model = find_model(str(done.folder))
    assert model.card.max_tokens == 30
    start = find_model(str(home / "run" / "start"))
    before, after = start.read(), model.read()
    assert all(not np.array_equal(before[name], after[name]) for name in ("pooler.dense.weight", "classifier.weight"))
    scores = load_reranker(str(done.folder), cache_dir=home / "cache", precision="fp32").scores(QUERY, TEXTS)
    import torch

    module = as_module(read_checked(model, ("score",)), model.card).eval()
    tokenizer = load_pair_tokenizer(model.folder, model.card)
    for text, score in zip(TEXTS, scores, strict=True):
        pair = tokenizer.encode(QUERY, text)
        mask = torch.tensor([[1 + kind for kind in pair.type_ids]])
        with torch.no_grad():
            (found,) = module(torch.tensor([pair.ids]), mask, ["score"])
        assert found.item() == pytest.approx(float(score), abs=1e-5)


@pytest.mark.mteb
@pytest.mark.slow
def test_sentence_transformers_loads_it(home):
    from sentence_transformers import CrossEncoder

    done = train(recipe_of(home, steps=1), home / "run")
    expected = CrossEncoder(str(done.folder), device="cpu").predict([(QUERY, text) for text in TEXTS])
    ours = load_reranker(str(done.folder), cache_dir=home / "cache", precision="fp32")
    np.testing.assert_allclose(ours.scores(QUERY, TEXTS), expected, atol=1e-5)
    assert {"bert.pooler.dense.weight", "classifier.bias"} <= load_file(done.folder / "model.safetensors").keys()


def test_a_pack_joins_each_candidate_with_its_query(home):
    from training.data.packed import pack

    recipe = recipe_of(home)
    train(recipe.model_copy(update={"steps": 1}), home / "run")
    start, task = find_model(str(home / "run" / "start")), recipe.tasks[0]
    packed = pack(task, task.train, (), start, 48, home / "packs")
    record = json.loads((home / "judged.jsonl").read_text().splitlines()[0])
    tokenizer = load_pair_tokenizer(start.folder, start.card)
    assert packed.columns == 2  # a query with a right and a wrong paper
    for column, paper in enumerate((record["candidates"][0], record["candidates"][2])):
        text = " ".join(part for part in (paper["title"], paper["abstract"]) if part)
        pair = tokenizer.encode(record["query"], text)
        assert packed.text(0, column).tolist() == pair.ids
        assert packed.second(0, column) == pair.type_ids.index(1)
        _, mask = texts_of(packed, [0], [column])
        assert mask[0].tolist() == [1 + kind for kind in pair.type_ids]
    values, mask = texts_of(packed, [0, 1, 2], [0, 1])
    assert values.shape == mask.shape
    assert ((mask == 0) == (values == 0)).all()
    assert set(mask.ravel().tolist()) == {0, 1, 2}


@pytest.mark.parametrize("values", [{"chunk": 3}, {"activation_checkpointing": True}])
def test_ways_to_save_memory_learn_the_same(values, home):
    train(recipe_of(home, steps=3, dropout=0.0), home / "plain")
    train(recipe_of(home, steps=3, dropout=0.0, **values), home / "saving")
    # Adam's steps are of one size where gradients are rounding.
    np.testing.assert_allclose(losses(home / "saving"), losses(home / "plain"), rtol=0.01)


@pytest.mark.parametrize(
    ("objectives", "values", "said"),
    [
        (("kl",), {}, "reranker can't learn kl of the task kl; choose listwise"),
        (("listwise",), {"trains": "all"}, "all can't learn listwise of the task listwise; choose triplet"),
        (("listwise",), {"keep_states": "kept"}, "a reranker reads pairs, whose states can't be kept"),
    ],
)
def test_recipes_that_cannot_be(objectives, values, said, home):
    with pytest.raises(InputError) as caught:
        recipe_of(home, objectives, **values)
    assert said in str(caught.value)


def test_a_base_without_segments_is_refused(home):
    make_model(home / "roberta", architecture="roberta")
    with pytest.raises(InputError, match=r"starts from a network of BERT's family, and .* is roberta"):
        train(recipe_of(home, base=str(home / "roberta")), home / "run")
