"""Folders of the families beside BERT and RoBERTa, as transformers writes them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from tests.encoders.checkpoints.files import normal, save
from tests.tiny import ROBERTA_SPECIAL, WORDS, make_model

_MPNET_NAMES = {r"attention\.self\.(.)\w+": r"attention.attn.\1", r"attention\.output\.dense": "attention.attn.o"}
_MPNET_NAMES |= {r"attention\.output\.LayerNorm": "attention.LayerNorm"}


def make_multilingual(folder: Path, family: str = "xlm-roberta", *, seed: int = 0) -> Path:
    """XLM-RoBERTa or CamemBERT: RoBERTa's network, and a tokenizer of sentencepiece's unigrams."""
    _configured(make_model(folder, seed=seed, architecture="roberta", layers=3), model_type=family)
    _write_unigrams(folder, rows=len(_weights(folder)["embeddings.word_embeddings.weight"]))
    return folder


def make_mpnet(folder: Path, *, seed: int = 0) -> Path:
    """RoBERTa's special tokens, no segments, a bias by distance."""
    make_model(folder, seed=seed, architecture="roberta", layers=3)
    config = _configured(folder, model_type="mpnet", relative_attention_num_buckets=32)
    weights = {}
    for name, array in _weights(folder).items():
        for old, new in _MPNET_NAMES.items():
            name = re.sub(old, new, name)
        weights[name] = array
    del weights["embeddings.token_type_embeddings.weight"]
    draw = np.random.default_rng(seed + 1)
    # Wider than other weights, so that the distance of two tokens weighs as much as what they are.
    weights["encoder.relative_attention_bias.weight"] = 5 * normal(draw, 32, config["num_attention_heads"])
    save(folder / "model.safetensors", weights)
    return folder


def make_modernbert(folder: Path, *, seed: int = 0, masked: bool = False, **changed: object) -> Path:
    """Seven layers, of which 0, 3 and 6 are global; `masked` adds the head and the names of the model as trained."""
    make_model(folder, seed=seed)
    old = json.loads((folder / "config.json").read_text())
    config = {
        "model_type": "modernbert",
        **{key: old[key] for key in ("hidden_size", "num_attention_heads", "max_position_embeddings", "vocab_size")},
        "intermediate_size": 96,
        "num_hidden_layers": 7,
        "hidden_activation": "gelu",
        "norm_eps": 1e-5,
        "global_attn_every_n_layers": 3,
        "local_attention": 16,
        "global_rope_theta": 160000.0,
        "local_rope_theta": 10000.0,
        "pad_token_id": 0,
        "cls_token_id": 2,
        "sep_token_id": 3,
    }
    draw, width = np.random.default_rng(seed), old["hidden_size"]
    weights = {"embeddings.tok_embeddings.weight": normal(draw, old["vocab_size"], width)}
    norms = ["embeddings.norm", "final_norm"]
    for i in range(7):
        norms += [f"layers.{i}.mlp_norm", *([f"layers.{i}.attn_norm"] if i else [])]
        shapes = {"attn.Wqkv": (3 * width, width), "attn.Wo": (width, width), "mlp.Wi": (192, width)}
        shapes["mlp.Wo"] = (width, 96)
        weights |= {f"layers.{i}.{part}.weight": normal(draw, *shape) for part, shape in shapes.items()}
    weights |= {f"{name}.weight": 1 + normal(draw, width) for name in norms}
    if masked:
        weights = {f"model.{name}": array for name, array in weights.items()}
        weights |= {"head.dense.weight": normal(draw, width, width), "head.norm.weight": normal(draw, width)}
        weights["decoder.bias"] = normal(draw, old["vocab_size"])
    (folder / "config.json").write_text(json.dumps(config | changed))
    save(folder / "model.safetensors", weights)
    return folder


def _configured(folder: Path, **changed: object) -> dict:
    config = json.loads((folder / "config.json").read_text()) | changed
    (folder / "config.json").write_text(json.dumps(config))
    return config


def _weights(folder: Path) -> dict[str, np.ndarray]:
    return load_file(folder / "model.safetensors")


def _write_unigrams(folder: Path, rows: int) -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    first, _, last, _, mask = ROBERTA_SPECIAL
    pieces = [f"▁{word}" for word in WORDS] + list("▁abcdefghijklmnopqrstuvwxyz.,:")
    scores = [(token, 0.0) for token in ROBERTA_SPECIAL[:4]]
    scores += [(piece, -1.0 - len(scores) / 100 - (10 if len(piece) == 1 else 0)) for piece in pieces]
    scores = [*scores, (mask, 0.0)]
    assert len(scores) <= rows
    tokenizer = Tokenizer(models.Unigram(scores, unk_id=3, byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}", special_tokens=[(first, 0), (last, 2)]
    )
    tokenizer.add_special_tokens(list(ROBERTA_SPECIAL))
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"sep_token": last, "tokenizer_class": "XLMRobertaTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
