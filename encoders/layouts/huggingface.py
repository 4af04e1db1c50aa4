"""BERT-family folders of Hugging Face and sentence-transformers: SPECTER, SciNCL, SciBERT, MIReAD, MiniLM, codes."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from corpora.checksums import sha256_of
from corpora.errors import InputError
from encoders.architectures.network import Network, Pooling
from encoders.architectures.registry import TRANSFORMERS
from encoders.layouts import families
from encoders.layouts.families import FAMILIES
from encoders.layouts.own_card import CARD_FILE, read_own
from encoders.models.card import ModelCard
from encoders.models.folder import LARGEST_TOKENIZER, inside, read_json, transformer_settings
from encoders.models.formats import Format, Similarity
from encoders.models.model import Find, Model
from encoders.models.weights import read_arrays, read_weights, weights_file
from encoders.tokens.tokenizer import AddedToken, content, read_added

_GRAPH_SETTINGS = (
    "num_hidden_layers",
    "num_attention_heads",
    "hidden_act",
    "layer_norm_eps",
    "pad_token_id",
    "position_embedding_type",
)

HEAD = "vector"
"""Of a network that has one vector for all formats."""


def recognizes(path: Path) -> bool:
    """Return whether a path is such a folder."""
    return (path / "config.json").is_file()


def read(
    folder: Path,
    name: str,
    find: Find,  # noqa: ARG001 - it is made of no others
    tokenizer: Path | None = None,
) -> Model:
    """Read a model folder; without a pooling it is read as SPECTER, SciNCL and MIReAD are: first token, l2 distance."""
    path = weights_file(folder)
    card = read_card(folder, name, sha256_of(path), tokenizer)
    # transformers knows the names of its own files.
    reads = read_arrays if card.architecture == TRANSFORMERS else read_weights
    return Model(card, tokenizer or folder, functools.partial(reads, path))


def read_card(folder: Path, name: str, weights_sha256: str, tokenizer: Path | None = None) -> ModelCard:
    """Read what a model folder says of itself, given the hash of its weights; the tokenizer may be elsewhere."""
    pooling, normalize = read_modules(folder)
    card = read_network_card(folder, name, weights_sha256, pooling, normalize=normalize, tokenizer=tokenizer)
    return replace(card, similarity=read_similarity(folder) or "l2", prompts=card.prompts or read_prompts(folder))


def read_network_card(
    folder: Path,
    name: str,
    weights_sha256: str,
    pooling: Pooling,
    *,
    normalize: bool = False,
    tokenizer: Path | None = None,
) -> ModelCard:
    """Read what a model folder says of its network and tokenizer, and nothing of modules, prompts and comparison."""
    config = read_json(folder / "config.json", dict)
    words = tokenizer or folder
    whole = read_json(words / "tokenizer.json", dict, missing={}, largest=LARGEST_TOKENIZER)
    tokenizer_config = read_json(words / "tokenizer_config.json", dict, missing={})
    added = () if whole else read_added(words)
    prompts: dict[Format, str] = {}
    if codes := _control_codes(whole, added):
        pooling, prompts = "code", {task_format: f"{task_format.code} " for task_format in codes}
    architecture, network = _network(folder, config, pooling, normalize=normalize)
    family, limit = str(config["model_type"]), network.positions - network.first_position
    transformer = transformer_settings(folder)
    wanted = transformer.get("max_seq_length")
    return ModelCard(
        name=name,
        architecture=architecture,
        family=family,
        dimension=network.width,
        max_tokens=min(limit, wanted) if type(wanted) is int and wanted > 0 else limit,
        similarity="dot",
        separator=content(tokenizer_config.get("sep_token")) or FAMILIES.get(family, FAMILIES["bert"]).separator,
        empty_parts="dropped",
        lowercase=bool(tokenizer_config.get("do_lower_case", family == "bert")),
        licence="",
        prompts=prompts,
        heads=dict.fromkeys(codes or Format, HEAD),
        network=network,
        weights_sha256=weights_sha256,
        settings_sha256=_settings_sha256(words, config, whole, added, transformer),
    )


def read_longest(folder: Path, card: ModelCard) -> int:
    """Return the longest input of a reranker in tokens: its tokenizer's limit too, unless its modules set another."""
    limit = read_json(folder / "tokenizer_config.json", dict, missing={}).get("model_max_length")
    own = type(limit) is int and limit > 0 and "max_seq_length" not in transformer_settings(folder)
    return min(card.max_tokens, limit) if own else card.max_tokens


