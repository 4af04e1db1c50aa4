"""Networks of BERT's family written as folders that transformers or SciRepEval's code loads."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.architectures.bert import layer_name
from encoders.layouts.own_card import CARD_FILE
from encoders.models.card import ModelCard
from encoders.models.folder import bert_config, read_json, write_json, writing
from encoders.models.formats import Format
from encoders.models.model import Model, Weights
from encoders.models.weights import SAFETENSORS, write_safetensors
from encoders.tokens.tokenizer import load_tokenizer

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
    """Write a network with a tokenizer, whose other settings are copied from the folder `words` that it began with."""
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


_OTHERS = {"extra_dim": None, "top": False, "bert_lay_top": False, "lhuc": False, "houlsby": False}


def write_pals(folder: Path, base: Model, weights: Weights, tasks: Sequence[Format]) -> None:
    """Write PALs, or the low-rank variant, as SciRepEval's code has them (its bert_pals.py); `tasks` are in order."""
    first = f"{layer_name(0)}.multi_layers"
    pals = f"{first}.0.attn.query.weight" in weights
    config = bert_config(base.card, weights) | _OTHERS
    config |= {"hidden_size_aug": len(weights[f"{first}.0.aug_dense.bias"]), "num_tasks": len(tasks)}
    config |= {"mult": True, "pals": pals}
    del config["model_type"]  # as in SciRepEval: by that name, transformers would load a plain BERT
    arrays = {**_pooler(base), **weights}
    if pals:
        # Its code asks for what the layers share under every name.
        parts = itertools.product(range(len(tasks)), ("aug_dense", "aug_dense2"), ("weight", "bias"))
        arrays |= {
            f"encoder.mult_{part}.{task}.{end}": weights[f"{first}.{task}.{part}.{end}"] for task, part, end in parts
        }
    card = card_of(base.card) | {"tasks": {task_format.value: number for number, task_format in enumerate(tasks)}}
    write_network(folder, arrays, config, card, base.folder, load_tokenizer(base.folder, base.card))


def _pooler(base: Model) -> Weights:
    """Return the pooler, which its code asks for and no vector depends on."""
    width = base.card.network.width
    none = {"pooler.dense.weight": np.zeros((width, width)), "pooler.dense.bias": np.zeros(width)}
    return none | {name: array for name, array in base.read().items() if name in none}
