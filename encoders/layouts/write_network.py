"""A network of BERT's family written as a folder that transformers loads."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from encoders.layouts.own_card import CARD_FILE
from encoders.layouts.write_files import write_json, write_safetensors, writing
from encoders.models.card import ModelCard
from encoders.models.json_files import read_json
from encoders.models.model import Weights
from encoders.models.weights import SAFETENSORS

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_ADDED = "additional_special_tokens"
_OF_WORDS = ("tokenizer_config.json", "special_tokens_map.json", "vocab.txt")


def write_network(
    folder: Path,
    weights: Weights,
    config: Mapping[str, Any],
    card: Mapping[str, Any],
    words: Path,
    tokenizer: Tokenizer,
    added: Sequence[str] = (),
) -> None:
    """Write a network with its tokenizer.

    Args:
        folder: Where to; made if it is not there.
        weights: All that its file shall hold.
        config: Of its `config.json`.
        card: What its own card sets.
        words: Folder of the tokenizer that it began with, whose settings are copied.
        tokenizer: Its own.
        added: Special tokens that it has beside those that it began with.

    Raises:
        UnavailableError: If the folder can't be written.
    """
    with writing(folder):
        for file in _OF_WORDS:
            if (words / file).is_file():
                shutil.copyfile(words / file, folder / file)
        if added:
            # The slow tokenizers of transformers 4 don't read tokenizer.json.
            path = folder / _OF_WORDS[0]
            settings = read_json(path, dict, missing={})
            write_json(path, settings | {_ADDED: [*settings.get(_ADDED, ()), *added]})
        tokenizer.save(str(folder / "tokenizer.json"))
        write_json(folder / "config.json", config)
        write_json(folder / CARD_FILE, card)
        write_safetensors(folder / SAFETENSORS, weights)


def bert_config(card: ModelCard, weights: Weights) -> dict[str, Any]:
    """Return the `config.json` of a plain network, as its card and its weights have it."""
    network = card.network
    return {
        "model_type": card.family,
        "hidden_size": network.width,
        "num_hidden_layers": network.layers,
        "num_attention_heads": network.attention_heads,
        "intermediate_size": len(weights["encoder.layer.0.intermediate.dense.bias"]),
        "hidden_act": "gelu",
        "layer_norm_eps": network.epsilon,
        "max_position_embeddings": network.positions,
        "type_vocab_size": len(weights["embeddings.token_type_embeddings.weight"]),
        "vocab_size": len(weights["embeddings.word_embeddings.weight"]),
        "pad_token_id": max(0, network.first_position - 1),
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
        "initializer_range": 0.02,
    }


def card_of(card: ModelCard) -> dict[str, Any]:
    """Return what a folder's own card must set so that its vectors are made and compared as a model's are."""
    return {
        "pooling": card.network.pooling,
        "normalize": card.network.normalize,
        "similarity": card.similarity,
        "separator": card.separator,
        "empty_parts": card.empty_parts,
        "max_tokens": card.max_tokens,
        "prompts": {str(task_format): prompt for task_format, prompt in card.prompts.items()},
    }
