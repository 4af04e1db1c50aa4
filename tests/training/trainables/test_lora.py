"""LoRA: its vectors are the formula's, and AdapterHub's library reads it."""

from __future__ import annotations

import numpy as np
import pytest
from safetensors.numpy import load_file

from encoders.models.formats import Format
from encoders.registry import find_model
from tests.encoders.exact import encoder_of
from tests.encoders.formulas.lora import lora_vector
from tests.encoders.layouts.adapted import library_model, library_vectors
from tests.encoders.layouts.agreement import check_vectors, token_ids
from tests.encoders.oracle import Oracle
from tests.tiny import make_model
from training.trainables.adapters import LORA

TEXTS = ["virus lung cell [SEP] protein gene", "galaxy star", ""]


def written(tmp_path, layers=0):
    model, formats = find_model(str(make_model(tmp_path / "base"))), tuple(Format)
    new = LORA.start(model, formats, {"layers": layers, "rank": 3}, 1)
    draw = np.random.default_rng(2)
    moved = {name: array + draw.normal(0, 0.1, array.shape).astype(np.float32) for name, array in new.items()}
    LORA.write(model, formats, {**model.read(), **moved}, tmp_path / "lora")
    return tmp_path / "lora"


def test_the_vectors_are_the_formulas(tmp_path):
    folder = written(tmp_path)
    files = {one: load_file(folder / "adapters" / one.code / "adapter.safetensors") for one in Format}
    weights = {one: {name.removeprefix("bert."): array for name, array in file.items()} for one, file in files.items()}
    oracle, config = Oracle(tmp_path / "base"), {"alpha": 3, "r": 3, "composition_mode": "add"}
    encoder = encoder_of(folder, tmp_path)
    check_vectors(encoder, lambda one, ids: lora_vector(oracle, weights[one], config, one.code, ids))


@pytest.mark.adapters
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layers", [0, 1])
def test_the_library_gives_the_same_vectors(layers, tmp_path):
    folder = written(tmp_path, layers)
    encoder, model = encoder_of(folder, tmp_path), library_model(tmp_path / "base")
    for task_format in Format:
        told = {}
        model.load_adapter(str(folder / "adapters" / task_format.code), use_safetensors=True, loading_info=told)
        assert not any(told.values())
        own = library_vectors(model, task_format.code, [token_ids(encoder, text) for text in TEXTS])
        np.testing.assert_allclose(encoder.encode(TEXTS, task_format), own, atol=1e-5)
