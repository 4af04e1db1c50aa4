"""Weights drawn, saved and read back, as safetensors or as torch files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from tests.encoders.oracle import Oracle
from tests.tiny import make_model

Weights = dict[str, np.ndarray]


def normal(draw: np.random.Generator, *shape: int) -> np.ndarray:
    """As wide as those of `make_model`."""
    return (0.2 * draw.standard_normal(shape)).astype(np.float32)


def linear(draw: np.random.Generator, name: str, outputs: int, inputs: int) -> Weights:
    return {f"{name}.weight": normal(draw, outputs, inputs), f"{name}.bias": normal(draw, outputs)}


def unused(draw: np.random.Generator, config: Mapping[str, Any]) -> Weights:
    """What BertModel holds beside its encoder and transformers before 4.31 saved; no vector depends on it."""
    positions = np.arange(config["max_position_embeddings"])[None]
    width = config["hidden_size"]
    return {"embeddings.position_ids": positions, **linear(draw, "pooler.dense", width, width)}


def base_files(folder: Path, seed: int, layers: int) -> Oracle:
    """Write a base's configuration and tokenizer alone; its weights are for the checkpoint beside them."""
    base = Oracle(make_model(folder, seed=seed, layers=layers))
    (folder / "model.safetensors").unlink()
    return base


def weights_of(base: Oracle) -> Weights:
    return {name: array.astype(np.float32) for name, array in base.weights.items()}


def save(path: Path, weights: Weights, **others: Any) -> None:
    """Save a state dict, or, with others, a dictionary of torch that holds it as its `model_dict`."""
    if path.suffix == ".safetensors":
        save_file(weights, path)
        return
    import torch

    # By array: names that share one share it in the file too, as torch saves modules that are one.
    tensors = {id(array): torch.from_numpy(array) for array in weights.values()}
    state = {name: tensors[id(array)] for name, array in weights.items()}
    torch.save({"model_dict": state, **others} if others else state, path)


def read_weights(path: Path) -> Weights:
    """A checkpoint's arrays by its own names: of a safetensors file, a torch state dict, or a torch `model_dict`."""
    if path.suffix == ".safetensors":
        return load_file(path)
    content = _load(path)
    return {name: tensor.numpy() for name, tensor in content.get("model_dict", content).items()}


def read_params(path: Path) -> dict[str, Any]:
    """The `encoder_params` of a SciMult or UniPR checkpoint."""
    return _load(path)["encoder_params"]


def _load(path: Path) -> dict[str, Any]:
    import torch

    return torch.load(path, map_location="cpu", weights_only=True)
