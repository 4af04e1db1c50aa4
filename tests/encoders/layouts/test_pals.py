"""PALs folders: their vectors are the paper's formula, whichever way the shared projections were saved."""

from __future__ import annotations

import json
import re

import huggingface_hub
import numpy as np
import pytest
from safetensors.numpy import save_file

from corpora.errors import InputError
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.registry import find_model
from tests.encoders.checkpoints import make_pals, read_weights
from tests.encoders.formulas.pals import pals_vector
from tests.encoders.layouts.agreement import check_vectors
from tests.encoders.oracle import Oracle

pytestmark = pytest.mark.torch

TASKS = {Format.CLF: 0, Format.PRX: 1, Format.QRY: 2, Format.RGN: 3}


def change(path, **values):
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**content, **values}))


def rewrite(folder, edit):
    """Save the weights again, as safetensors, after an edit."""
    old = folder / "pytorch_model.bin"
    weights = read_weights(old) if old.exists() else read_weights(folder / "model.safetensors")
    old.unlink(missing_ok=True)
    changed = edit(weights)
    save_file({name: np.array(array) for name, array in changed.items()}, folder / "model.safetensors")
    return weights


def check(folder, weights, tmp_path, tasks=TASKS, **changes):
    encoder = load_encoder(str(folder), cache_dir=tmp_path / "cache", precision="fp32")
    model = Oracle(folder, weights)
    model.config |= {"pals": False, **model.config, **changes}
    assert set(encoder.card.formats) == set(tasks)
    check_vectors(encoder, lambda task_format, ids: pals_vector(model, tasks[task_format], ids))


@pytest.mark.parametrize("low_rank", [False, True])
def test_vectors_are_the_formulas(low_rank, tmp_path):
    folder = make_pals(tmp_path / "pals", seed=1, low_rank=low_rank)
    card = find_model(str(folder)).card
    assert (card.architecture, card.similarity, card.network.pooling) == ("pals", "l2", "cls")
    check(folder, read_weights(folder / "pytorch_model.bin"), tmp_path)


def test_low_rank_is_what_a_configuration_without_pals_says(tmp_path):
    folder = make_pals(tmp_path / "pals", seed=1, low_rank=True)
    config = json.loads((folder / "config.json").read_text())
    del config["pals"]
    (folder / "config.json").write_text(json.dumps(config))
    check(folder, read_weights(folder / "pytorch_model.bin"), tmp_path)


@pytest.mark.parametrize("kept", [r"encoder\.mult_", r"layer\.1\.multi_layers\.\d\.aug_", r"multi_layers\.\d\.aug_"])
def test_shared_projections_are_found_wherever_they_were_saved(kept, tmp_path):
    # safetensors saves one name of what is shared, and which one depends on what wrote it.
    folder = make_pals(tmp_path / "pals", seed=1)
    shared = r"encoder\.mult_|multi_layers\.\d\.aug_"
    weights = rewrite(
        folder, lambda all_: {f"bert.{n}": a for n, a in all_.items() if re.search(kept, n) or not re.search(shared, n)}
    )
    check(folder, weights, tmp_path)


def test_layer_normalization_reads_no_configuration(tmp_path):
    folder = make_pals(tmp_path / "pals", seed=1)
    change(folder / "config.json", layer_norm_eps=0.5, model_type="bert")
    check(folder, read_weights(folder / "pytorch_model.bin"), tmp_path, layer_norm_eps=1e-12)


def test_tasks_of_another_number_are_told_by_the_own_card(tmp_path):
    folder = make_pals(tmp_path / "pals", seed=1)
    change(folder / "ses_card.json", tasks={"prx": 3, "clf": 1})
    check(folder, read_weights(folder / "pytorch_model.bin"), tmp_path, {Format.CLF: 1, Format.PRX: 3})
    (folder / "ses_card.json").unlink()
    rewrite(
        folder, lambda weights: {n: a for n, a in weights.items() if not re.search(r"(_layers|dense2?)\.[23]\b", n)}
    )
    change(folder / "config.json", num_tasks=2)
    with pytest.raises(InputError) as refused:
        find_model(str(folder))
    assert str(refused.value) == (
        f"{folder / 'ses_card.json'} must say which of the model's 2 tasks serves which format, "
        'such as {"tasks": {"prx": 0, "qry": 0}}.'
    )


@pytest.mark.parametrize(
    ("tasks", "told"),
    [
        ({"prx": 4}, r"sets tasks to 4, and the model's are numbered 0 to 3\."),
        ({"prx": -1}, "sets tasks to -1"),
        ({"prx": True}, "not a whole number for each format"),
        ({"search": 1}, "the formats are clf, rgn, prx, qry"),
        ({}, "must say which"),
        ([1], "must say which"),
    ],
)
def test_tasks_that_can_not_be_are_refused(tasks, told, tmp_path):
    folder = make_pals(tmp_path / "pals", seed=1)
    change(folder / "ses_card.json", tasks=tasks)
    with pytest.raises(InputError, match=told):
        find_model(str(folder))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"houlsby": True}, r"asks for houlsby, which ses can't run; it runs PALs \(`mult` alone\)\."),
        ({"top": True, "lhuc": True, "mult": False}, "asks for top and lhuc,"),
        ({"num_tasks": "many", "hidden_size": None}, "has it wrong: hidden_size, num_tasks; fetch"),
        ({"num_tasks": 10**9}, "describes no network"),
        ({"num_hidden_layers": 0}, "describes no network"),
        ({"hidden_act": "relu"}, "it needs gelu"),
    ],
)
def test_configurations_that_can_not_be_run_are_refused(changes, told, tmp_path):
    folder = make_pals(tmp_path / "pals", seed=1)
    change(folder / "config.json", **changes)
    with pytest.raises(InputError, match=told):
        find_model(str(folder))


ATTENTION, TRUNK = "encoder.layer.1.multi_layers.2.attn.query.weight", "encoder.mult_aug_dense.0.weight"


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda w: {n: a for n, a in w.items() if "layer.1.multi_layers.2.attn" not in n}, f"weights lack {ATTENTION}"),
        (lambda w: {n: a for n, a in w.items() if ".attn.key." not in n}, r"they lack encoder\.layer\.0.*attn\.key\."),
        (lambda w: w | {"encoder.extra.weight": w[TRUNK]}, "hold encoder.extra.weight"),
        (lambda w: w | {TRUNK: w[TRUNK] + 1}, f"is damaged: {TRUNK} is not the same in all layers"),
        (lambda w: w | {ATTENTION: w[ATTENTION] * np.nan}, f"are damaged: {ATTENTION} hold"),
    ],
)
def test_weights_that_do_not_fit_are_refused_by_name(edit, told, tmp_path):
    folder = make_pals(tmp_path / "pals", seed=1)
    rewrite(folder, edit)
    with pytest.raises(InputError, match=told):
        load_encoder(str(folder), cache_dir=tmp_path / "cache", precision="fp32").encode(["x"], Format.QRY)


def test_the_hubs_id_works(tmp_path, monkeypatch):
    folder = make_pals(tmp_path / "pals", seed=1)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda repository, **_: str(folder))
    card = find_model("allenai/scirepeval_pals").card
    assert (card.name, card.architecture, card.head(Format.QRY)) == ("allenai/scirepeval_pals", "pals", "2")
