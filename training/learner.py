"""The network, the heads and the optimizer: what a step changes and a checkpoint stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corpora.errors import require
from encoders.architectures.bert import States
from encoders.models.model import read_checked
from encoders.models.module import as_module
from training.data.packed import Packed
from training.feed import TaskBatch
from training.heads import make_heads, scores
from training.objectives.base import Inputs
from training.objectives.registry import OBJECTIVES
from training.optimizer import make_optimizer
from training.recipe import Recipe
from training.trainables.registry import TRAINABLES

if TYPE_CHECKING:
    from encoders.models.card import ModelCard
    from encoders.models.model import Model


@dataclass(frozen=True, slots=True, eq=False)
class Learner:
    """A model in training.

    Attributes:
        recipe: What is learned and how.
        card: Of the model.
        module: The network (`encoders.models.module.as_module`).
        heads: A `torch.nn.ModuleDict` of linear layers by task name, for objectives that need one.
        rows: The first trained row of each trained weight of the network; the rows before it stay as they are.
        optimizer: AdamW over what is trained.
        device: The device it computes on.
    """

    recipe: Recipe
    card: ModelCard
    module: Any
    heads: Any
    rows: Mapping[str, int]
    optimizer: Any
    device: str

    def losses(self, parts: Sequence[TaskBatch]) -> dict[str, Any]:
        """Return the mean loss of each task in a batch, weighted by the recipe.

        Args:
            parts: The examples of the batch.

        Returns:
            Scalars by task name; their sum is what is minimised (SciRepEval's training code).
        """
        found = {}
        for part in parts:
            task = self.recipe.tasks[part.task]
            inputs, objective = self.encode(part), OBJECTIVES[task.objective]
            found[task.name] = task.weight * objective.loss(inputs, {**objective.options, **task.options})
        return found

    def encode(self, part: TaskBatch) -> Inputs:
        """Return the input of a task's objective; texts of one head go through the network together."""
        task, vectors = self.recipe.tasks[part.task], dict[int, Any]()
        for texts in part.texts:
            made = self._vectors(texts.values.to(self.device), texts.mask.to(self.device), texts.head, texts.layers)
            vectors |= zip(texts.columns, made.split(len(part.targets)), strict=True)
        outputs = None
        if task.name in self.heads:
            outputs = scores(self.heads[task.name], vectors[0], self.card, training=self.module.training)
        return Inputs([vectors[column] for column in sorted(vectors)], outputs, part.targets)

    def _vectors(self, values: Any, mask: Any, head: str, layers: int) -> Any:
        """Return the vectors of token ids, or of the states of the first layers, float32 (texts, dimension).

        In chunks, only a chunk's vectors are kept until its gradients are computed, for which it goes through the
        network again: GradCache (Gao et al. 2021, arXiv:2101.06983). So the vectors alone limit the size of a batch.
        """
        import torch
        from torch.utils.checkpoint import checkpoint

        def encode(values: Any, mask: Any) -> Any:
            given = States(values.float(), layers) if layers else values
            with torch.autocast(self.device, torch.bfloat16, enabled=self.recipe.precision == "bf16"):
                (made,) = self.module(given, mask, [head])
            return made.float()

        if not self.recipe.chunk or not self.module.training:
            return encode(values, mask)
        lengths = mask.sum(dim=1)
        order = lengths.argsort(descending=True, stable=True)
        chunks = [(rows, int(lengths[rows[0]])) for rows in order.split(self.recipe.chunk)]
        made = [checkpoint(encode, values[rows, :to], mask[rows, :to], use_reentrant=False) for rows, to in chunks]
        return torch.cat(made)[order.argsort()]

    def trained(self) -> dict[str, Any]:
        """Return every tensor that training changes, by name."""
        found = {f"module.{name}": tensor for name, tensor in self.module.named_parameters() if tensor.requires_grad}
        return found | {f"heads.{name}": tensor for name, tensor in self.heads.named_parameters()}

    def weights(self) -> dict[str, Any]:
        """Return the weights of the whole network as float32 arrays."""
        named = self.module.named_parameters(remove_duplicate=False)
        return {name: tensor.detach().float().cpu().numpy() for name, tensor in named}


def make_learner(recipe: Recipe, start: Model, labels: Mapping[str, int], packs: Sequence[Packed]) -> Learner:
    """Prepare a model for training.

    Args:
        recipe: What is learned and how.
        start: The untrained model, as `Trainable.write` wrote it.
        labels: Outputs of each task's head.
        packs: Training examples of each task.

    Returns:
        The learner, on a GPU if torch finds one.

    Raises:
        InputError: If a task trains a format that the model lacks.
        UnavailableError: If torch is not installed.
    """
    weights = read_checked(start, tuple(dict.fromkeys(start.card.heads.values())))
    module = as_module(weights, start.card, dropout=recipe.dropout, recompute=recipe.activation_checkpointing)
    import torch

    trainable = TRAINABLES[recipe.trains]
    rows = trainable.trained(start.card, {**trainable.options, **recipe.options}, weights)
    require(rows, f"The recipe trains no weight of {start.card.name}; change its options.")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    module.to(device)
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(name in rows)
        if first := rows.get(name):
            parameter.register_hook(lambda gradient, first=first: _rows_from(gradient, first))
    heads = make_heads(recipe, start.card.dimension, labels, packs)
    heads.to(device)
    optimizer = make_optimizer(recipe, start.card.network.layers, module, heads, rows)
    return Learner(recipe, start.card, module, heads, rows, optimizer, device)


def _rows_from(gradient: Any, first: int) -> Any:
    """Return a gradient that leaves the rows before the first trained one as they are."""
    kept = gradient.clone()
    kept[:first] = 0
    return kept
