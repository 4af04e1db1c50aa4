"""One small model of each kind that runs differently: their weights by hand, by the names in encoders/architectures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from encoders.models.formats import Format
from encoders.registry import find_model
from tests.tiny import WORDS, make_model

PADDED_TOGETHER = ["", "virus", " ".join(WORDS[:17]), " ".join(WORDS * 4), "unknownword, cells.", "lung cell", "a", "b"]
"""More than one batch holds; of 2 to 128 tokens."""

HEADS = {Format.PRX: "[PRX]", Format.QRY: "q.1"}


def plain(folder):
    return find_model(str(make_model(folder, architecture="roberta")))


def adapters(folder):
    model = find_model(str(make_model(folder, layers=3)))
    facts = {"activation": "silu", "scaling": 1.5}
    network = replace(
        model.card.network, shared_layers=2, pooling="cls", options={"adapters": dict.fromkeys(HEADS.values(), facts)}
    )
    draw = np.random.default_rng(1)
    added = {}
    for head in HEADS.values():
        for part, shape in {"adapter_down.0": (16, 64), "adapter_up": (64, 16)}.items():
            name = f"encoder.layer.2.output.adapters.{head}.{part}"
            added[f"{name}.weight"] = draw.standard_normal(shape).astype(np.float32) / 4
            added[f"{name}.bias"] = draw.standard_normal(shape[0]).astype(np.float32) / 4
    return replace(
        model,
        card=replace(model.card, architecture="adapters", heads=HEADS, network=network),
        read=lambda read=model.read: read() | added,
    )


def codes(folder):
    model = find_model(str(make_model(folder)))
    network = replace(model.card.network, options={"codes": {"[PRX]": 7, "q.1": 9}}, normalize=True)
    return replace(model, card=replace(model.card, architecture="shared-codes", heads=HEADS, network=network))


KINDS = {"plain": plain, "adapters": adapters, "shared-codes": codes}


def make_all(folder):
    """A model of each kind."""
    return {kind: make(folder / kind) for kind, make in KINDS.items()}
