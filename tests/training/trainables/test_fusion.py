"""Fusion: over the adapters of an earlier run, in the form of SciRepEval's training."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from encoders.models.formats import Format
from encoders.registry import find_model
from tests.encoders.exact import encoder_of
from tests.encoders.formulas.adapters import fusion_vector
from tests.encoders.layouts.adapted import library_model, library_vectors
from tests.encoders.layouts.agreement import check_vectors, token_ids
from tests.encoders.oracle import Oracle
from tests.tiny import make_model
from tests.training.recipes import adapted
from training.trainables.fusion import FUSION

CODES = ["[CLF]", "[PRX]", "[QRY]", "[RGN]"]
TEXTS = ["virus lung cell [SEP] protein gene", "galaxy star", ""]


def fused(tmp_path, formats=tuple(Format)):
    """A start whose queries and keys are ten times as wide, so that each token weighs the adapters differently."""
    model = find_model(str(adapted(make_model(tmp_path / "base"))))
    new = FUSION.start(model, formats, {}, 1)
    wide = {name: array if "value" in name else 10 * array for name, array in new.items()}
    FUSION.write(model, formats, {**model.read(), **wide}, tmp_path / "fused")
    return tmp_path / "fused"


def own_first(code):
    return [code, *(other for other in CODES if other != code)]


@pytest.mark.slow
def test_the_vectors_are_the_formulas(tmp_path):
    folder = fused(tmp_path)
    adapters = {code: load_file(folder / "adapters" / code / "adapter.safetensors") for code in CODES}
    fusions = {code: load_file(folder / f"{code}_fusion" / "model_adapter_fusion.safetensors") for code in CODES}
    oracle = Oracle(tmp_path / "base")

    def formula(task_format, ids):
        code = task_format.code
        return fusion_vector(oracle, adapters, fusions[code], own_first(code), ids)

    check_vectors(encoder_of(folder, tmp_path), formula)


def test_the_adapters_are_those_of_the_run_before(tmp_path):
    folder = fused(tmp_path)
    for code in CODES:
        ours, theirs = (
            load_file(one / "adapters" / code / "adapter.safetensors") for one in (folder, tmp_path / "adapted")
        )
        assert ours.keys() == theirs.keys()
        assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
    settings = json.loads((folder / "[QRY]_fusion" / "adapter_fusion_config.json").read_text())
    assert settings["adapter_names"] == own_first("[QRY]")
    assert settings["name"] == ",".join(own_first("[QRY]"))


def test_formats_without_a_task_lend_their_adapter_and_have_no_vector(tmp_path):
    card = find_model(str(fused(tmp_path, (Format.PRX,)))).card
    assert card.formats == (Format.PRX,)
    assert set(card.network.options["adapters"]) == {task_format.value for task_format in Format}


@pytest.mark.adapters
@pytest.mark.filterwarnings("ignore")
def test_the_library_gives_the_same_vectors(tmp_path):
    from adapters.composition import Fuse

    folder, model = fused(tmp_path), library_model(tmp_path / "base")
    encoder = encoder_of(folder, tmp_path)
    for code in CODES:
        model.load_adapter(str(folder / "adapters" / code), use_safetensors=True)
    for task_format in Format:
        code = task_format.code
        model.load_adapter_fusion(str(folder / f"{code}_fusion"), use_safetensors=True)
        own = library_vectors(model, Fuse(*own_first(code)), [token_ids(encoder, text) for text in TEXTS])
        np.testing.assert_allclose(encoder.encode(TEXTS, task_format), own, atol=1e-5)
