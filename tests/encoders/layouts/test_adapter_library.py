"""LoRA, (IA)^3 and prefixes against AdapterHub's library and PEFT, which write the files and give the right vectors."""

from __future__ import annotations

import numpy as np
import pytest

from encoders.models.formats import Format
from tests.encoders.layouts.adapted import TEXTS, encoder_of, ids_of, model_with
from tests.tiny import make_model

pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("ignore")]

CONFIGS = {
    "LoRA": ("LoRAConfig", {"r": 4, "alpha": 16}),
    "LoRA everywhere": (
        "LoRAConfig",
        {"attn_matrices": ["q", "k", "v"], "intermediate_lora": True, "output_lora": True, "r": 3, "alpha": 7},
    ),
    "LoRA in some layers": ("LoRAConfig", {"attn_matrices": ["k"], "leave_out": [0, 2], "r": 2}),
    "LoRA of the feed-forward network": (
        "LoRAConfig",
        {"selfattn_lora": False, "intermediate_lora": True, "output_lora": True},
    ),
    "IA3": ("IA3Config", {}),
    "IA3 everywhere": ("IA3Config", {"attn_matrices": ["q", "k", "v"], "output_lora": True, "alpha": 2}),
    "prefix": ("PrefixTuningConfig", {"prefix_length": 5, "bottleneck_size": 24}),
    "prefix through gelu": ("PrefixTuningConfig", {"non_linearity": "gelu", "bottleneck_size": 24, "leave_out": [1]}),
    "flat prefix": ("PrefixTuningConfig", {"flat": True, "prefix_length": 4}),
    "gated prefix": ("PrefixTuningConfig", {"bottleneck_size": 24, "use_gating": True}),
    "prefix with a gate each": (
        "PrefixTuningConfig",
        {"flat": True, "prefix_length": 6, "use_gating": True, "shared_gating": False, "leave_out": [0]},
    ),
}


@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("config", CONFIGS)
def test_the_vectors_are_those_of_the_library(config, family, tmp_path):
    import adapters
    import torch
    from transformers import AutoModel

    base = make_model(tmp_path / "base", architecture=family, layers=3)
    model = AutoModel.from_pretrained(base)
    adapters.init(model)
    kind, options = CONFIGS[config]
    model.add_adapter("mine", config=getattr(adapters, kind)(**options))
    model.add_adapter("other", config=adapters.SeqBnConfig(reduction_factor=4))
    torch.manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if any(part in name for part in (".loras.", "prefix", ".adapters.")):
                # Around what changes nothing: far larger states would have larger errors of rounding.
                parameter.normal_(mean=1 / options.get("alpha", 1) if kind == "IA3Config" else 0.0, std=0.2)
    for name in ("mine", "other"):
        model.save_adapter(str(tmp_path / name), name)
    ours = model_with(tmp_path / "m", base, prx=tmp_path / "mine", qry=tmp_path / "other")
    vectors = encoder_of(ours, tmp_path).encode_formats(TEXTS, [Format.PRX, Format.QRY])
    for task_format, name in ((Format.PRX, "mine"), (Format.QRY, "other")):
        model.set_active_adapters(name)
        np.testing.assert_allclose(vectors[task_format], vectors_of(model, ids_of(ours)), atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"r": 4, "lora_alpha": 16},
        {"r": 3, "target_modules": "all-linear", "use_rslora": True},
        {"r": 3, "target_modules": ["dense"], "layers_to_transform": [1, 2]},
    ],
    ids=str,
)
def test_the_vectors_are_those_of_peft(options, tmp_path):
    import peft
    import torch
    from transformers import AutoModel

    base = make_model(tmp_path / "base", layers=3)
    model = peft.get_peft_model(AutoModel.from_pretrained(base), peft.LoraConfig(**options))
    torch.manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.normal_(std=0.2)
    model.save_pretrained(tmp_path / "a")
    ours = model_with(tmp_path / "m", base, prx=tmp_path / "a")
    vectors = encoder_of(ours, tmp_path).encode(TEXTS)
    np.testing.assert_allclose(vectors, vectors_of(model, ids_of(ours)), atol=1e-5)


def vectors_of(model, texts):
    import torch

    with torch.inference_mode():
        rows = [
            model.eval()(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids))).last_hidden_state[0, 0]
            for ids in texts
        ]
    return torch.stack(rows).numpy()
