"""Models of adapters on a base for the tests, and the vectors that they must have."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from corpora.errors import InputError
from encoders.models.formats import Format
from encoders.registry import find_model
from encoders.tokens.tokenizer import load_tokenizer
from tests.encoders import checkpoints
from tests.encoders.exact import encoder_of
from tests.encoders.formulas.adapters import adapter_vector
from tests.encoders.oracle import Oracle
from tests.tiny import make_model, papers

TEXTS = ["virus", "", *(f"{paper.title} [SEP] {paper.abstract}" for paper in papers(9))]
LAYERS = 3
NAMES = {"clf": "[CLF]", "rgn": "my-regression", "prx": "[PRX]", "qry": "a name, with spaces"}


def config_of(base):
    return json.loads((base / "config.json").read_text())


def adapter(folder, base, name="[PRX]", *, seed=1, safetensors=True, **options):
    return checkpoints.make_adapter(folder, config_of(base), name, seed=seed, safetensors=safetensors, **options)


def fusion(folder, base, names, *, seed=7, **options):
    return checkpoints.make_fusion(folder, config_of(base), names, seed=seed, safetensors=True, **options)


def write_card(folder, **values):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ses_card.json").write_text(json.dumps({"architecture": "adapters", **values}))
    return folder


def model_with(folder, base, **adapters):
    """A model of adapters, none where a path is empty; paths are written relative to its folder."""
    near = {key: path and os.path.relpath(path, folder) for key, path in adapters.items()}
    return write_card(folder, base=os.path.relpath(base, folder), adapters=near)


def four(tmp_path, base, **options):
    return {key: adapter(tmp_path / key, base, name, seed=i, **options) for i, (key, name) in enumerate(NAMES.items())}


PUBLISHED = {
    Format.CLF: "specter2_classification",
    Format.RGN: "specter2_regression",
    Format.PRX: "specter2",
    Format.QRY: "specter2_adhoc_query",
}
"""The names of SPECTER2's adapters."""


def brought(folder, places=PUBLISHED, *, base="", layers=LAYERS):
    """A folder of a network and adapters, as users bring them, whose configurations have names without a format."""
    network = make_model(folder / base, layers=layers)
    for seed, place in enumerate(places.values()):
        adapter(folder / place, network, f"mine {seed}", seed=seed, prefix="bert.")
    return folder


def change(path, **values):
    content = json.loads(path.read_text())
    for key, value in values.items():
        if key in content:
            content[key] = value
        else:
            content["config"][key] = value
    path.write_text(json.dumps(content))


def change_weights(path, function):
    save_file({name: array.copy() for name, array in function(load_file(path)).items()}, path)


def ids_of(model):
    found = find_model(str(model))
    tokenizer = load_tokenizer(found.folder, found.card)
    return [tokenizer.encode(text).ids for text in TEXTS]


def expected(base, adapter_folder, name, model):
    file = next(path for path in adapter_folder.iterdir() if path.suffix in (".safetensors", ".bin"))
    weights = checkpoints.read_weights(file)
    return np.array([adapter_vector(Oracle(base), weights, name, ids) for ids in ids_of(model)])


def refused(model, tmp_path):
    with pytest.raises(InputError) as error:
        encoder_of(model, tmp_path).encode(["virus"])
    assert "\n" not in str(error.value)
    return str(error.value)


# AdapterHub's library itself, which can't be installed beside transformers 5.


def library_model(base):
    import transformers
    from adapters import AutoAdapterModel

    transformers.logging.set_verbosity_error()
    return AutoAdapterModel.from_pretrained(base).eval()


def library_vectors(model, active, ids):
    import torch

    model.set_active_adapters(active)
    with torch.inference_mode():
        return np.array([model(torch.tensor([one])).last_hidden_state[0, 0].numpy() for one in ids])
