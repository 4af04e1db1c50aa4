"""The recipe that trains a format by the papers of an index; users may change it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from training.own.papers import FEWEST, LABEL, PAPERS, TEST, FieldPapers
from training.recipe import Recipe, read_variants

if TYPE_CHECKING:
    from encoders.models.model import Model

RECIPE = "recipe.toml"
"""The recipe, in the folder of the run."""

BATCH, EPOCHS, VALIDATIONS = 32, 20, 10
"""Papers of a step; the most passes over the papers, and the validations in a run."""

_VALIDATION_SHARE, _MOST_VALIDATION = 0.15, 500
_ADAPTED, _TOKENS = 2, 128


def adapted_layers(base: Model) -> int:
    """Return how many of the last layers of a network get an adapter."""
    return min(_ADAPTED, base.card.network.layers)


def field_recipe(
    index: str, papers: FieldPapers, base: Model, model: Model | None = None, *, limit: int = 0, steps: int = 0
) -> str:
    """Return a recipe in TOML: adapters in the last layers, for one format.

    `index` is the name of the index, `model` its model, and `base` the plain network under that. If they are one, the
    new model has the base's own vectors too, for searches. At most `limit` papers are trained on in `steps` steps,
    where these are known.
    """
    similarity = model.card.similarity if model else base.card.similarity
    alone = model is None or model.card.architecture == base.card.architecture
    share = min(_VALIDATION_SHARE, _MOST_VALIDATION / papers.train)
    number = papers.task == "number"
    builder = "numbers" if number else "labels"
    options = f'field = "{LABEL}"' + (', scale = "standard"' if number else f", fewest = {FEWEST}")
    settings = [
        *(['plain = ["prx", "qry"]  # as in the index'] if alone else []),
        *([f'similarity = "{similarity}"  # as in the index'] if similarity != base.card.similarity else []),
        "learning_rate = 1e-3",
        *_pace(EPOCHS, steps, min(_TOKENS, base.card.max_tokens)),
        *(['keep_states = "states"'] if adapted_layers(base) < base.card.network.layers else []),
        "group_by_length = true",
        f'guard = ["{TEST}"]  # the papers that only measure',
    ]
    task = [
        f'name = "{papers.field}"',
        f'format = "{papers.format.value}"',
        *(["multi_label = true"] if papers.task == "labels" else []),
        *([f"limit = {limit}"] if limit else []),
        "",
        "[tasks.build]",
        f'builder = "{builder}"',
        f'papers = ["{PAPERS}"]',
        f"validation = {share:.3g}",
        f"options = {{{options}}}",
    ]
    comments = [
        f"# The format {papers.format} by the field {papers.field} of the index {index}.",
        "# It can be changed and trained again, into another folder.",
    ]
    return _adapter_recipe(comments, base, settings, task)


_QUERY_TOKENS, _QUERY_EPOCHS = 64, 100


def queries_recipe(index: str, base: Model, *, steps: int = 0) -> str:
    """Return a recipe in TOML: an adapter for queries in the last layers, trained to target vectors.

    `index` is the name of the index, and `base` the plain network under its model.
    """
    pace = _pace(_QUERY_EPOCHS, steps, min(_QUERY_TOKENS, base.card.max_tokens))
    settings = ['plain = ["prx"]', "learning_rate = 5e-4", *pace]
    task = [
        'name = "queries"',
        'type = "vectors"',
        'train = "train.jsonl"',
        'validation = "validation.jsonl"',
        'format = "qry"',
    ]
    return _adapter_recipe([f"# Queries of the index {index}; papers keep their vectors."], base, settings, task)


def _pace(epochs: int, steps: int, tokens: int) -> list[str]:
    """Return the settings that decide how long a run takes; 0 steps if their number is not known yet."""
    limited = [f"steps = {steps}", f"validate_every = {max(1, steps // VALIDATIONS)}", "patience = 3"] if steps else []
    return [
        "warmup = 0.1",
        "weight_decay = 0.01",
        f"batch_size = {BATCH}",
        f"epochs = {epochs}",
        *limited,
        f"max_tokens = {tokens}",
    ]


def _adapter_recipe(comments: Sequence[str], base: Model, settings: Sequence[str], task: Sequence[str]) -> str:
    name = json.dumps(base.card.name, ensure_ascii=False)
    options = ["[options]", f"layers = {adapted_layers(base)}", "reduction = 2", "identity = 1"]
    begun = [*comments, f"base = {name}", 'trains = "adapters"', *settings]
    return "\n".join([*begun, "", *options, "", "[[tasks]]", *task]) + "\n"


def write_recipe(folder: Path, text: str) -> Recipe:
    """Write a recipe into the folder of a run, and return it as it is read."""
    (folder / RECIPE).write_text(text, encoding="utf-8")
    return read_variants(folder / RECIPE)[""]
