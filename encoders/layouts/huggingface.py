"""BERT-family folders of Hugging Face and sentence-transformers: SPECTER, SciNCL, SciBERT, MIReAD, MiniLM, codes."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpora.errors import InputError
from encoders.architectures.bert import Network, Pooling
from encoders.card import ModelCard
from encoders.formats import Format
from encoders.layouts.json_files import inside, read_json
from encoders.model import Find, Model
from encoders.weights import read_weights, sha256_of, weights_file

_WHOLE_NUMBERS = (
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "max_position_embeddings",
    "vocab_size",
)
_GRAPH_SETTINGS = (
    "num_hidden_layers",
    "num_attention_heads",
    "hidden_act",
    "layer_norm_eps",
    "pad_token_id",
    "position_embedding_type",
)
_QUERY_PROMPTS = ("query", "search_query")
_PAPER_PROMPTS = ("document", "passage", "search_document")

HEAD = "vector"
"""Of a network that has one vector for all formats."""


def recognizes(path: Path) -> bool:
    """Return whether a path is such a folder."""
    return (path / "config.json").is_file()


def read(folder: Path, name: str, find: Find) -> Model:  # noqa: ARG001 - it is made of no others
    """Read a model folder.

    A folder that names no pooling is read as SPECTER, SciNCL and MIReAD are: first token, compared by l2 distance.

    Args:
        folder: Holds `config.json`, a tokenizer and weights.
        name: What to call the model.
        find: Not needed.

    Returns:
        The model.

    Raises:
        InputError: If the folder is no BERT-family model, or its files are damaged.
    """
    path = weights_file(folder)
    return Model(read_card(folder, name, sha256_of(path)), folder, functools.partial(read_weights, path))


def read_card(folder: Path, name: str, weights_sha256: str) -> ModelCard:
    """Read what a model folder says of itself.

    Args:
        folder: Holds `config.json` and a tokenizer.
        name: What to call the model.
        weights_sha256: Of the weights.

    Returns:
        The card.

    Raises:
        InputError: If the folder is no BERT-family model, or its files are damaged.
    """
    config = read_json(folder / "config.json", dict)
    family = str(config.get("model_type", ""))
    if family not in ("bert", "roberta"):
        raise InputError(f"{folder} holds a {family or 'nameless'} model; --model takes BERT or RoBERTa folders.")
    for key in _WHOLE_NUMBERS:
        if type(config.get(key)) is not int or config[key] < 1:
            raise InputError(f"{folder / 'config.json'} gives no whole number for {key}; fetch the model again.")
    if config.get("hidden_act") != "gelu" or config.get("position_embedding_type", "absolute") != "absolute":
        raise InputError(f"{name} is a BERT variant that ses can't run: it needs gelu and absolute positions.")
    epsilon = config.get("layer_norm_eps", 1e-12)
    if not isinstance(epsilon, int | float) or isinstance(epsilon, bool):
        raise InputError(f"{folder / 'config.json'} gives no number for layer_norm_eps; fetch the model again.")
    tokenizer = read_json(folder / "tokenizer.json", dict, missing={})
    tokenizer_config = read_json(folder / "tokenizer_config.json", dict, missing={})
    pooling, normalize = _sentence_transformers_modules(folder)
    prompts = _sentence_transformers_prompts(folder)
    if _has_control_codes(tokenizer):
        pooling, prompts = "code", {task_format: f"{task_format.code} " for task_format in Format}
    first = _first_position(config)
    limit = config["max_position_embeddings"] - first
    wanted = read_json(folder / "sentence_bert_config.json", dict, missing={}).get("max_seq_length")
    return ModelCard(
        name=name,
        architecture="plain",
        family=family,
        dimension=config["hidden_size"],
        max_tokens=min(limit, wanted) if type(wanted) is int and wanted > 0 else limit,
        similarity="cosine" if normalize else "l2",
        separator=_token(tokenizer_config.get("sep_token")) or ("</s>" if family == "roberta" else "[SEP]"),
        lowercase=bool(tokenizer_config.get("do_lower_case", family == "bert")),
        licence="",
        prompts=prompts,
        heads=dict.fromkeys(Format, HEAD),
        network=Network(
            layers=config["num_hidden_layers"],
            attention_heads=config["num_attention_heads"],
            width=config["hidden_size"],
            vocabulary=config["vocab_size"],
            positions=config["max_position_embeddings"],
            first_position=first,
            epsilon=float(epsilon),
            shared_layers=config["num_hidden_layers"],
            pooling=pooling,
            normalize=normalize,
            options={},
        ),
        weights_sha256=weights_sha256,
        settings_sha256=_settings_sha256(folder, config, tokenizer),
    )


def _first_position(config: Mapping[str, Any]) -> int:
    """Return the row of the first token's position: RoBERTa keeps those up to the padding token's id for padding."""
    return int(config.get("pad_token_id", 1)) + 1 if config["model_type"] == "roberta" else 0


def _settings_sha256(folder: Path, config: Mapping[str, Any], tokenizer: Mapping[str, Any]) -> str:
    graph = {key: config.get(key) for key in _GRAPH_SETTINGS}
    # How the file presets cutting and padding doesn't matter: `load_tokenizer` sets both itself.
    words = {key: value for key, value in tokenizer.items() if key not in ("truncation", "padding")}
    vocabulary = folder / "vocab.txt"
    only = sha256_of(vocabulary) if not tokenizer and vocabulary.is_file() else ""
    return hashlib.sha256(json.dumps([graph, words, only], sort_keys=True).encode()).hexdigest()


def _sentence_transformers_modules(folder: Path) -> tuple[Pooling, bool]:
    modules = [module for module in read_json(folder / "modules.json", list, missing=[]) if isinstance(module, dict)]
    kinds = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in modules]
    if unknown := sorted(set(kinds) - {"Transformer", "Pooling", "Normalize"}):
        raise InputError(f"{folder} has sentence-transformers modules that ses can't run: {', '.join(unknown)}.")
    pooling: Pooling = "cls"
    if "Pooling" in kinds:
        part = inside(folder, str(modules[kinds.index("Pooling")].get("path", "")))
        settings = read_json(part / "config.json", dict)
        # One key with the name of the mode, or, before sentence-transformers 5, a switch for each mode.
        older = [key for key, value in settings.items() if key.startswith("pooling_mode_") and value]
        mode = settings.get("pooling_mode", older)
        if mode in ("mean", ["mean"], ["pooling_mode_mean_tokens"]):
            pooling = "mean"
        elif mode not in ("cls", ["cls"], ["pooling_mode_cls_token"]):
            raise InputError(
                f"{folder} pools its tokens in a way that ses can't; it knows first-token and mean pooling."
            )
    return pooling, "Normalize" in kinds


def _sentence_transformers_prompts(folder: Path) -> dict[Format, str]:
    """Return what a sentence-transformers folder sets before queries, and before papers."""
    content = read_json(folder / "config_sentence_transformers.json", dict, missing={})
    known = content.get("prompts") if isinstance(content.get("prompts"), dict) else {}
    default = known.get(content.get("default_prompt_name"), "")
    query = next((known[name] for name in _QUERY_PROMPTS if name in known), default)
    paper = next((known[name] for name in _PAPER_PROMPTS if name in known), default)
    prompts = {task_format: query if task_format is Format.QRY else paper for task_format in Format}
    return {task_format: text for task_format, text in prompts.items() if isinstance(text, str) and text}


def _has_control_codes(tokenizer: Mapping[str, Any]) -> bool:
    tokens = tokenizer.get("added_tokens")
    added = {_token(token) for token in tokens} if isinstance(tokens, list) else set()
    return {task_format.code for task_format in Format} <= added


def _token(value: Any) -> str:
    return str(value.get("content", "")) if isinstance(value, dict) else str(value or "")
