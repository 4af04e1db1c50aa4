"""What a checkpoint of SciMult or UniPR says of how it was made: its `encoder_params`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.errors import InputError
from encoders.models.folder import settings_of

_MOST_EXPERTS = 100


@dataclass(frozen=True, slots=True)
class EncoderParams:
    """The settings that vectors depend on, named as in the checkpoint.

    `use_norm_rep` is not among them: it scales vectors in training, and both papers' inference leaves it off.
    """

    pretrained_model_cfg: str
    projection_dim: int | None = 0
    factor_rep: bool | None = False
    mean_pool: bool = False
    mean_pool_ctx_only: bool | None = False
    deep_instruct_fusion: bool | None = True
    use_moe: bool = False
    moe_type: str | None = None
    num_expert: int | None = 0
    num_q_expert: int | None = None
    use_infer_expert: bool | None = False
    per_layer_gating: bool | None = False
    instruct_type: str | None = "all"
    use_attn_gate: bool | None = False
    proj_adaptor: bool | None = False


def read_params(path: Path, given: Mapping[str, Any]) -> EncoderParams:
    """Read a checkpoint's `encoder_params`; `InputError` if there are none, or they ask for what ses can't run."""
    try:
        params = settings_of(EncoderParams, given)
    except ValueError as error:
        raise InputError(
            f"{path} is no checkpoint of SciMult or UniPR: its encoder_params lack {error}, or have it wrong."
        ) from error
    unsupported = {
        "projection_dim": params.projection_dim,
        "factor_rep": params.factor_rep,
        "mean_pool_ctx_only": params.mean_pool_ctx_only,
        "deep_instruct_fusion": params.deep_instruct_fusion is False,
        # Experts for queries, counted apart from those for papers.
        "num_q_expert": params.use_moe and params.num_q_expert not in (None, params.num_expert),
    }
    if unknown := [key for key, value in unsupported.items() if value]:
        settings = ", ".join(f"{key} {getattr(params, key)}" for key in unknown)
        raise InputError(f"{path} was made with {settings}, which ses can't run; use a checkpoint without.")
    if params.use_moe:
        _check_experts(path, params)
    return params


def special_layers(path: Path | str, which: str, count: int) -> list[int]:
    """Return the numbers of layers with experts or instructions, given their name; `InputError` if it is unknown."""
    layers: dict[str, range] = {f"mod{step}": range(step - 1, count, step) for step in (2, 3, 4, 6, 12)}
    layers |= {"ge6mod3": range(5, count, 3), "le7mod3": range(0, min(7, count), 3)}
    layers |= {"all": range(count), "embed": range(1), "ge6": range(6, count)}
    if which not in layers:
        raise InputError(f"{path} has {which!r} layers with something of their own; ses knows {', '.join(layers)}.")
    return list(layers[which])


def _check_experts(path: Path, params: EncoderParams) -> None:
    kind = (params.moe_type or "").partition(":")[2]
    sound = "attn" in kind or "fwd" in kind
    if "tok" in kind:
        # Nobody could tell each token its expert, and attention has one for the whole text.
        sound = "attn" not in kind and "fwd" in kind and bool(params.use_infer_expert)
    if not sound or not 1 < (params.num_expert or 0) <= _MOST_EXPERTS:
        raise InputError(
            f"{path} has {params.num_expert} experts of moe_type {params.moe_type!r}, which ses can't run; "
            "it runs attn, fwd, both, and tok+fwd with a gate."
        )
