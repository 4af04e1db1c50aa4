"""The `.ckpt` files of SciMult and UniPR: an encoder for queries and one for papers, mostly the same, in a torch file.

The configuration and the tokenizer of the network that they started from are beside the file, or come from the hub.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from corpora.checksums import sha256_of, sha256_of_text
from corpora.errors import InputError, UnavailableError, require
from corpora.lazy import np
from encoders.architectures.network import Pooling
from encoders.layouts import composed, experts, huggingface, unipr
from encoders.layouts.encoder_params import EncoderParams, read_params
from encoders.layouts.own_card import read_own, with_own_card
from encoders.models.card import ModelCard
from encoders.models.formats import Format, Similarity
from encoders.models.hub import fetch, is_hub_id
from encoders.models.model import Find, Model, Weights
from encoders.models.weights import SAFETENSORS, TORCH, plain_name, read_checkpoint

_QUERIES, _PAPERS, _INSTRUCTIONS = "question_model", "ctx_model", "instruct_model"
_OF_SPANS = "linear."
"""Joins the ends of a span in training; no vector of a whole text uses it."""

_DESCRIBED = ("config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt")
_RENAMED = {
    "microsoft/BiomedNLP-PubMedBERT-base-uncased-abstract": "microsoft/BiomedNLP-BiomedBERT-base-uncased-abstract",
    "bert-base-uncased": "google-bert/bert-base-uncased",
}


def recognizes(path: Path) -> bool:
    """Return whether a path is a checkpoint, or a folder that holds one and no model of another kind."""
    if path.is_file():
        return path.suffix == ".ckpt"
    others = any((path / name).is_file() for name in (SAFETENSORS, TORCH))
    return bool(_checkpoints(path)) and not others and "base" not in read_own(path)


def read(path: Path, name: str, find: Find) -> Model:  # noqa: ARG001 - it is made of no others
    """Read a checkpoint: one model, plain, with experts or with instructions; or one for queries and one for papers."""
    file = _only(path) if path.is_dir() else path
    checkpoint = read_checkpoint(file)
    models = _models(file, checkpoint.arrays)
    if not {_QUERIES, _PAPERS} & models.keys():
        raise InputError(f"{file} is no checkpoint of SciMult or UniPR: it holds neither {_QUERIES} nor {_PAPERS}.")
    params = read_params(file, checkpoint.settings)
    tokenizer = _base(file, params.pretrained_model_cfg)
    own = read_own(file.parent)
    instructed = _INSTRUCTIONS in models or (own.get("architecture") == "instructions" and "base" not in own)
    digest = sha256_of(file)
    members = {}
    for model in _distinct(models):
        # Two models of one file must not share a fingerprint.
        own_digest = sha256_of_text(f"{digest} {model}")
        card = _card(file, params, huggingface.read_card(tokenizer, name, own_digest), tokenizer, instructed=instructed)
        if _INSTRUCTIONS in models and not _same(models[_INSTRUCTIONS], models[model]):
            card = replace(card, architecture="instruction-encoder")
        members[model] = Model(card, tokenizer, functools.partial(_read, file, params, card, model))
    if len(members) == 1:
        return next(iter(members.values()))
    formats = members[_PAPERS].card.formats
    serving = {task_format: _QUERIES if task_format is Format.QRY else _PAPERS for task_format in formats}
    return composed.routes(name, file.parent, {key.value: members[model] for key, model in serving.items()})


def _card(path: Path, params: EncoderParams, card: ModelCard, tokenizer: Path, *, instructed: bool) -> ModelCard:
    """Return the card of a checkpoint's model, given that of the network that it began with."""
    if card.architecture != "plain":
        raise InputError(f"{path} began with a {card.family} model; experts and instructions need a BERT or RoBERTa.")
    pooling: Pooling = "mean" if params.mean_pool else "cls"
    network = replace(card.network, pooling=pooling, normalize=params.mean_pool)
    similarity: Similarity = "cosine" if params.mean_pool else "dot"
    card = replace(card, similarity=similarity, empty_parts="kept", prompts={}, network=network)
    if params.use_moe and instructed:
        raise InputError(f"{path} has both experts and instructions, which ses can't run together.")
    if params.use_moe:
        card = experts.with_experts(card, path, params)
    elif instructed:
        card = unipr.with_instructions(card, tokenizer, path, params)
    return with_own_card(card, path.parent)


def _read(path: Path, params: EncoderParams, card: ModelCard, model: str) -> Weights:
    models = _models(path, read_checkpoint(path).arrays)
    weights: Weights = models[model]
    if card.architecture == "experts":
        return experts.expert_weights(card, path, params, weights)
    if card.architecture in ("instructions", "instruction-encoder"):
        weights = unipr.instruction_weights(card, path, params, weights)
    if card.architecture == "instruction-encoder":
        weights = {**weights, **unipr.instructor_weights(card, models[_INSTRUCTIONS])}
    return weights


def _models(path: Path, arrays: Weights) -> dict[str, dict[str, np.ndarray]]:
    """Return the weights, float32, of each model in a checkpoint, by a bare encoder's names."""
    models: dict[str, dict[str, np.ndarray]] = {}
    unknown = []
    for name, array in arrays.items():
        model, _, own = name.partition(".encoder.")
        if own and model in (_QUERIES, _PAPERS, _INSTRUCTIONS):
            models.setdefault(model, {})[plain_name(own)] = array
        elif not name.startswith(_OF_SPANS):
            unknown.append(name)
    if unknown and models:
        raise InputError(f"{path} holds {', '.join(unknown[:5])}, which ses can't run; use a checkpoint without.")
    return models


def _distinct(models: Mapping[str, Weights]) -> list[str]:
    """Return which models are needed: that of papers, and that of queries if it is another."""
    needed = [model for model in (_PAPERS, _QUERIES) if model in models]
    if len(needed) > 1 and _same(models[_PAPERS], models[_QUERIES]):
        return [_PAPERS]
    return needed


def _same(first: Weights, second: Weights) -> bool:
    return first.keys() == second.keys() and all(
        # Two names of one tensor are one place in the file, and need not be read.
        (array.ctypes.data == second[name].ctypes.data and array.shape == second[name].shape)
        or np.array_equal(array, second[name], equal_nan=True)
        for name, array in first.items()
    )


def _base(path: Path, name: str) -> Path:
    """Return a folder with the configuration and the tokenizer of the network that a checkpoint began with."""
    folder = path.parent
    if (folder / "config.json").is_file() and any((folder / file).is_file() for file in _DESCRIBED[1:]):
        return folder
    hub_id = _RENAMED.get(name, name)
    remedy = f"put the config.json and the tokenizer.json or vocab.txt of {name} beside {path}"
    require(is_hub_id(hub_id), f"{path} began with {name!r}, which is not on the hub; {remedy}.")
    try:
        return fetch(hub_id, _DESCRIBED)
    except UnavailableError as error:
        raise UnavailableError(f"{hub_id} can't be fetched from the hub; check the network, or {remedy}.") from error


def _checkpoints(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.ckpt")) if folder.is_dir() else []


def _only(folder: Path) -> Path:
    found = _checkpoints(folder)
    if len(found) > 1:
        raise InputError(f"{folder} holds {len(found)} checkpoints; name one of them, such as {found[0]}.")
    return found[0]
