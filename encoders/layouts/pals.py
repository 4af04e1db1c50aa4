"""PALs folders of SciRepEval: a state dict and the `config.json` of its BertPalConfig, which names no model type.

Four tasks are numbered as SciRepEval's training numbers them, by sorted control code. Of any other number, or in any
other order, `ses_card.json` says what each serves: `{"tasks": {"prx": 0, "qry": 0, "clf": 1}}`.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from pathlib import Path

from corpora.checksums import sha256_of, sha256_of_text
from corpora.errors import InputError
from corpora.lazy import np
from encoders.architectures.bert import layer_name
from encoders.architectures.network import Network
from encoders.layouts.own_card import numbered_heads
from encoders.models.card import ModelCard
from encoders.models.folder import MOST_LAYERS, read_json, settings_of
from encoders.models.formats import Format
from encoders.models.model import Find, Model, Weights
from encoders.models.weights import read_weights, weights_file
from encoders.tokens.tokenizer import content

_VARIANTS = ("mult", "houlsby", "top", "lhuc")
"""What that configuration can ask for besides PALs beside the layers."""

EPSILON = 1e-12
"""The code of PALs has its own layer normalization, which reads no configuration."""

_IN_ORDER = {task_format: number for number, task_format in enumerate(sorted(Format, key=lambda one: one.code))}
"""SciRepEval's training numbers tasks by their sorted control codes."""


@dataclass(frozen=True, slots=True)
class _Config:
    """The settings that the network depends on."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    max_position_embeddings: int
    vocab_size: int
    num_tasks: int
    hidden_act: str = "gelu"
    mult: bool = False
    pals: bool = False
    houlsby: bool = False
    top: bool = False
    lhuc: bool = False


def recognizes(path: Path) -> bool:
    """Return whether a path is a folder whose configuration asks for PALs, or for one of their relatives."""
    if not (path / "config.json").is_file():
        return False
    config = read_json(path / "config.json", dict)
    return any(config.get(key) is True for key in _VARIANTS)


def read(
    folder: Path,
    name: str,
    find: Find,  # noqa: ARG001 - it is made of no others
    tokenizer: Path | None = None,
) -> Model:
    """Read a PALs folder: `config.json`, weights, and a tokenizer that may have a folder of its own."""
    config, path, words = _config(folder), weights_file(folder), tokenizer or folder
    tokenizer_config = read_json(words / "tokenizer_config.json", dict, missing={})
    usual = _IN_ORDER if config.num_tasks == len(_IN_ORDER) else {}
    described = [
        folder / "config.json",
        *(words / file for file in ("tokenizer.json", "vocab.txt", "added_tokens.json")),
    ]
    settings = " ".join(sha256_of(file) for file in described if file.is_file())
    card = ModelCard(
        name=name,
        architecture="pals",
        family="bert",
        dimension=config.hidden_size,
        max_tokens=config.max_position_embeddings,
        similarity="l2",
        separator=content(tokenizer_config.get("sep_token")) or "[SEP]",
        empty_parts="dropped",
        lowercase=bool(tokenizer_config.get("do_lower_case", True)),
        licence="",
        prompts={},
        heads=numbered_heads(folder, "tasks", config.num_tasks, usual),
        network=Network(
            layers=config.num_hidden_layers,
            attention_heads=config.num_attention_heads,
            width=config.hidden_size,
            vocabulary=config.vocab_size,
            positions=config.max_position_embeddings,
            first_position=0,
            epsilon=EPSILON,
            shared_layers=0,
            pooling="cls",
            normalize=False,
            options={},
        ),
        weights_sha256=sha256_of(path),
        settings_sha256=sha256_of_text(settings),
    )
    return Model(card, words, functools.partial(_read, path, config, frozenset(card.heads.values())))


def _config(folder: Path) -> _Config:
    path = folder / "config.json"
    try:
        config = settings_of(_Config, read_json(path, dict))
    except ValueError as error:
        raise InputError(f"{path} lacks what PALs need, or has it wrong: {error}; fetch the model again.") from error
    if others := [key for key in _VARIANTS[1:] if getattr(config, key)]:
        raise InputError(f"{path} asks for {' and '.join(others)}, which ses can't run; it runs PALs (`mult` alone).")
    sizes = (config.hidden_size, config.num_attention_heads, config.vocab_size, config.max_position_embeddings)
    counts = (config.num_hidden_layers, config.num_tasks)
    if config.hidden_act != "gelu" or min(*sizes, *counts) < 1 or max(counts) > MOST_LAYERS:
        raise InputError(f"{path} describes no network that ses can run: it needs gelu, and possible sizes.")
    return config


def _read(path: Path, config: _Config, tasks: frozenset[str]) -> Weights:
    """Return the weights, every layer with its own name for what the layers of a task share."""
    weights = read_weights(path)
    parts = [
        (layer, str(task), f"{layer_name(layer)}.multi_layers.{task}")
        for task in range(config.num_tasks)
        for layer in range(config.num_hidden_layers)
    ]
    for _, task, part in parts:
        # The variant must not be guessed from the weights: if some were missing, it would be the other variant.
        if (f"{part}.attn.query.weight" in weights) != config.pals and task in tasks:
            verb = "lack" if config.pals else "hold"
            raise InputError(f"{path} and its config.json disagree: the weights {verb} {part}.attn.query.weight.")
    if config.pals:
        _spread(weights, path, config)
    others = tuple(f"{part}." for _, task, part in parts if task not in tasks)
    return {name: array for name, array in weights.items() if not name.startswith(others)}


def _spread(weights: dict[str, np.ndarray], path: Path, config: _Config) -> None:
    """Give every layer a task's own projections, which stand in the trunk, in some layer, or in all of them."""
    numbers, parts, ends = range(config.num_tasks), ("aug_dense", "aug_dense2"), ("weight", "bias")
    for task, part, end in itertools.product(numbers, parts, ends):
        trunk, last = f"encoder.mult_{part}.{task}.{end}", f"multi_layers.{task}.{part}.{end}"
        layers = [f"{layer_name(layer)}.{last}" for layer in range(config.num_hidden_layers)]
        found = [weights[name] for name in (trunk, *layers) if name in weights]
        if not all(np.array_equal(found[0], other, equal_nan=True) for other in found):
            raise InputError(f"{path} is damaged: {trunk} is not the same in all layers; fetch it again.")
        weights.pop(trunk, None)
        weights |= dict.fromkeys(layers, found[0]) if found else {}