def _network(folder: Path, config: Mapping[str, Any], pooling: Pooling, *, normalize: bool) -> tuple[str, Network]:
    """Return the architecture that runs a network, and the network's facts."""
    family, path = config.get("model_type"), folder / "config.json"
    if not isinstance(family, str) or not family:
        raise InputError(f"{path} names no model_type; fetch the complete model.")
    if family in FAMILIES and config.get("position_embedding_type", "absolute") != "absolute":
        raise InputError(f"{folder} holds a {family} model with relative positions, which ses can't run.")
    network = families.read_network(path, config, pooling, normalize=normalize)
    if network is None:
        return TRANSFORMERS, families.read_foreign_network(path, config, pooling, normalize=normalize)
    return FAMILIES[family].architecture, network


def _settings_sha256(
    folder: Path,
    config: Mapping[str, Any],
    tokenizer: Mapping[str, Any],
    added: Sequence[AddedToken],
    transformer: Mapping[str, Any],
) -> str:
    graph = {key: config.get(key) for key in _GRAPH_SETTINGS}
    # How the file presets cutting and padding doesn't matter: `load_tokenizer` sets both itself.
    words = {key: value for key, value in tokenizer.items() if key not in ("truncation", "padding")}
    vocabulary = folder / "vocab.txt"
    only = sha256_of(vocabulary) if not tokenizer and vocabulary.is_file() else ""
    facts = [graph, words, only, *(asdict(token) for token in added)]
    if transformer.get("do_lower_case") is True:
        facts.append("do_lower_case")
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _control_codes(tokenizer: Mapping[str, Any], added: Sequence[AddedToken]) -> list[Format]:
    """Return the formats whose codes are among the added tokens; SciRepEval's training adds those of its tasks."""
    tokens = tokenizer.get("added_tokens")
    found = {content(token) for token in tokens} if isinstance(tokens, list) else {token.content for token in added}
    return [task_format for task_format in Format if task_format.code in found]


_MODULES, SETTINGS = "modules.json", "config_sentence_transformers.json"
_SIMILARITIES: dict[str, Similarity] = {"cosine": "cosine", "dot": "dot", "euclidean": "l2"}
_QUERY_PROMPTS = ("query", "search_query")
_PAPER_PROMPTS = ("document", "passage", "search_document")


def read_modules(folder: Path) -> tuple[Pooling, bool]:
    """Return how a folder's modules pool, and whether they normalize; `InputError` if ses can't run them."""
    modules = [module for module in read_json(folder / _MODULES, list, missing=[]) if isinstance(module, dict)]
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


def read_prompts(folder: Path) -> dict[Format, str]:
    """Return the prompts that a folder sets for queries and for papers."""
    content = read_json(folder / SETTINGS, dict, missing={})
    known = content.get("prompts") if isinstance(content.get("prompts"), dict) else {}
    default = known.get(str(content.get("default_prompt_name")), "")
    query = next((known[name] for name in _QUERY_PROMPTS if name in known), default)
    paper = next((known[name] for name in _PAPER_PROMPTS if name in known), default)
    prompts = {task_format: query if task_format is Format.QRY else paper for task_format in Format}
    return {task_format: text for task_format, text in prompts.items() if isinstance(text, str) and text}


def read_similarity(folder: Path) -> Similarity | None:
    """Return how a sentence-transformers folder compares vectors; None for other folders, or if its card says so."""
    if not any((folder / name).is_file() for name in (_MODULES, SETTINGS)) or "similarity" in read_own(folder):
        return None
    asked = read_json(folder / SETTINGS, dict, missing={}).get("similarity_fn_name") or "cosine"
    if asked not in _SIMILARITIES:
        raise InputError(
            f"{folder} compares vectors by {asked!r}, which ses can't; if cosine, dot or l2 serves as well, set it as "
            f"similarity in {folder / CARD_FILE}."
        )
    return _SIMILARITIES[asked]


def base_of(folder: Path, find: Find) -> Model:
    """Find the plain network that a folder's own card names as `base`, or that is in the folder, or `InputError`."""
    own = read_own(folder)
    name = own.get("base")
    if "base" not in own:
        if not recognizes(folder):
            raise InputError(f"{folder / CARD_FILE} names no base, and there is no network in the folder either.")
        return read(folder, str(folder), find)
    if not isinstance(name, str):
        raise InputError(f"{folder / CARD_FILE} sets base to {name!r}, which is not the name of a model.")
    base = find(located(folder, name))
    if base.card.architecture != "plain":
        raise InputError(
            f"{folder / CARD_FILE} builds on {base.card.name}, whose architecture is {base.card.architecture}; "
            "name a plain network as its base."
        )
    return base


def located(folder: Path, name: str) -> str:
    """Return a model's name, as a whole path if it is a path that starts at the folder."""
    return str(folder / name) if (folder / name).exists() else name
