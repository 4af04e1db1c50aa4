"""Classifiers and other plain folders: the vector is the first token's last state, compared by distance."""

from __future__ import annotations

import pytest
from safetensors.numpy import load_file, save_file

from corpora.errors import InputError
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.registry import find_model
from tests.encoders.checkpoints import make_miread, read_weights
from tests.encoders.layouts.agreement import check_vectors
from tests.encoders.oracle import Oracle, under
from tests.tiny import make_model


def check(folder, weights, tmp_path):
    encoder = load_encoder(str(folder), cache_dir=tmp_path / "cache", precision="fp32")
    assert (encoder.card.architecture, encoder.card.similarity) == ("plain", "l2")
    assert encoder.card.formats == tuple(Format)
    model = Oracle(folder, weights)
    check_vectors(encoder, lambda _, ids: model.hidden(ids)[0])


@pytest.mark.parametrize("safetensors", [pytest.param(False, marks=pytest.mark.torch), True])
def test_mireads_classifier(safetensors, tmp_path):
    folder = make_miread(tmp_path / "m", seed=1, safetensors=safetensors)
    weights = read_weights(folder / ("model.safetensors" if safetensors else "pytorch_model.bin"))
    check(folder, under(weights, "bert."), tmp_path)


@pytest.mark.parametrize("head", ["", "roberta."])
@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_scincl_scibert_and_roberta(family, head, tmp_path):
    folder = make_model(tmp_path / "m", architecture=family)
    weights = load_file(folder / "model.safetensors")
    prefix = head and f"{family}."
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"} if head else {}

    def renamed(name):
        for today, before in old.items():
            name = name.replace(today, before)
        return prefix + name

    save_file({renamed(name): array for name, array in weights.items()}, folder / "model.safetensors")
    check(folder, weights, tmp_path)


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (
            lambda w: {n: a for n, a in w.items() if "layer.1.output.dense" not in n},
            r"lack encoder\.layer\.1\.output\.dense",
        ),
        (lambda w: w | {"bert.encoder.layer.9.output.dense.bias": w["classifier.bias"]}, r"hold encoder\.layer\.9"),
        (lambda w: {n: a * float("nan") if "layer.0.output.dense.bias" in n else a for n, a in w.items()}, "damaged"),
    ],
)
def test_classifiers_with_other_weights_are_refused_by_name(edit, told, tmp_path):
    folder = make_miread(tmp_path / "m", seed=1, safetensors=True)
    save_file(edit(load_file(folder / "model.safetensors")), folder / "model.safetensors")
    with pytest.raises(InputError, match=told):
        load_encoder(str(folder), cache_dir=tmp_path / "cache", precision="fp32").encode(["x"])


def test_several_files_of_weights_are_told(tmp_path):
    folder = make_model(tmp_path / "m")
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    (folder / "model.safetensors.index.json").write_text("{}")
    with pytest.raises(
        InputError, match=r"in several files \(model\.safetensors\.index\.json\); save the model as one"
    ):
        find_model(str(folder))
