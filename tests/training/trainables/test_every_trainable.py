"""What holds for everything that can be trained: where it starts, what a step changes, what is read back."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.models.formats import Format
from encoders.registry import find_model
from encoders.tokens.tokenizer import load_tokenizer
from tests.encoders.exact import encoder_of
from tests.tiny import make_model
from tests.training.recipes import read_recipe, write_recipe
from training import checkpoints
from training.data.examples import read_labels
from training.data.packed import pack
from training.learner import make_learner
from training.train import train
from training.trainables.registry import TRAINABLES

pytestmark = pytest.mark.torch

TEXTS = ["virus lung cell [SEP] protein gene", "galaxy star", "climate ocean water soil"]
TASKS = ("cross-entropy", "mse", "contrastive")
"""Together, they train all formats."""

CARD = {"pooling": "mean", "normalize": True, "similarity": "cosine", "max_tokens": 64, "empty_parts": "kept"}
"""Of a base unlike those of the papers."""

CHANGED = {
    "lora": ("lora", {"rank": 2}, ".loras."),
    "LoRA of the last layer": ("lora", {"layers": 1}, "encoder.layer.1.attention.self."),
    "fusion": ("fusion", {}, ".adapter_fusion_layer."),
    "PALs alone": ("pals", {"frozen": 1}, ".multi_layers."),
    "PALs and the network": ("pals", {}, ""),
    "low rank alone": ("pals", {"frozen": 1, "low_rank": 1}, ".multi_layers."),
    "codes alone": ("codes", {"frozen": 1}, "embeddings.word_embeddings"),
    "codes and the network": ("codes", {}, ""),
}


@pytest.mark.parametrize(("trains", "options", "part"), CHANGED.values(), ids=CHANGED)
def test_what_is_trained_changes_and_is_what_is_read(trains, options, part, tmp_path):
    recipe = read_recipe(write_recipe(tmp_path, TASKS, options, trains=trains, steps=3, learning_rate=0.02))
    done = train(recipe, tmp_path / "run")
    start, model = (find_model(str(folder)) for folder in (tmp_path / "run" / "start", done.folder))
    before, after = start.read(), model.read()
    changed = {name for name, array in after.items() if not np.array_equal(before[name], array)}
    assert changed
    assert changed <= {name for name in after if part in name}
    if not part:
        assert {"encoder.layer.0.attention.self.value.weight", "embeddings.LayerNorm.weight"} <= changed

    learner = learner_of(recipe, start, tmp_path)
    checkpoints.load(tmp_path / "run", done.chosen, learner)
    made = encoder_of(done.folder, tmp_path).encode_formats(TEXTS, list(Format))
    for task_format in Format:
        np.testing.assert_allclose(made[task_format], vectors_in_torch(learner.module, model, task_format), atol=1e-5)
    for first, second in itertools.combinations(Format, 2):
        assert np.abs(made[first] - made[second]).max() > 1e-3


def learner_of(recipe, start, tmp_path):
    labels = {task.name: read_labels(task) for task in recipe.tasks}
    packs = [pack(task, task.train, labels[task.name], start, 64, tmp_path / "packs") for task in recipe.tasks]
    return make_learner(recipe, start, {name: max(1, len(found)) for name, found in labels.items()}, packs)


def vectors_in_torch(module, model, task_format):
    import torch

    tokenizer, head = load_tokenizer(model.folder, model.card), [model.card.head(task_format)]
    rows = [torch.tensor([tokenizer.encode(model.card.prompt(text, task_format)).ids]) for text in TEXTS]
    with torch.no_grad():
        return np.array([module.eval()(ids, torch.ones_like(ids), head)[0][0].numpy() for ids in rows])


STARTS = {
    "adapters": ("adapters", {"identity": 1}),
    "LoRA": ("lora", {}),
    "PALs": ("pals", {"identity": 1}),
    "low rank": ("pals", {"identity": 1, "low_rank": 1}),
}


@pytest.mark.parametrize("card", [{}, CARD], ids=["first token", "mean"])
@pytest.mark.parametrize(("trains", "options"), STARTS.values(), ids=STARTS)
def test_training_starts_at_the_bases_vectors(trains, options, card, tmp_path):
    base = make_model(tmp_path / "base")
    (base / "ses_card.json").write_text(json.dumps(card))
    trainable, model = TRAINABLES[trains], find_model(str(base))
    new = trainable.start(model, tuple(Format), {**trainable.options, **options}, 1)
    trainable.write(model, tuple(Format), {**model.read(), **new}, tmp_path / "start")
    start, plain = encoder_of(tmp_path / "start", tmp_path), encoder_of(base, tmp_path)
    for key in ("similarity", "max_tokens", "empty_parts", "separator"):
        assert getattr(start.card, key) == getattr(plain.card, key)
    for vectors in start.encode_formats(TEXTS, list(Format)).values():
        np.testing.assert_allclose(vectors, plain.encode(TEXTS), atol=1e-6)


@pytest.mark.parametrize(
    ("trains", "options", "base", "told"),
    [
        ("fusion", {}, "base", "for another base: fusion starts from the architecture adapters, and .* plain; name"),
        ("lora", {}, "adapted", "for another base: lora starts from the architecture plain, and .* adapters; name"),
        ("pals", {"width": 20}, "base", "sets the option width to 20; choose a multiple of 6, or 0"),
        ("lora", {"rank": 0}, "base", "sets the option rank to 0; choose 1 or more"),
        ("adapters", {"reduction": 0}, "base", "sets the option reduction to 0; choose 1 or more"),
        ("codes", {}, "codes", r'codes has control codes already; train it with trains = "all"'),
        ("codes", {}, "few rows", "few rows has 75 tokens and only 70 rows for them; name another base"),
        ("pals", {}, "roberta", "PALs need a BERT with layer_norm_eps 1e-12, and .*roberta is none"),
        ("fusion", {}, "loras", "loras has adapters that are no bottlenecks, and only bottlenecks can be fused"),
        ("fusion", {}, "two", "has no rgn vectors, only clf, prx, qry"),
        ("fusion", {}, "plain rgn", "has no adapter for rgn, with which its fusion begins"),
    ],
)
def test_other_bases_and_options_are_refused_in_a_sentence(trains, options, base, told, tmp_path):
    write_recipe(tmp_path, TASKS, trains="fusion")
    recipe = read_recipe(write_recipe(tmp_path, TASKS, options, trains=trains, base=str(base_of(base, tmp_path))))
    with pytest.raises(InputError, match=told):
        train(recipe, tmp_path / "run")


def base_of(kind, tmp_path):
    folder = tmp_path / kind
    if kind in ("codes", "roberta"):
        return make_model(folder, codes=kind == "codes", architecture="roberta" if kind == "roberta" else "bert")
    if kind == "few rows":
        make_model(folder)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"vocab_size": 70}))
        change_words(folder, lambda words: words[:70])
    if kind in ("loras", "two", "plain rgn"):
        trains, tasks = ("adapters", ("cross-entropy", "contrastive")) if kind != "loras" else ("lora", TASKS)
        path = write_recipe(tmp_path, tasks, trains=trains, steps=1)
        train(read_recipe(path), tmp_path / "run-of-base").folder.rename(folder)
    if kind == "plain rgn":
        own = json.loads((folder / "ses_card.json").read_text())
        (folder / "ses_card.json").write_text(json.dumps(own | {"adapters": own["adapters"] | {"rgn": ""}}))
    return folder


def change_words(folder, change):
    from safetensors.numpy import load_file, save_file

    weights, words = load_file(folder / "model.safetensors"), "embeddings.word_embeddings.weight"
    save_file(weights | {words: np.ascontiguousarray(change(weights[words]))}, folder / "model.safetensors")
