"""The network, the heads and the optimizer: what a step changes and a checkpoint stores.

A head is a linear layer on top of its vectors for each task that needs one (SciRepEval's training code). Heads are
removed after training, except those kept for tags and forecasts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corpora.errors import require
from corpora.lazy import np, torch
from encoders.architectures.bert import States
from encoders.heads import Head
from encoders.models.card import ModelCard
from encoders.models.model import Model, read_checked
from encoders.models.module import as_module
from training.batches import TaskBatch
from training.data.packed import Packed
from training.objectives import OBJECTIVES, Inputs
from training.recipe import Recipe
from training.trainables.registry import TRAINABLES


@dataclass(frozen=True, slots=True, eq=False)
class Learner:
    """A model in training.

    Attributes:
        recipe: What is learned and how.
        card: Card of the model.
        module: The network (`encoders.models.module.as_module`).
        heads: Linear layers by task name, for objectives that need one; torch's own table refuses some names.
        rows: The first trained row of each trained weight of the network; the rows before it stay as they are.
        optimizer: AdamW over what is trained.
        device: The device it computes on.
    """

    recipe: Recipe
    card: ModelCard
    module: Any
    heads: Mapping[str, Any]
    rows: Mapping[str, int]
    optimizer: Any
    device: str

    def losses(self, parts: Sequence[TaskBatch]) -> dict[str, Any]:
        """Return the mean loss of each task in a batch, weighted by the recipe, as scalars by task name.

        Their sum is what is minimised (SciRepEval's training code).
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
        from torch.utils.checkpoint import checkpoint

        def encode(values: Any, mask: Any) -> Any:
            given = States(values.float(), layers) if layers else values
            with torch.autocast(self.device, torch.bfloat16, enabled=self.recipe.precision == "bf16"):
                (made,) = self.module(given, mask, [head])
            return made.float()

        if not self.recipe.chunk or not self.module.training:
            return encode(values, mask)
        lengths = (mask > 0).sum(dim=1)  # of pairs, the second text has 2
        order = lengths.argsort(descending=True, stable=True)
        chunks = [(rows, int(lengths[rows[0]])) for rows in order.split(self.recipe.chunk)]
        made = [checkpoint(encode, values[rows, :to], mask[rows, :to], use_reentrant=False) for rows, to in chunks]
        return torch.cat(made)[order.argsort()]

    def trained(self) -> dict[str, Any]:
        """Return every tensor that training changes, by name."""
        found = {f"module.{name}": tensor for name, tensor in self.module.named_parameters() if tensor.requires_grad}
        heads = ((name, *named) for name, head in self.heads.items() for named in head.named_parameters())
        return found | {f"heads.{name}.{part}": tensor for name, part, tensor in heads}

    def weights(self) -> dict[str, Any]:
        """Return the weights of the whole network as float32 arrays."""
        named = self.module.named_parameters(remove_duplicate=False)
        return {name: tensor.detach().float().cpu().numpy() for name, tensor in named}


def make_learner(recipe: Recipe, start: Model, labels: Mapping[str, int], packs: Sequence[Packed]) -> Learner:
    """Prepare the untrained model of a recipe for training, on a GPU if torch finds one.

    `start` is the untrained model, as `Trainable.write` wrote it; `labels` are the number of outputs of each task's
    head, and `packs` the training examples of each task. Raises `InputError` if a task trains a format that the model
    lacks, and `UnavailableError` if torch is not installed.
    """
    weights = read_checked(start, tuple(dict.fromkeys(start.card.heads.values())))
    module = as_module(weights, start.card, dropout=recipe.dropout, recompute=recipe.activation_checkpointing)
    trainable = TRAINABLES[recipe.trains]
    rows = trainable.trained(start.card, {**trainable.options, **recipe.options}, weights)
    require(rows, f"The recipe trains no weight of {start.card.name}; change its options.")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    module.to(device)
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(name in rows)
        if first := rows.get(name):
            parameter.register_hook(lambda gradient, first=first: _rows_from(gradient, first))
    heads = {name: head.to(device) for name, head in make_heads(recipe, start.card.dimension, labels, packs).items()}
    optimizer = make_optimizer(recipe, start.card.network.layers, module, heads, rows)
    return Learner(recipe, start.card, module, heads, rows, optimizer, device)


def _rows_from(gradient: Any, first: int) -> Any:
    """Return a gradient that leaves the rows before the first trained one as they are."""
    kept = gradient.clone()
    kept[:first] = 0
    return kept


_DROPOUT = 0.2
_DEVIATION = 0.02


def make_heads(recipe: Recipe, dimension: int, outputs: Mapping[str, int], packs: Sequence[Packed]) -> dict[str, Any]:
    """Make the heads of a recipe's tasks, N(0, 0.02): linear layers by task name.

    `outputs` has the number of outputs of each head, `packs` the training examples of each task. Several labels start
    at their log odds in the training examples (Lin et al. 2017, section 3.3), and numbers at their median: from 0, the
    first thousand steps would learn only these. Biases of single classes start at 0.
    """
    torch.manual_seed(recipe.seed)
    heads = {}
    for task, packed in zip(recipe.tasks, packs, strict=True):
        objective = OBJECTIVES[task.objective]
        if not objective.head:
            continue
        head = torch.nn.Linear(dimension, outputs[task.name])
        torch.nn.init.normal_(head.weight, std=_DEVIATION)
        torch.nn.init.zeros_(head.bias)
        with torch.no_grad():
            if task.multi_label:
                head.bias.copy_(torch.from_numpy(_log_odds(packed, outputs[task.name])))
            elif task.type == "regression":
                head.bias.fill_(float(np.median(packed.targets)))
        heads[task.name] = head
    return heads


def scores(head: Any, vectors: Any, card: ModelCard, *, training: bool) -> Any:
    """Return a head's outputs, float32 (texts, outputs).

    Vectors of unit length are first scaled to the length of a layer-normalized state, the square root of the
    dimension, for which the heads' start and learning rate are meant.
    """
    dropped = torch.nn.functional.dropout(vectors, _DROPOUT, training)
    return head(dropped * math.sqrt(card.dimension) if card.network.normalize else dropped)


def kept_heads(
    recipe: Recipe, heads: Mapping[str, Any], card: ModelCard, labels: Mapping[str, Sequence[str]]
) -> list[Head]:
    """Return the trained heads that the recipe keeps, for vectors as the model gives them.

    The scale of unit vectors is in their weights. `labels` has the labels of each classification task.
    """
    length = math.sqrt(card.dimension) if card.network.normalize else 1.0
    found = []
    for task in recipe.tasks:
        if task.keep_head:
            weight, bias = (one.detach().cpu().numpy() for one in (heads[task.name].weight, heads[task.name].bias))
            found.append(Head(task.name, task.format, labels[task.name], task.multi_label, weight * length, bias))
    return found


def _log_odds(packed: Packed, labels: int) -> Any:
    found = np.bincount(packed.targets.astype(np.int64), minlength=labels)
    # One paper with each label and one without are added, so that no odds are infinite.
    return (np.log(found + 1) - np.log(len(packed) - found + 1)).astype(np.float32)


_LAYER = re.compile(r"(?:^|\.)layers?\.(\d+)\.")
_ABOVE = 2
"""How many layers the input and the heads count as, as in SciMult's code (get_layer_lrs of models/optimization.py)."""


def make_optimizer(recipe: Recipe, layers: int, module: Any, heads: Mapping[str, Any], rows: Mapping[str, int]) -> Any:
    """Return `torch.optim.AdamW`; each of its groups has the `share` of the learning rate that its tensors get.

    Lower layers take smaller steps if the recipe asks for them. Biases and the weights of normalization are not decayed
    (Devlin et al. 2019). `rows` has the first trained row of each trained weight of the network.
    """
    groups: dict[tuple[float, float], dict[str, Any]] = {}
    parts = [(tensor, _depth(name, layers), rows[name]) for name, tensor in module.named_parameters() if name in rows]
    above = ((tensor, layers + _ABOVE, 0) for head in heads.values() for tensor in head.parameters())
    for tensor, depth, first in [*parts, *above]:
        # Weight decay would change the rows that must not change.
        decay = recipe.weight_decay if tensor.dim() > 1 and not first else 0.0
        share = recipe.layer_decay ** (layers + _ABOVE - depth)
        group = groups.setdefault((share, decay), {"params": [], "share": share, "weight_decay": decay})
        group["params"].append(tensor)
    return torch.optim.AdamW(list(groups.values()), lr=recipe.learning_rate, eps=1e-8)


def _depth(name: str, layers: int) -> int:
    """Return the height of a weight: 0 for the input, 1 for the first layer, and so on."""
    if layer := _LAYER.search(name):
        return int(layer[1]) + 1
    return 0 if "embeddings" in name.split(".") else layers + _ABOVE
