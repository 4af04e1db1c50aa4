"""PALs written as the state dict and the `config.json` that SciRepEval's code has (its bert_pals.py)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from encoders.architectures.bert import layer_name
from encoders.layouts.write_network import bert_config, card_of, write_network
from encoders.models.formats import Format
from encoders.models.model import Model, Weights
from encoders.tokens.tokenizer import load_tokenizer

_OTHERS = {"extra_dim": None, "top": False, "bert_lay_top": False, "lhuc": False, "houlsby": False}


def write_pals(folder: Path, base: Model, weights: Weights, tasks: Sequence[Format]) -> None:
    """Write a model with PALs, or with the low-rank variant.

    Args:
        folder: Where to; made if it is not there.
        base: The plain network that it began with.
        weights: Of the whole model, under the names of its architecture.
        tasks: What each numbered task serves, in order.

    Raises:
        UnavailableError: If the folder can't be written.
    """
    first = f"{layer_name(0)}.multi_layers"
    pals = f"{first}.0.attn.query.weight" in weights
    config = bert_config(base.card, weights) | _OTHERS
    config |= {"hidden_size_aug": len(weights[f"{first}.0.aug_dense.bias"]), "num_tasks": len(tasks)}
    config |= {"mult": True, "pals": pals}
    del config["model_type"]  # as there: by that name, transformers would load a plain BERT
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
    import numpy as np

    width = base.card.network.width
    none = {"pooler.dense.weight": np.zeros((width, width)), "pooler.dense.bias": np.zeros(width)}
    return none | {name: array for name, array in base.read().items() if name in none}
