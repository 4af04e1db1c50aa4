"""PALs: SciRepEval's state dict, its sizes, and the vectors of its own code."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from encoders.models.formats import Format
from encoders.registry import find_model
from tests.encoders.exact import encoder_of
from tests.encoders.formulas.pals import pals_vector
from tests.encoders.layouts.agreement import check_vectors
from tests.encoders.oracle import Oracle
from tests.tiny import make_model
from tests.training.recipes import read_recipe, write_recipe
from training.train import train
from training.trainables.pals import PALS, _width

FORMATS = tuple(Format)
TASKS = {Format.CLF: 0, Format.PRX: 1, Format.QRY: 2, Format.RGN: 3}
TEXTS = ["virus lung cell [SEP] protein gene", "galaxy star"]

ORIGINALS = {
    0: [[0.091122, -0.881389, -0.178139, 0.070715], [0.473251, -0.288915, 0.314992, -0.838156]],
    1: [[-0.304962, -0.726492, -0.798681, 0.190182], [0.096238, -0.524098, -0.170691, -0.342232]],
}
"""By `low_rank`, the first four numbers of RGN's vectors of the texts, as BertPalsEncoder (allenai/scirepeval,
bert_pals.py, transformers 4.57) gives them from the folder of `wide`."""


def wide(tmp_path, formats=FORMATS, **options):
    """A start that is ten times as wide, so that PALs change vectors much."""
    model = find_model(str(make_model(tmp_path / "base")))
    new = PALS.start(model, formats, {**PALS.options, **options}, 1)
    PALS.write(model, formats, {**model.read(), **{name: 10 * array for name, array in new.items()}}, tmp_path / "pals")
    return tmp_path / "pals"


@pytest.mark.parametrize("low_rank", [0, 1])
def test_the_vectors_are_the_originals_and_the_formulas(low_rank, tmp_path):
    folder = wide(tmp_path, low_rank=low_rank)
    encoder = encoder_of(folder, tmp_path)
    np.testing.assert_allclose(encoder.encode(TEXTS, Format.RGN)[:, :4], ORIGINALS[low_rank], atol=1e-5)
    oracle = Oracle(folder, load_file(folder / "model.safetensors"))
    check_vectors(encoder, lambda task_format, ids: pals_vector(oracle, TASKS[task_format], ids))


@pytest.mark.parametrize("low_rank", [0, 1])
def test_the_state_dict_has_the_originals_names(low_rank, tmp_path):
    folder = wide(tmp_path, low_rank=low_rank)
    weights, base = (load_file(one / "model.safetensors") for one in (folder, tmp_path / "base"))
    own = ["aug_dense", "aug_dense2", *([] if low_rank else ["attn.query", "attn.key", "attn.value"])]
    names = [f"encoder.layer.{i}.multi_layers.{task}.{part}" for i in range(2) for task in range(4) for part in own]
    names += [] if low_rank else [f"encoder.mult_{part}.{task}" for task in range(4) for part in own[:2]]
    new = {f"{name}.{end}" for name in [*names, "pooler.dense"] for end in ("weight", "bias")}
    assert weights.keys() == base.keys() | new
    config = json.loads((folder / "config.json").read_text())
    assert (config["mult"], config["pals"], config["num_tasks"], config["extra_dim"]) == (True, not low_rank, 4, None)
    assert "model_type" not in config


@pytest.mark.parametrize(
    ("width", "options", "narrow"),
    [
        (768, {}, 204),
        (768, {"low_rank": 1}, 100),
        (384, {}, 102),
        (64, {}, 18),
        (64, {"width": 24}, 24),
        (64, {"low_rank": 1, "width": 7}, 7),
    ],
)
def test_widths_are_the_papers_in_proportion(width, options, narrow):
    assert _width(width, {**PALS.options, **options}) == narrow


def test_the_card_says_which_task_serves_which_format(tmp_path):
    encoder = encoder_of(wide(tmp_path, (Format.CLF, Format.PRX, Format.QRY)), tmp_path)
    assert encoder.card.heads == {Format.CLF: "0", Format.PRX: "1", Format.QRY: "2"}


@pytest.mark.torch
def test_what_layers_share_stays_shared_in_training(tmp_path):
    """Adam moves each number by about the learning rate: one parameter in two layers must not move by two of them."""
    recipe = write_recipe(tmp_path, ("triplet",), {"frozen": 1}, trains="pals", steps=1, learning_rate=0.01)
    done = train(read_recipe(recipe), tmp_path / "run")
    before, after = (find_model(str(folder)).read() for folder in (tmp_path / "run" / "start", done.folder))
    first, second = (f"encoder.layer.{i}.multi_layers.0.aug_dense.weight" for i in range(2))
    np.testing.assert_array_equal(after[first], after[second])
    files = [load_file(folder / "model.safetensors") for folder in (tmp_path / "run" / "start", done.folder)]
    assert files[0].keys() == files[1].keys()
    moved = np.abs(after[first] - before[first])
    assert 0.005 < moved.max() < 0.011
