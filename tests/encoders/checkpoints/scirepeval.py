"""What SciRepEval's training leaves: a tree of adapters and fusions, and PALs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.encoders.checkpoints.adapterhub import make_adapter, make_fusion
from tests.encoders.checkpoints.files import Weights, base_files, linear, save, weights_of
from tests.encoders.oracle import Oracle
from tests.tiny import CODES, make_model


def make_scirepeval_tree(folder: Path, *, seed: int, fusion: bool = False, layers: int = 2) -> Path:
    """`tokenizer/`, `model/` with the base, `model/adapters/[PRX]/` and its like, and `model/[PRX]_fusion/`."""
    model = make_model(folder / "model", seed=seed, layers=layers)
    config = json.loads((model / "config.json").read_text())
    (folder / "tokenizer").mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (model / name).rename(folder / "tokenizer" / name)
    for i, code in enumerate(sorted(CODES)):
        make_adapter(model / "adapters" / code, config, code, seed=seed + 1 + i, prefix="bert.")
        if fusion:
            own_first = [code, *(other for other in sorted(CODES) if other != code)]
            make_fusion(model / f"{code}_fusion", config, own_first, seed=seed + 11 + i, prefix="bert.")
    return folder


def make_pals(folder: Path, *, seed: int, low_rank: bool = False, layers: int = 2) -> Path:
    """A PALs folder; its config.json names no model type, for BertPalConfig writes none."""
    base = base_files(folder, seed, layers)
    config = {key: value for key, value in base.config.items() if key != "model_type"}
    config |= {"hidden_size_aug": 24, "num_tasks": len(CODES), "mult": True, "pals": not low_rank, "extra_dim": None}
    config |= dict.fromkeys(("top", "bert_lay_top", "lhuc", "houlsby", "is_decoder"), False)
    config |= {"position_embedding_type": "absolute", "architectures": None, "transformers_version": None}
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True))
    save(folder / "pytorch_model.bin", pals_state(base, config, seed=seed + 1))
    return folder


def pals_state(base: Oracle, config: Mapping[str, Any], *, seed: int) -> Weights:
    """The weights of PALs, or of the low-rank variant where the configuration's `pals` is false."""
    draw, width, small = np.random.default_rng(seed), config["hidden_size"], config["hidden_size_aug"]
    weights = weights_of(base) | linear(draw, "pooler.dense", width, width)
    for task in range(config["num_tasks"]):
        shared = linear(draw, "aug_dense", small, width) | linear(draw, "aug_dense2", width, small)
        if config["pals"]:
            weights |= {f"encoder.mult_{name.replace('.', f'.{task}.')}": array for name, array in shared.items()}
        for layer in range(config["num_hidden_layers"]):
            part = f"encoder.layer.{layer}.multi_layers.{task}"
            if config["pals"]:
                # Saved once more in every layer, as the modules there are the trunk's.
                weights |= {f"{part}.{name}": array for name, array in shared.items()}
                for asked in ("query", "key", "value"):
                    weights |= linear(draw, f"{part}.attn.{asked}", small, small)
            else:
                weights |= linear(draw, f"{part}.aug_dense", small, width)
                weights |= linear(draw, f"{part}.aug_dense2", width, small)
    return weights
