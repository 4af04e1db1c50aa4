"""SciMult's and UniPR's checkpoints: a torch file of a pair or three of encoders, with how they were configured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.encoders.checkpoints.files import Weights, base_files, linear, normal, save, unused, weights_of
from tests.encoders.formulas.layers import EXPERT_LAYERS, INSTRUCTED_LAYERS
from tests.encoders.oracle import Oracle

_PARAMS = json.loads("""{
    "do_lower_case": true, "encoder_model_type": "hf_any", "pretrained_file": null, "sequence_length": 256,
    "pretrained_model_cfg": "microsoft/BiomedNLP-PubMedBERT-base-uncased-abstract", "projection_dim": 0,
    "shared_encoder": true, "use_moe": false, "moe_type": "mod3:fwd", "num_expert": 0, "use_infer_expert": false,
    "per_layer_gating": false, "q_rep_method": "start_end_sum", "mean_pool": false, "use_norm_rep": false,
    "factor_rep": false
}""")

_EXPERT_NAMES = {
    "attn": {
        **{f"attention.self.{part}": f"attention.self.moe_{part}.{{}}" for part in ("query", "key", "value")},
        "attention.output.dense": "attention.output.moe_dense.{}",
    },
    "fwd": {
        "intermediate.dense": "moe_layer.interm_layers.{}.dense",
        "output.dense": "moe_layer.output_layers.{}.dense",
        "output.LayerNorm": "moe_layer.output_layers.{}.LayerNorm",
    },
}


def biencoder_params(**given: Any) -> dict[str, Any]:
    """The `encoder_params`, those of SciMult-Vanilla unless said otherwise."""
    return _PARAMS | given


def make_scimult(
    path: Path,
    *,
    seed: int,
    moe_type: str | None = "mod2:attn",
    experts: int = 3,
    shared: bool = True,
    infer: bool = False,
    per_layer_gating: bool = False,
    mean_pool: bool = False,
    concat: bool = False,
    layers: int = 4,
) -> Path:
    """SciMult's `.ckpt` at `path`, with the base's configuration and tokenizer beside it.

    `moe_type` None is SciMult-Vanilla; `shared`: the question and the context model are one; `concat` adds the
    `linear` of training on spans, which no vector of a whole text uses.
    """
    base = base_files(path.parent, seed, layers)
    given = {"shared_encoder": shared, "mean_pool": mean_pool}
    if moe_type:
        given |= {"use_moe": True, "moe_type": moe_type, "num_expert": experts}
        given |= {"use_infer_expert": infer, "per_layer_gating": per_layer_gating}
    params = biencoder_params(**given, q_rep_method="start_end_concat" if concat else "start_end_sum")
    context = question = scimult_state(base, params, seed=seed + 1)
    if not shared:
        question = scimult_state(base_files(path.parent, seed + 2, layers), params, seed=seed + 3)
    width = base.config["hidden_size"]
    extra = linear(np.random.default_rng(seed + 4), "linear", width, 2 * width) if concat else {}
    _save(path, {"question_model": question, "ctx_model": context}, params, extra)
    return path


def make_unipr(
    path: Path,
    *,
    seed: int,
    instruct_type: str = "all",
    use_attn_gate: bool = False,
    proj_adaptor: bool = False,
    shared: bool = True,
    mean_pool: bool = False,
    layers: int = 4,
) -> Path:
    """UniPR's checkpoint at `path`, with the base's files beside it; `shared`: one model reads instructions too."""
    base = base_files(path.parent, seed, layers)
    params = biencoder_params(
        instruct_type=instruct_type,
        use_attn_gate=use_attn_gate,
        proj_adaptor=proj_adaptor,
        sep_instruct=False,
        deep_instruct_fusion=True,
        fix_instruct_encoder=not shared,
        mean_pool=mean_pool,
    )
    paper = instruct = unipr_state(base, params, seed=seed + 1)
    if not shared:
        # It reads alone, and so has neither gates nor adaptors.
        alone = params | {"use_attn_gate": False, "proj_adaptor": False}
        instruct = unipr_state(base_files(path.parent, seed + 2, layers), alone, seed=seed + 3)
    _save(path, {"question_model": paper, "ctx_model": paper, "instruct_model": instruct}, params, {})
    return path


def scimult_state(base: Oracle, params: Mapping[str, Any], *, seed: int) -> Weights:
    """The weights of one encoder, as they stand under `ctx_model.encoder.`; experts have nothing in common."""
    draw, config, experts, weights = np.random.default_rng(seed), base.config, params["num_expert"], weights_of(base)
    if params["use_moe"]:
        which, kind = params["moe_type"].split(":")
        names = {old: new for part, pairs in _EXPERT_NAMES.items() if part in kind for old, new in pairs.items()}
        specialized = [i for i in range(config["num_hidden_layers"]) if i in EXPERT_LAYERS[which]]
        for layer in (f"encoder.layer.{i}" for i in specialized):
            for old, new in names.items():
                for last in ("weight", "bias"):
                    shape = weights.pop(f"{layer}.{old}.{last}").shape
                    around = np.float32(f"{old}.{last}" == "output.LayerNorm.weight")
                    for expert in range(experts):
                        weights[f"{layer}.{new.format(expert)}.{last}"] = around + normal(draw, *shape)
        if params["use_infer_expert"]:
            gates = {f".{i}": i for i in specialized} if params["per_layer_gating"] else {"": specialized[0]}
            for gate, i in gates.items():
                name = f"encoder.expert_gate{gate}.fwd_func"
                weights |= linear(draw, name, experts, config["hidden_size"])
                weights[f"{name}.bias"] -= weights[f"{name}.weight"] @ _usual_first_token(base, i, draw)
    return weights | unused(draw, config)


def unipr_state(base: Oracle, params: Mapping[str, Any], *, seed: int) -> Weights:
    """The weights of one encoder, as they stand under `ctx_model.encoder.`."""
    draw, config, weights = np.random.default_rng(seed), base.config, weights_of(base)
    for layer in range(config["num_hidden_layers"]):
        if layer in INSTRUCTED_LAYERS[params["instruct_type"].split(":")[0]]:
            name = f"encoder.layer.{layer}.attention.self"
            if params["use_attn_gate"]:
                weights[f"{name}.gate"] = 3 * normal(draw, 1, config["num_attention_heads"], 1, 1)
            if params["proj_adaptor"]:
                weights |= linear(draw, f"{name}.adaptor", config["hidden_size"], config["hidden_size"])
    return weights | unused(draw, config)


def _usual_first_token(base: Oracle, layer: int, draw: np.random.Generator) -> np.ndarray:
    # What all texts have in common would else make a gate pick one expert for all of them.
    texts = [[2, *draw.integers(5, base.config["vocab_size"], size), 3] for size in range(20)]
    return np.mean([base.states(text)[layer][0] for text in texts], axis=0).astype(np.float32)


def _save(path: Path, models: Mapping[str, Weights], params: Mapping[str, Any], extra: Weights) -> None:
    state = {f"{model}.encoder.{name}": array for model, weights in models.items() for name, array in weights.items()}
    training = {"optimizer_dict": {"state": {}, "param_groups": []}, "scheduler_dict": {}, "offset": 0, "epoch": 19}
    save(path, state | extra, **training, encoder_params=dict(params))
