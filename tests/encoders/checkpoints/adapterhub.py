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
