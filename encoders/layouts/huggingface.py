"""BERT-family folders of Hugging Face and sentence-transformers: SPECTER, SciNCL, SciBERT, MIReAD, MiniLM, codes."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from corpora.checksums import sha256_of, sha256_of_text
from corpora.errors import InputError
from encoders.architectures.network import Network, Pooling
from encoders.architectures.registry import TRANSFORMERS
from encoders.layouts import families
from encoders.layouts.families import FAMILIES
from encoders.layouts.own_card import CARD_FILE, read_own
from encoders.layouts.sentence_modules import MODULES, Dense, Modules, read_dense, read_modules
from encoders.models.card import ModelCard
from encoders.models.folder import LARGEST_TOKENIZER, read_json, transformer_settings
from encoders.models.formats import Format, Similarity
from encoders.models.model import Find, Model, Weights, as_base
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
"""Name of the only head of a network that has one vector for all formats."""


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
    path, dense = weights_file(folder), read_modules(folder).dense
    files = [path, *(one.weights for one in dense)]
    card = read_card(folder, name, _sha256_of_all(files), tokenizer)
    # transformers knows the names of its own files.
    reads = read_arrays if card.architecture == TRANSFORMERS else read_weights
    return Model(card, tokenizer or folder, functools.partial(_read_all, reads, path, dense))


def _read_all(reads: Callable[[Path], Weights], path: Path, dense: Sequence[Dense]) -> Weights:
    return {**reads(path), **read_dense(dense)} if dense else reads(path)


def _sha256_of_all(files: Sequence[Path]) -> str:
    """Return the hash of a weights file, or of the hashes of several."""
    hashes = [sha256_of(file) for file in files]
    return hashes[0] if len(hashes) == 1 else sha256_of_text("\n".join(hashes))


def read_card(folder: Path, name: str, weights_sha256: str, tokenizer: Path | None = None) -> ModelCard:
    """Read what a model folder says of itself, given the hash of its weights; the tokenizer may be elsewhere."""
    config = read_json(folder / "config.json", dict)
    card = card_of(folder, name, weights_sha256, config, read_modules(folder), tokenizer)
    return replace(card, similarity=read_similarity(folder) or "l2")


def card_of(
    folder: Path,
    name: str,
    weights_sha256: str,
    config: Mapping[str, Any],
    modules: Modules = Modules(),  # noqa: B008 - it is frozen
    tokenizer: Path | None = None,
) -> ModelCard:
    """Return the card of a network whose configuration and modules are known already; it compares by `dot`."""
    words = tokenizer or folder
    whole = read_json(words / "tokenizer.json", dict, missing={}, largest=LARGEST_TOKENIZER)
    tokenizer_config = read_json(words / "tokenizer_config.json", dict, missing={})
    added = () if whole else read_added(words)
    pooling, prompts = modules.pooling, read_prompts(folder)
    if codes := _control_codes(whole, added):
        pooling, prompts = "code", {task_format: f"{task_format.code} " for task_format in codes}
    architecture, network = _network(folder, config, pooling, modules)
    family, limit = str(config["model_type"]), network.positions - network.first_position
    transformer = transformer_settings(folder)
    wanted = transformer.get("max_seq_length")
    return ModelCard(
        name=name,
        architecture=architecture,
        family=family,
        dimension=modules.dense[-1].outputs if modules.dense else network.width,
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


def reranker_config(folder: Path, pooling: Pooling) -> dict[str, Any]:
    """Return the `config.json` of a reranker's network; `InputError` if no architecture of ses runs it."""
    path = folder / "config.json"
    config: dict[str, Any] = read_json(path, dict)
    family = config.get("model_type")
    if not isinstance(family, str) or family not in FAMILIES:
        raise InputError(
            f"{folder} holds a network of the family {family!r}, which ses can't run as a reranker; it runs those of "
            f"the families {', '.join(FAMILIES)}."
        )
    if families.read_network(path, config, pooling, normalize=False) is None:
        raise InputError(f"{folder} has settings that ses can't run as a reranker; choose another model.")
    return config


def read_longest(folder: Path, card: ModelCard) -> int:
    """Return the longest input of a reranker in tokens: its tokenizer's limit too, unless its modules set another."""
    limit = read_json(folder / "tokenizer_config.json", dict, missing={}).get("model_max_length")
    own = type(limit) is int and limit > 0 and "max_seq_length" not in transformer_settings(folder)
    return min(card.max_tokens, limit) if own else card.max_tokens


def _network(folder: Path, config: Mapping[str, Any], pooling: Pooling, modules: Modules) -> tuple[str, Network]:
    """Return the architecture that runs a network, and the network's facts."""
    family, path = config.get("model_type"), folder / "config.json"
    if not isinstance(family, str) or not family:
        raise InputError(f"{path} names no model_type; fetch the complete model.")
    if family in FAMILIES and config.get("position_embedding_type", "absolute") != "absolute":
        raise InputError(f"{folder} holds a {family} model with relative positions, which ses can't run.")
    network = families.read_network(path, config, pooling, normalize=modules.normalize)
    if network is not None:
        return FAMILIES[family].architecture, replace(network, options={**network.options, **modules.options})
    if modules.dense:
        raise InputError(f"{folder} has linear layers after pooling, which ses can't run on a {family} model.")
    return TRANSFORMERS, families.read_foreign_network(path, config, pooling, normalize=modules.normalize)


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
    return sha256_of_text(json.dumps(facts, sort_keys=True))


def _control_codes(tokenizer: Mapping[str, Any], added: Sequence[AddedToken]) -> list[Format]:
    """Return the formats whose codes are among the added tokens; SciRepEval's training adds those of its tasks."""
    tokens = tokenizer.get("added_tokens")
    found = {content(token) for token in tokens} if isinstance(tokens, list) else {token.content for token in added}
    return [task_format for task_format in Format if task_format.code in found]


SETTINGS = "config_sentence_transformers.json"
_SIMILARITIES: dict[str, Similarity] = {"cosine": "cosine", "dot": "dot", "euclidean": "l2"}
_QUERY_PROMPTS = ("query", "search_query")
_PAPER_PROMPTS = ("document", "passage", "search_document")


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
    if not any((folder / name).is_file() for name in (MODULES, SETTINGS)) or "similarity" in read_own(folder):
        return None
    name = read_json(folder / SETTINGS, dict, missing={}).get("similarity_fn_name") or "cosine"
    if name not in _SIMILARITIES:
        raise InputError(
            f"{folder} compares vectors by {name!r}, which ses can't; if cosine, dot or l2 serves as well, set it as "
            f"similarity in {folder / CARD_FILE}."
        )
    return _SIMILARITIES[name]


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
    base = as_base(find(located(folder, name)))
    if base.card.architecture != "plain":
        raise InputError(
            f"{folder / CARD_FILE} builds on {base.card.name}, whose architecture is {base.card.architecture}; "
            "name a plain network as its base."
        )
    if "dense" in base.card.network.options:
        raise InputError(
            f"{folder / CARD_FILE} builds on {base.card.name}, which has linear layers after pooling; name a network "
            "without as its base."
        )
    return base


def located(folder: Path, name: str) -> str:
    """Return a model's name, as a whole path if it is a path that starts at the folder."""
    return str(folder / name) if (folder / name).exists() else name
