"""Folders of learned sparse models with random weights, as sentence-transformers and OpenSearch write them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from tests.tiny import ROBERTA_SPECIAL, SPECIAL, make_model

_SPECIAL_KEYS = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")

_MODULES = {
    "Transformer": "base.modules.transformer.Transformer",
    "Router": "base.modules.router.Router",
    "SpladePooling": "sparse_encoder.modules.splade_pooling.SpladePooling",
    "SparseStaticEmbedding": "sparse_encoder.modules.sparse_static_embedding.SparseStaticEmbedding",
}

_DISTILBERT = (
    (r"^embeddings\.", "distilbert.embeddings."),
    (r"^encoder\.layer\.", "distilbert.transformer.layer."),
    (r"attention\.self\.query", "attention.q_lin"),
    (r"attention\.self\.key", "attention.k_lin"),
    (r"attention\.self\.value", "attention.v_lin"),
    (r"attention\.output\.dense", "attention.out_lin"),
    (r"attention\.output\.LayerNorm", "sa_layer_norm"),
    (r"intermediate\.dense", "ffn.lin1"),
    (r"(layer\.\d+)\.output\.dense", r"\1.ffn.lin2"),
    (r"(layer\.\d+)\.output\.LayerNorm", r"\1.output_layer_norm"),
    (r"^cls\.predictions\.transform\.dense", "vocab_transform"),
    (r"^cls\.predictions\.transform\.LayerNorm", "vocab_layer_norm"),
    (r"^cls\.predictions\.bias", "vocab_projector.bias"),
)
_ROBERTA = (
    (r"^(embeddings|encoder)\.", r"roberta.\1."),
    (r"^cls\.predictions\.transform\.dense", "lm_head.dense"),
    (r"^cls\.predictions\.transform\.LayerNorm", "lm_head.layer_norm"),
    (r"^cls\.predictions\.bias", "lm_head.bias"),
)


def make_masked(folder: Path, *, seed: int = 0, family: str = "bert", layers: int = 2) -> Path:
    """A masked language model whose vocabulary has a weight for about a third of the tokens of a text."""
    make_model(folder, seed=seed, layers=layers, architecture="roberta" if family == "roberta" else "bert")
    config = json.loads((folder / "config.json").read_text())
    draw, width, rows = np.random.default_rng(seed + 1), config["hidden_size"], config["vocab_size"]

    def normal(*shape: int) -> np.ndarray:
        return (0.3 * draw.standard_normal(shape)).astype(np.float32)

    weights = load_file(folder / "model.safetensors")
    weights |= {
        "cls.predictions.transform.dense.weight": normal(width, width),
        "cls.predictions.transform.dense.bias": normal(width),
        "cls.predictions.transform.LayerNorm.weight": 1 + normal(width),
        "cls.predictions.transform.LayerNorm.bias": normal(width),
        "cls.predictions.bias": normal(rows) - np.float32(3.0),
    }
    weights["cls.predictions.bias"][:5] += 6  # special tokens have weights too
    special = ROBERTA_SPECIAL if family == "roberta" else SPECIAL
    keys = ("cls_token", "pad_token", "sep_token", "unk_token") if family == "roberta" else _SPECIAL_KEYS
    # Else transformers would split the words as RoBERTa's tokenizers do.
    told = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "do_lower_case": True,
        **dict(zip(keys, special, strict=False)),
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(told))
    if family == "distilbert":
        del weights["embeddings.token_type_embeddings.weight"]
        config = {
            "model_type": "distilbert",
            "dim": width,
            "n_layers": layers,
            "n_heads": config["num_attention_heads"],
            "hidden_dim": config["intermediate_size"],
            "activation": "gelu",
            "max_position_embeddings": config["max_position_embeddings"],
            "vocab_size": rows,
            "pad_token_id": 0,
        }
    renamed = {"bert": (), "distilbert": _DISTILBERT, "roberta": _ROBERTA}[family]
    kinds = {"bert": "BertForMaskedLM", "distilbert": "DistilBertForMaskedLM", "roberta": "RobertaForMaskedLM"}
    (folder / "config.json").write_text(json.dumps(config | {"architectures": [kinds[family]]}))
    save_file({_named(name, renamed): array for name, array in weights.items()}, folder / "model.safetensors")
    return folder


def make_splade(folder: Path, *, seed: int = 0, family: str = "bert", activation: str = "relu") -> Path:
    """A folder of a `SparseEncoder` that reads queries as it reads papers."""
    make_masked(folder, seed=seed, family=family)
    _write(folder, "modules.json", _modules({"": "Transformer", "1_SpladePooling": "SpladePooling"}))
    _write(folder, "1_SpladePooling/config.json", {"pooling_strategy": "max", "activation_function": activation})
    _settings(folder)
    _write(folder, "sentence_bert_config.json", _FILL_MASK)
    return folder


def make_document_only(folder: Path, *, seed: int = 0, family: str = "distilbert", activation: str = "relu") -> Path:
    """A folder of a `SparseEncoder` with a Router, whose queries are looked up in a table of weights."""
    network = make_masked(folder / "document_0_Transformer", seed=seed, family=family)
    _write(network, "sentence_bert_config.json", _FILL_MASK)
    names = {
        "query_0_SparseStaticEmbedding": "SparseStaticEmbedding",
        "document_0_Transformer": "Transformer",
        "document_1_SpladePooling": "SpladePooling",
    }
    _write(folder, "modules.json", _modules({"": "Router"}))
    types = {name: f"sentence_transformers.{_MODULES[kind]}" for name, kind in names.items()}
    structure = {route: [name for name in names if name.startswith(route)] for route in ("query", "document")}
    parameters = {"default_route": "document", "allow_empty_key": True, "route_mappings": {}}
    _write(folder, "router_config.json", {"types": types, "structure": structure, "parameters": parameters})
    _write(
        folder, "document_1_SpladePooling/config.json", {"pooling_strategy": "max", "activation_function": activation}
    )
    static = folder / "query_0_SparseStaticEmbedding"
    _write(static, "config.json", {"frozen": True})
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (static / name).write_bytes((network / name).read_bytes())
    save_file({"weight": table_of(network, seed)}, static / "model.safetensors")
    _settings(folder)
    return folder


def make_opensearch(folder: Path, *, seed: int = 0, family: str = "distilbert", table: str = "idf.json") -> Path:
    """A folder of a document-only model as OpenSearch's project publishes it."""
    make_masked(folder, seed=seed, family=family)
    weights = dict(zip(_tokens(folder), table_of(folder, seed).tolist(), strict=True))
    if table.endswith(".json"):
        _write(folder, table, weights)
    else:
        (folder / table).write_text("".join(f"{token}\t{weight!r}\n" for token, weight in weights.items()))
    return folder


