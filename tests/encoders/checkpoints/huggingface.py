"""Folders of transformers and of sentence-transformers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tests.encoders.checkpoints.files import base_files, linear, save, unused, weights_of
from tests.tiny import make_model


def make_miread(folder: Path, *, seed: int, labels: int = 7, safetensors: bool = False, layers: int = 2) -> Path:
    """MIReAD's BertForSequenceClassification, which predicts journals."""
    base = base_files(folder, seed, layers)
    names = {str(i): f"journal {i}" for i in range(labels)}
    config = base.config | {
        "architectures": ["BertForSequenceClassification"],
        "problem_type": "single_label_classification",
    }
    config |= {"id2label": names, "label2id": {name: int(i) for i, name in names.items()}}
    (folder / "config.json").write_text(json.dumps(config))
    draw = np.random.default_rng(seed + 1)
    weights = {f"bert.{name}": array for name, array in (weights_of(base) | unused(draw, config)).items()}
    weights |= linear(draw, "classifier", labels, config["hidden_size"])
    save(folder / ("model.safetensors" if safetensors else "pytorch_model.bin"), weights)
    return folder


def make_sentence_transformers(
    folder: Path,
    *,
    seed: int,
    pooling: str = "mean",
    normalize: bool = True,
    prompts: Mapping[str, str] | None = None,
    modern: bool = False,
    layers: int = 2,
) -> Path:
    """A folder as sentence-transformers wrote it up to release 4, or, `modern`, as release 6 does."""
    make_model(folder, seed=seed, layers=layers)
    places = {
        "": ("models.Transformer", "base.modules.transformer.Transformer"),
        "1_Pooling": ("models.Pooling", "sentence_transformer.modules.pooling.Pooling"),
        "2_Normalize": ("models.Normalize", "base.modules.normalize.Normalize"),
    }
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.{types[modern]}"}
        for i, (path, types) in enumerate(places.items())
    ]
    switches = {"cls": "cls_token", "mean": "mean_tokens", "max": "max_tokens", "lasttoken": "lasttoken"}
    older = {f"pooling_mode_{switch}": mode == pooling for mode, switch in switches.items()}
    older |= {"word_embedding_dimension": 64, "pooling_mode_mean_sqrt_len_tokens": False, "include_prompt": True}
    newer = {"embedding_dimension": 64, "pooling_mode": pooling, "include_prompt": True}
    settings = {"prompts": dict(prompts or {}), "default_prompt_name": None, "similarity_fn_name": "cosine"}
    versions = {"sentence_transformers": "6.2.0" if modern else "3.0.1"}
    files = {
        "modules.json": modules if normalize else modules[:-1],
        "1_Pooling/config.json": newer if modern else older,
        "config_sentence_transformers.json": {"__version__": versions, **settings},
    }
    if modern:
        reads = {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}
        files["sentence_bert_config.json"] = {
            "transformer_task": "feature-extraction",
            "modality_config": reads,
            "module_output_name": "token_embeddings",
        }
    else:
        files["sentence_bert_config.json"] = {"max_seq_length": 64, "do_lower_case": False}
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content, indent=2))
    return folder


def add_dense(folder: Path, outputs: int, *, activation: str = "", bias: bool = True, seed: int = 5) -> dict:
    """Put a linear layer behind the pooling of a folder of sentence-transformers; returns its weights."""
    modules = json.loads((folder / "modules.json").read_text())
    before = sum(module["path"].endswith("_Dense") for module in modules)
    inputs = 64
    if before:
        inputs = json.loads((folder / modules[1 + before]["path"] / "config.json").read_text())["out_features"]
    path = f"{2 + before}_Dense"
    module = {"idx": 2 + before, "name": path, "path": path, "type": "sentence_transformers.models.Dense"}
    modules.insert(2 + before, module)
    (folder / "modules.json").write_text(json.dumps(modules))
    kind = f"activation.{activation}" if activation else "linear.Identity"
    settings = {"in_features": inputs, "out_features": outputs, "bias": bias}
    place = folder / module["path"]
    place.mkdir()
    (place / "config.json").write_text(json.dumps(settings | {"activation_function": f"torch.nn.modules.{kind}"}))
    draw = np.random.default_rng(seed + before)
    weights = linear(draw, "linear", outputs, inputs)
    if not bias:
        del weights["linear.bias"]
    save(place / "model.safetensors", weights)
    return weights
