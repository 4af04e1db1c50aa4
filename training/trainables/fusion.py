"""Fusion over the frozen adapters of an earlier run (SciRepEval section 4.3; Pfeiffer et al. 2021).

The recipe's base is that run's model. As in AdapterHub's library, queries and keys start as N(0, 0.02), and values as
the identity with 1e-6 beside the diagonal. The folder has the form of SciRepEval's training: `adapters/[PRX]/` and
`[PRX]_fusion/`, and each fusion names its own adapter first.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corpora.errors import InputError
from corpora.lazy import np
from encoders.layouts.adapter_files import FUSIONS, prefix_of
from encoders.layouts.adapter_writing import write_adapter, write_fusion
from encoders.models.formats import Format
from encoders.models.model import Model, Weights
from training.trainables.base import Trainable, TrainableOptions, named, new_linear, write_card

_BESIDE = 1e-6


def _start(base: Model, formats: Sequence[Format], options: TrainableOptions, seed: int) -> dict[str, Any]:  # noqa: ARG001
    card, network, draw = base.card, base.card.network, np.random.default_rng(seed)
    weights: dict[str, Any] = {}
    adapters = network.options["adapters"]
    if any("scaling" not in facts or "activation" not in facts for facts in adapters.values()):
        raise InputError(f"{card.name} has adapters that are no bottlenecks, and only bottlenecks can be fused.")
    for task_format in formats:
        if card.head(task_format) not in adapters:
            raise InputError(f"{card.name} has no adapter for {task_format}, with which its fusion begins.")
        for number in range(network.shared_layers, network.layers):
            name = prefix_of(number, FUSIONS[0], task_format.value)
            for part in ("query", "key"):
                weights |= new_linear(draw, f"{name}{part}", network.width, network.width)
            weights[f"{name}value.weight"] = np.where(np.eye(network.width) == 1, 1, _BESIDE).astype(np.float32)
    return weights


def _write(base: Model, formats: Sequence[Format], weights: Weights, folder: Path) -> None:
    heads, plain, facts = base.card.heads, (base.base or base).card, base.card.network.options["adapters"]
    codes = {head: Format(head).code for head in sorted(facts)}
    for head, code in codes.items():
        write_adapter(folder / "adapters" / code, weights, head, name=code, base=plain, **facts[head])
    for task_format in formats:
        own = codes[heads[task_format]]
        names = [own, *(code for code in codes.values() if code != own)]
        write_fusion(folder / f"{task_format.code}_fusion", weights, task_format, adapters=names, base=plain)
    card = {
        "architecture": "fusion",
        "base": plain.name,
        "adapters": {task_format: f"adapters/{codes[head]}" for task_format, head in heads.items() if head in codes},
        "fusions": {task_format: f"{task_format.code}_fusion" for task_format in formats},
    }
    write_card(folder, card)


FUSION = Trainable({}, _write, named(f".{FUSIONS[0]}."), _start, bases=("adapters",))
