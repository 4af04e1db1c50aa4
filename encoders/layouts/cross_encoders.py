"""Cross-encoders as transformers and sentence-transformers write them: a network for sequences with one label.

The library's class CrossEncoder has had two forms of a folder. The older is that of transformers, with the activation
in `config.json`. In the newer, `modules.json` names a Transformer, and `config_sentence_transformers.json` holds the
activation and the prompts. Both are read as that library does: without an activation, it is the logistic function.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from corpora.checksums import sha256_of
from corpora.errors import InputError, require
from encoders.architectures.bert import SEGMENTS
from encoders.architectures.pairs import HEADS, SCORE, ScoreActivation
from encoders.architectures.registry import PAIRS
from encoders.layouts import huggingface
from encoders.layouts.own_card import CARD_FILE, read_own, with_own_card
from encoders.layouts.sentence_modules import read_modules
from encoders.models.card import ModelCard
from encoders.models.folder import read_json
from encoders.models.formats import Format
from encoders.models.model import Find, Model
from encoders.models.weights import read_shapes, read_weights, weights_file

_ACTIVATIONS: Mapping[str, ScoreActivation] = {
    "torch.nn.modules.activation.Sigmoid": "sigmoid",
    "torch.nn.Sigmoid": "sigmoid",
    "torch.nn.modules.activation.Tanh": "tanh",
    "torch.nn.Tanh": "tanh",
    "torch.nn.modules.linear.Identity": "none",
    "torch.nn.Identity": "none",
}
_OWN_SETTINGS = ("architecture", "max_tokens", "licence")
_POOLINGS = ("cls", "mean")


def recognizes(folder: Path) -> bool:
    """Return whether a folder's own card says that it is one, as training writes it."""
    return read_own(folder).get("architecture") == PAIRS


def read(folder: Path, name: str, find: Find | None = None) -> Model:  # noqa: ARG001 - it is made of no others
    """Read a cross-encoder; `InputError` if it has no head, or more than one label, or ses can't run its network."""
    config, path = huggingface.reranker_config(folder, "cls"), weights_file(folder)
    shapes = read_shapes(path)
    head = next((kind for kind, layers in HEADS.items() if all(f"{one}.weight" in shapes for one in layers)), None)
    if head is None:
        raise InputError(
            f"{folder} is no reranker: its weights lack the head that gives a pair of texts a score; choose a "
            "cross-encoder, a model for sequence classification with one label."
        )
    labels = (*shapes[f"{HEADS[head][1]}.weight"], 0)[0]
    require(labels == 1, f"{folder} gives a pair {labels} labels, and a reranker has one; choose another model.")
    require(
        not read_modules(folder).dense, f"{folder} has linear layers of its own, which ses can't run in a reranker."
    )
    card = huggingface.card_of(folder, name, sha256_of(path), config)
    segments = card.family == "bert" and shapes.get(SEGMENTS, (0,))[0] > 1 and _has_segments(folder)
    activation = _activation(folder, config)
    facts = {"trunk": card.architecture, "head": head, "activation": activation, "segments": segments}
    network = replace(
        card.network,
        pooling=_pooling(folder, config) if head == "modernbert" else "cls",
        normalize=False,
        options={**card.network.options, **facts},
    )
    card = replace(
        card,
        architecture=PAIRS,
        dimension=1,
        max_tokens=huggingface.read_longest(folder, card),
        similarity="dot",
        prompts=_prompts(folder),
        heads={Format.QRY: SCORE},
        network=network,
    )
    return Model(_with_settings(card, folder), folder, functools.partial(read_weights, path))


def _with_settings(card: ModelCard, folder: Path) -> ModelCard:
    if surplus := sorted(set(read_own(folder)) - set(_OWN_SETTINGS)):
        raise InputError(f"{folder / CARD_FILE} sets {', '.join(surplus)}; for a reranker, it sets max_tokens only.")
    return with_own_card(card, folder)


def _pooling(folder: Path, config: Mapping[str, Any]) -> Any:
    """Return how ModernBERT's head pools; `InputError` if it is made in another way than ses computes it."""
    pooling = config.get("classifier_pooling", "cls")
    if pooling not in _POOLINGS or config.get("classifier_activation", "gelu") != "gelu":
        raise InputError(f"{folder / 'config.json'} asks for a head of another kind than ses computes.")
    return pooling


def _has_segments(folder: Path) -> bool:
    """Return whether the tokenizer tells the network which tokens are of the second text, as BERT's does."""
    inputs = read_json(folder / "tokenizer_config.json", dict, missing={}).get("model_input_names")
    return not isinstance(inputs, list) or "token_type_ids" in inputs


def _activation(folder: Path, config: Mapping[str, Any]) -> ScoreActivation:
    settings = read_json(folder / huggingface.SETTINGS, dict, missing={})
    library = config.get("sentence_transformers")
    within = library.get("activation_fn") if isinstance(library, Mapping) else None
    named = settings.get("activation_fn") or within or config.get("sbert_ce_default_activation_function")
    # The library runs no code that a folder names, unless it is torch's.
    if not isinstance(named, str) or not named.startswith("torch."):
        return "sigmoid"
    if named not in _ACTIVATIONS:
        raise InputError(f"{folder} applies {named} to its scores, which ses can't; it can sigmoid, tanh and identity.")
    return _ACTIVATIONS[named]


def _prompts(folder: Path) -> dict[Format, str]:
    """Return the prompt before a query: the default one of the folder."""
    settings = read_json(folder / huggingface.SETTINGS, dict, missing={})
    prompts = settings.get("prompts")
    prompt = prompts.get(str(settings.get("default_prompt_name"))) if isinstance(prompts, Mapping) else None
    return {Format.QRY: prompt} if isinstance(prompt, str) and prompt else {}
