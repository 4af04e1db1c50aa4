"""Folders of families that ses has no architecture for, written by transformers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.tiny import make_model

_SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96}


def make_foreign(folder: Path, family: str, *, seed: int = 0, masked: bool = False, **settings: Any) -> Path:
    """A random model with the tokenizer of `make_model`; `masked` saves it with its head, as it was trained."""
    import torch
    from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM

    make_model(folder, seed=seed)
    old = json.loads((folder / "config.json").read_text())
    sizes = {"vocab_size": old["vocab_size"], "max_position_embeddings": 128, "pad_token_id": 0}
    config = AutoConfig.for_model(family, **{**_SMALL, **sizes, **settings})
    torch.manual_seed(seed)
    kind = AutoModelForMaskedLM if masked else AutoModel
    model = kind.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # wide enough that attention and layers matter
            parameter.add_(0.1 * torch.randn_like(parameter))
    kept = folder / "tokenizer.json", folder / "tokenizer_config.json"
    model.save_pretrained(folder)
    assert all(file.exists() for file in kept)
    shutil.rmtree(folder / ".cache", ignore_errors=True)
    return folder
