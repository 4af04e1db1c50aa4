"""A tiny model of every architecture, in the layout that its paper's users have."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from encoders.layouts.experts import PARTS, copies
from encoders.models.formats import Format
from tests.encoders import checkpoints
from tests.tiny import make_model


def _card(folder: Path, **values: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ses_card.json").write_text(json.dumps(values))
    return folder


def _adapters(folder: Path) -> Path:
    base = make_model(folder / "base", layers=3)
    config = json.loads((base / "config.json").read_text())
    for number, task_format in enumerate(Format):
        # The first layer has none, and is shared.
        checkpoints.make_adapter(
            folder / task_format, config, task_format.code, seed=number, safetensors=True, leave_out=(0,)
        )
    return _card(folder / "whole", architecture="adapters", base="../base", adapters={f: f"../{f}" for f in Format})


def _adapters_of_every_kind(folder: Path) -> Path:
    base = make_model(folder / "base", layers=3)
    config = json.loads((base / "config.json").read_text())
    everywhere = {"attn_matrices": ["q", "k", "v"], "intermediate_lora": True, "output_lora": True, "leave_out": [0]}
    ia3 = checkpoints.adapterhub.IA3 | {"leave_out": [0]}
    checkpoints.make_lora(folder / "clf", config, "a", seed=1, **everywhere)
    checkpoints.make_lora(folder / "rgn", config, "b", seed=2, **ia3)
    checkpoints.make_adapter(folder / "prx", config, "c", seed=3, safetensors=True, leave_out=(0,))
    checkpoints.make_prefix(folder / "qry", config, "d", seed=4, use_gating=True, leave_out=[0])
    return _card(folder / "whole", architecture="adapters", base="../base", adapters={f: f"../{f}" for f in Format})


def _instruction_encoder(folder: Path) -> Path:
    make_model(folder / "base", layers=3)
    make_model(folder / "reader", layers=3, seed=1)
    told = {Format.PRX: "find a cell study", Format.QRY: "find a cell study", Format.CLF: "protein"}
    own = {"base": "../base", "instructor": "../reader", "instructions": told}
    return _card(folder / "whole", architecture="instruction-encoder", **own)


def _experts(folder: Path) -> Path:
    draw = np.random.default_rng(3)
    weights = load_file(make_model(folder, layers=3) / "model.safetensors")
    for number, kind in itertools.product(range(3), PARTS):
        for name, copy in copies(weights, 1, kind, number).items():
            weights[copy] = weights[name] + 0.2 * draw.standard_normal(weights[name].shape).astype(np.float32)
    plain = {name for kind in PARTS for name in copies(weights, 1, kind, 0)}
    save_file({name: array for name, array in weights.items() if name not in plain}, folder / "model.safetensors")
    return _card(folder, architecture="experts", experts={"clf": 2, "prx": 0, "qry": 0})


def _shared_codes(folder: Path) -> Path:
    draw = np.random.default_rng(3)
    make_model(folder, layers=3)
    rows = {f"codes.{task_format}": draw.standard_normal(64).astype(np.float32) for task_format in Format}
    save_file(rows, folder / "codes.safetensors")
    return _card(folder, architecture="shared-codes")


def _composed(architecture: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        make_model(folder / "a")
        make_model(folder / "b", seed=1, codes=True)
        members: object = (
            ["../a", "../b"] if architecture == "ensemble" else dict.fromkeys(Format, "../b") | {"prx": "../a"}
        )
        return _card(folder / "whole", architecture=architecture, members=members)

    return make


MAKERS: dict[str, Callable[[Path], Path]] = {
    "plain": lambda folder: make_model(folder, architecture="roberta"),
    "multilingual": checkpoints.make_multilingual,
    "mpnet": checkpoints.make_mpnet,
    "modernbert": checkpoints.make_modernbert,
    "codes": lambda folder: make_model(folder, codes=True),
    "adapters": _adapters,
    "adapters of every kind": _adapters_of_every_kind,
    "experts in a folder": _experts,
    "instruction encoder": _instruction_encoder,
    "shared-codes": _shared_codes,
    "ensemble": _composed("ensemble"),
    "routes": _composed("routes"),
}
"""Those that need no torch to be written."""

TORCH_MAKERS: dict[str, Callable[[Path], Path]] = {
    "fusion": lambda folder: checkpoints.make_scirepeval_tree(folder, seed=1, fusion=True),
    "pals": lambda folder: checkpoints.make_pals(folder, seed=1),
    "low-rank pals": lambda folder: checkpoints.make_pals(folder, seed=1, low_rank=True),
    "experts": lambda folder: checkpoints.make_scimult(folder / "m.ckpt", seed=1, moe_type="mod2:attn"),
    "gated experts": lambda folder: checkpoints.make_scimult(
        folder / "m.ckpt", seed=1, moe_type="mod2:fwd", infer=True
    ),
    "instructions": lambda folder: checkpoints.make_unipr(folder / "m.ckpt", seed=1),
    "instructions with an encoder": lambda folder: checkpoints.make_unipr(
        folder / "m.ckpt", seed=1, shared=False, proj_adaptor=True
    ),
    "gated instructions": lambda folder: checkpoints.make_unipr(folder / "m.ckpt", seed=1, use_attn_gate=True),
    "miread": lambda folder: checkpoints.make_miread(folder, seed=1),
}
"""Those whose users have torch files."""