def table_of(folder: Path, seed: int) -> np.ndarray:
    """Return the weight of each token of queries, float32 (vocabulary,), that these models have."""
    return np.random.default_rng(seed + 2).uniform(0.5, 8, len(_tokens(folder))).astype(np.float32)


_FILL_MASK = {
    "transformer_task": "fill-mask",
    "modality_config": {"text": {"method": "forward", "method_output_name": "logits"}},
    "module_output_name": "token_embeddings",
}


def _tokens(folder: Path) -> list[str]:
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    return sorted(vocabulary, key=vocabulary.__getitem__)


def _modules(kinds: dict[str, str]) -> list[dict[str, object]]:
    return [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.{_MODULES[kind]}"}
        for number, (path, kind) in enumerate(kinds.items())
    ]


def _settings(folder: Path) -> None:
    prompts = {"query": "", "document": ""}
    content = {"model_type": "SparseEncoder", "prompts": prompts, "default_prompt_name": None}
    _write(folder, "config_sentence_transformers.json", content | {"similarity_fn_name": "dot", "__version__": {}})


def _named(name: str, renamed: tuple[tuple[str, str], ...]) -> str:
    for pattern, replacement in renamed:
        name = re.sub(pattern, replacement, name)
    return name


def _write(folder: Path, name: str, content: object) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
