"""A torch module for training, with the weight names of the checkpoint and the same network as in inference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from corpora.errors import InputError
from encoders.architectures.bert import States, trunk
from encoders.architectures.registry import ARCHITECTURES
from encoders.models.card import ModelCard
from encoders.models.model import Weights
from encoders.ops.torch import TorchOps, import_torch


def as_module(weights: Weights, card: ModelCard, *, dropout: float = 0.1, recompute: bool = False) -> Any:
    """Return a model as a `torch.nn.Module` in training mode.

    Called with token ids and mask, int64 (texts, tokens), and heads, it gives a list of float32 (texts, dimension), a
    tensor for each head. Its method `trunk` returns the output of the first layers for ids and mask, which is accepted
    in place of the ids. Its state dict has the names of the weights, so that what is saved of it is a checkpoint.

    The weights from `read_checked` are copied; an array that has several names is one parameter. `dropout` is the share
    of values that are dropped in training mode. With `recompute`, layers are computed again for their gradients
    (activation checkpointing, Chen et al. 2016), which takes less memory and more time. Raises `InputError` if a weight
    can't have its name in torch, and `UnavailableError` if torch is not installed.
    """
    torch = import_torch()
    base: Any = torch.nn.Module
    facts, architecture = card.network, ARCHITECTURES[card.architecture]

    class Network(base):  # type: ignore[misc]
        """The network of a card."""

        def forward(self, ids: Any, mask: Any, heads: Sequence[str]) -> list[Any]:
            return architecture(self._ops(), facts, ids, mask, heads)

        def trunk(self, ids: Any, mask: Any, layers: int) -> States:
            return trunk(self._ops(), facts, ids, mask, layers)

        def _ops(self) -> TorchOps:
            named = dict(self.named_parameters(remove_duplicate=False))
            again = recompute and self.training
            return TorchOps(named, facts.epsilon, dropout if self.training else 0.0, recompute=again)

    module = Network()
    parameters: dict[int, Any] = {}
    for name, array in weights.items():
        if id(array) not in parameters:
            parameters[id(array)] = torch.nn.Parameter(torch.tensor(array))
        _register(torch, module, name, parameters[id(array)])
    return module


def _register(torch: Any, module: Any, name: str, parameter: Any) -> None:
    """Put a parameter where its name says: the modules between hold nothing but one another."""
    *path, last = name.split(".")
    try:
        for part in path:
            if part not in module._modules:
                module.add_module(part, torch.nn.Module())
            module = module._modules[part]
        module.register_parameter(last, parameter)
    except KeyError as error:
        # Parts of names that are the user's, such as an adapter's, may be an attribute of every module.
        raise InputError(f"The weight {name} can't be trained: {error.args[0]}; give it another name.") from error
