"""The settings of SciMult's and UniPR's checkpoints: what is left out, what is refused, and which layers are meant."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from corpora.errors import InputError
from encoders.layouts.encoder_params import read_params, special_layers

PATH = Path("m.ckpt")
PLAIN = {"pretrained_model_cfg": "org/m"}
EXPERTS = PLAIN | {"use_moe": True, "moe_type": "mod2:fwd", "num_expert": 3}
NO_EXPERTS = r"which ses can't run; it runs attn, fwd, both, and tok\+fwd with a gate"


def test_what_is_left_out_has_a_value():
    assert asdict(read_params(PATH, PLAIN | {"sequence_length": 256})) == {
        "pretrained_model_cfg": "org/m",
        "projection_dim": 0,
        "factor_rep": False,
        "mean_pool": False,
        "mean_pool_ctx_only": False,
        "deep_instruct_fusion": True,
        "use_moe": False,
        "moe_type": None,
        "num_expert": 0,
        "num_q_expert": None,
        "use_infer_expert": False,
        "per_layer_gating": False,
        "instruct_type": "all",
        "use_attn_gate": False,
        "proj_adaptor": False,
    }


@pytest.mark.parametrize(
    "given",
    [
        {"deep_instruct_fusion": None, "projection_dim": None, "factor_rep": None, "mean_pool_ctx_only": None},
        {"num_q_expert": 7, "num_expert": 3},  # without experts nothing is counted
        EXPERTS,
        EXPERTS | {"num_q_expert": 3},
        EXPERTS | {"num_expert": 2},
        EXPERTS | {"num_expert": 100},
        EXPERTS | {"moe_type": "all:attn"},
        EXPERTS | {"moe_type": "all:attn+fwd"},
        EXPERTS | {"moe_type": "all:tok+fwd", "use_infer_expert": True},
    ],
)
def test_what_ses_can_run_is_read(given):
    params = asdict(read_params(PATH, PLAIN | given))
    assert {key: params[key] for key in given} == given


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"projection_dim": 8}, "was made with projection_dim 8, which ses can't run; use a checkpoint without"),
        ({"factor_rep": True, "mean_pool_ctx_only": True}, "made with factor_rep True, mean_pool_ctx_only True, which"),
        ({"deep_instruct_fusion": False}, "was made with deep_instruct_fusion False, which"),
        (EXPERTS | {"num_q_expert": 2}, "was made with num_q_expert 2, which"),
        (EXPERTS | {"num_expert": 1}, NO_EXPERTS),
        (EXPERTS | {"num_expert": 101}, NO_EXPERTS),
        (EXPERTS | {"num_expert": None}, NO_EXPERTS),
        (EXPERTS | {"moe_type": None}, NO_EXPERTS),
        (EXPERTS | {"moe_type": "fwd"}, NO_EXPERTS),
        (EXPERTS | {"moe_type": "all:tok+fwd"}, NO_EXPERTS),
        (EXPERTS | {"moe_type": "all:tok+attn", "use_infer_expert": True}, NO_EXPERTS),
        (EXPERTS | {"moe_type": "all:tok+attn+fwd", "use_infer_expert": True}, NO_EXPERTS),
        ({"mean_pool": "x", "moe_type": 3}, "its encoder_params lack mean_pool, moe_type, or have it wrong"),
    ],
)
def test_what_ses_can_not_run_is_refused(given, told):
    with pytest.raises(InputError, match=told):
        read_params(PATH, PLAIN | given)


@pytest.mark.parametrize(
    ("which", "layers"),
    [
        ("mod2", [1, 3, 5, 7, 9, 11]),
        ("mod3", [2, 5, 8, 11]),
        ("mod4", [3, 7, 11]),
        ("mod6", [5, 11]),
        ("mod12", [11]),
        ("ge6mod3", [5, 8, 11]),
        ("le7mod3", [0, 3, 6]),
        ("all", list(range(12))),
        ("embed", [0]),
        ("ge6", [6, 7, 8, 9, 10, 11]),
    ],
)
def test_layers_by_their_names(which, layers):
    assert special_layers(PATH, which, 12) == layers


def test_small_models_have_fewer_and_unknown_names_are_told():
    assert special_layers(PATH, "le7mod3", 6) == [0, 3]
    assert special_layers(PATH, "mod12", 6) == []
    with pytest.raises(InputError, match="has 'odd' layers with something of their own; ses knows mod2, mod3, mod4,"):
        special_layers(PATH, "odd", 12)
