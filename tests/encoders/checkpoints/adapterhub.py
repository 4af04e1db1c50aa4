"""Adapters and their fusions as the library adapters 1.3 writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.encoders.checkpoints.files import Weights, linear, normal, save

SEQ_BN = json.loads("""{
    "mh_adapter": false, "output_adapter": true, "reduction_factor": 16, "non_linearity": "relu",
    "original_ln_before": true, "original_ln_after": true, "ln_before": false, "ln_after": false,
    "residual_before_ln": true, "adapter_residual_before_ln": false, "init_weights": "bert",
    "init_weights_seed": null, "is_parallel": false, "scaling": 1.0, "use_gating": false, "dropout": 0.0,
    "inv_adapter": null, "inv_adapter_reduction_factor": null, "cross_adapter": false, "leave_out": [],
    "phm_layer": false, "phm_dim": 4, "phm_rank": 1, "phm_bias": true, "phm_c_init": "normal",
    "phm_init_range": 0.0001, "learn_phm": true, "factorized_phm_W": true, "factorized_phm_rule": false,
    "shared_W_phm": false, "shared_phm_rule": true, "hypercomplex_nonlinearity": "glorot-uniform",
    "stochastic_depth": 0.0
}""")

DYNAMIC = json.loads("""{
    "key": true, "query": true, "value": true, "query_before_ln": false, "regularization": true,
    "residual_before": false, "temperature": false, "value_before_softmax": true, "value_initialized": true,
    "dropout_prob": null
}""")


LORA = json.loads("""{
    "architecture": "lora", "selfattn_lora": true, "intermediate_lora": false, "output_lora": false, "leave_out": [],
    "r": 4, "alpha": 8, "dropout": 0.0, "attn_matrices": ["q", "v"], "composition_mode": "add", "init_weights": "lora",
    "init_weights_seed": null, "use_gating": false, "use_dora": false, "vera_d": null, "vera_b": null, "dtype": null
}""")

IA3 = {"composition_mode": "scale", "r": 1, "alpha": 1, "attn_matrices": ["k", "v"], "intermediate_lora": True}
"""How `ia3` differs from `lora`."""

PREFIX = json.loads("""{
    "architecture": "prefix_tuning", "encoder_prefix": true, "cross_prefix": true, "leave_out": [], "flat": false,
    "prefix_length": 5, "bottleneck_size": 24, "non_linearity": "tanh", "dropout": 0.0, "use_gating": false,
    "shared_gating": true, "init_weights_seed": null
}""")

PEFT = json.loads("""{
    "peft_type": "LORA", "peft_version": "0.21.2", "r": 4, "lora_alpha": 8, "lora_dropout": 0.0, "bias": "none",
    "target_modules": ["query", "value"], "layers_to_transform": null, "layers_pattern": null, "use_rslora": false,
    "use_dora": false, "rank_pattern": {}, "alpha_pattern": {}, "modules_to_save": null, "init_lora_weights": true,
    "fan_in_fan_out": false, "task_type": null, "base_model_name_or_path": "some/base", "exclude_modules": null,
    "layer_replication": null, "lora_bias": false, "use_qalora": false, "alora_invocation_tokens": null
}""")

PARTS = {"q": "query", "k": "key", "v": "value"}
"""What the library calls the matrices of attention in a configuration, and in its files."""


def make_adapter(
    folder: Path,
    base_config: Mapping[str, Any],
    name: str,
    *,
    seed: int,
    reduction: int = 4,
    leave_out: Sequence[int] = (),
    safetensors: bool = False,
    legacy: bool = False,
    prefix: str = "",
    **config: Any,
) -> Path:
    """The folder of a `seq_bn` adapter; `legacy` is as adapter-transformers 1 named it, `prefix` is mostly `bert.`."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = SEQ_BN | {"reduction_factor": reduction, "leave_out": list(leave_out)} | config
    library = {"type": "text_task"} if legacy else {"version": "adapters.1.3.0"}
    _write_settings(folder / "adapter_config.json", base_config, name, settings, **library)
    draw, width = np.random.default_rng(seed), base_config["hidden_size"]
    kind = "layer_text_task_adapters" if legacy else "adapters"
    weights: Weights = {}
    for layer in sorted(set(range(base_config["num_hidden_layers"])) - set(leave_out)):
        part = f"{prefix}encoder.layer.{layer}.output.{kind}.{name}"
        weights |= linear(draw, f"{part}.adapter_down.0", width // reduction, width)
        weights |= linear(draw, f"{part}.adapter_up", width, width // reduction)
    save(folder / ("adapter.safetensors" if safetensors else "pytorch_adapter.bin"), weights)
    return folder


def make_fusion(
    folder: Path,
    base_config: Mapping[str, Any],
    adapter_names: Sequence[str],
    *,
    seed: int,
    safetensors: bool = False,
    prefix: str = "",
) -> Path:
    """The folder of a `dynamic` fusion; its adapters are elsewhere."""
    folder.mkdir(parents=True, exist_ok=True)
    name, library = ",".join(adapter_names), {"version": "adapters.1.3.0"}
    file = folder / "adapter_fusion_config.json"
    _write_settings(file, base_config, name, DYNAMIC, adapter_names=list(adapter_names), **library)
    draw, width = np.random.default_rng(seed), base_config["hidden_size"]
    weights: Weights = {}
    for layer in range(base_config["num_hidden_layers"]):
        part = f"{prefix}encoder.layer.{layer}.output.adapter_fusion_layer.{name}"
        # Narrower, for scores are not scaled: else one adapter would get all of the attention.
        for asked in ("query", "key"):
            weights |= {key: array / 4 for key, array in linear(draw, f"{part}.{asked}", width, width).items()}
        weights[f"{part}.value.weight"] = normal(draw, width, width)
    save(folder / ("model_adapter_fusion.safetensors" if safetensors else "pytorch_model_adapter_fusion.bin"), weights)
    return folder


def _write_settings(path: Path, base: Mapping[str, Any], name: str, config: Mapping[str, Any], **more: Any) -> None:
    made_for = {"hidden_size": base["hidden_size"], "model_type": base["model_type"], "model_name": "some/base"}
    content = {"config": config, "model_class": "BertAdapterModel", "name": name, **made_for, **more}
    path.write_text(json.dumps(content, indent=2, sort_keys=True))


def make_lora(
    folder: Path, base_config: Mapping[str, Any], name: str, *, seed: int, safetensors: bool = True, **config: Any
) -> Path:
    """The folder of a LoRA adapter, or of (IA)^3 where `composition_mode` is scale."""
    settings = LORA | config
    _write_settings(_new(folder), base_config, name, settings, version="adapters.1.3.0")
    draw, rank, weights = np.random.default_rng(seed), settings["r"], {}
    width, inner = base_config["hidden_size"], base_config["intermediate_size"]
    sizes = {f"attention.self.{PARTS[one]}": (width, width) for one in settings["attn_matrices"]}
    sizes = sizes if settings["selfattn_lora"] else {}
    sizes |= {"intermediate.dense": (inner, width)} if settings["intermediate_lora"] else {}
    sizes |= {"output.dense": (width, inner)} if settings["output_lora"] else {}
    for layer in sorted(set(range(base_config["num_hidden_layers"])) - set(settings["leave_out"])):
        for linear_name, (outputs, inputs) in sizes.items():
            part = f"encoder.layer.{layer}.{linear_name}.loras.{name}"
            weights[f"{part}.lora_B"] = normal(draw, outputs, rank)
            if settings["composition_mode"] == "add":
                weights[f"{part}.lora_A"] = normal(draw, rank, inputs)
            else:
                weights[f"{part}.lora_B"] += 1
    save(folder / ("adapter.safetensors" if safetensors else "pytorch_adapter.bin"), weights)
    return folder


def make_prefix(
    folder: Path, base_config: Mapping[str, Any], name: str, *, seed: int, safetensors: bool = True, **config: Any
) -> Path:
    """The folder of a prefix; the library writes what makes it in every layer, and once more for the model."""
    settings = PREFIX | config
    _write_settings(_new(folder), base_config, name, settings, version="adapters.1.3.0")
    draw, width = np.random.default_rng(seed), base_config["hidden_size"]
    layers = sorted(set(range(base_config["num_hidden_layers"])) - set(settings["leave_out"]))
    size, length = 2 * width * len(layers), settings["prefix_length"]
    if settings["flat"]:
        made = {"control_trans": normal(draw, length * size) * 5}
    else:
        made = {"wte.weight": normal(draw, length, width)}
        made |= linear(draw, "control_trans.0", settings["bottleneck_size"], width)
        made |= linear(draw, "control_trans.2", size, settings["bottleneck_size"])
    weights: Weights = {}
    for layer in range(base_config["num_hidden_layers"]):
        part = f"encoder.layer.{layer}.attention.self.prefix_tuning"
        if layer in layers and settings["use_gating"]:
            weights |= linear(draw, f"{part}.prefix_gates.{name}", 1 if settings["shared_gating"] else 2, width)
        weights |= {f"{part}.pool.prefix_tunings.{name}.self_prefix.{key}": array for key, array in made.items()}
    weights |= {f"prefix_tuning.prefix_tunings.{name}.self_prefix.{key}": array for key, array in made.items()}
    save(folder / ("adapter.safetensors" if safetensors else "pytorch_adapter.bin"), weights)
    return folder


def make_peft(
    folder: Path, base_config: Mapping[str, Any], *, seed: int, prefix: str = "", heads: bool = False, **config: Any
) -> Path:
    """The folder of a LoRA adapter as PEFT writes it; `heads` are the pooler's and a classifier's weights beside."""
    settings = PEFT | config
    _new(folder).write_text(json.dumps(settings))
    draw, rank, weights = np.random.default_rng(seed), settings["r"], {}
    width, inner = base_config["hidden_size"], base_config["intermediate_size"]
    sizes = {f"attention.self.{part}": (width, width) for part in PARTS.values()}
    sizes |= {"attention.output.dense": (width, width), "intermediate.dense": (inner, width)}
    sizes |= {"output.dense": (width, inner)}
    for layer in settings["layers_to_transform"] or range(base_config["num_hidden_layers"]):
        for linear_name, (outputs, inputs) in sizes.items():
            if f".encoder.layer.{layer}.{linear_name}".endswith(tuple(f".{one}" for one in settings["target_modules"])):
                part = f"base_model.model.{prefix}encoder.layer.{layer}.{linear_name}"
                weights[f"{part}.lora_A.weight"] = normal(draw, rank, inputs)
                weights[f"{part}.lora_B.weight"] = normal(draw, outputs, rank)
    if heads:
        weights |= {f"base_model.model.{prefix}pooler.dense.lora_A.weight": normal(draw, rank, width)}
        weights |= linear(draw, "base_model.model.classifier", 2, width)
    save(folder / "adapter_model.safetensors", weights)
    return folder


def _new(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "adapter_config.json"
