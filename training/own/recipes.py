"""The recipe that trains a format by the papers of an index; users may change it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from encoders.models.formats import Format
from training.own.papers import FEWEST, LABEL, PAPERS, TEST, FieldPapers

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
    layers = base.card.network.layers
    adapted = adapted_layers(base)
    number = papers.task == "number"
    builder = "numbers" if number else "labels"
    options = f'field = "{LABEL}"' + (', scale = "standard"' if number else f", fewest = {FEWEST}")
    plain = ", ".join(f'"{one.value}"' for one in (Format.PRX, Format.QRY))
    lines = [
        f"# The format {papers.format} by the field {papers.field} of the index {index}.",
        "# It can be changed and trained again, into another folder.",
        f"base = {json.dumps(base.card.name, ensure_ascii=False)}",
        'trains = "adapters"',
        *([f"plain = [{plain}]  # as in the index"] if alone else []),
        *([f'similarity = "{similarity}"  # as in the index'] if similarity != base.card.similarity else []),
        "learning_rate = 1e-3",
        "warmup = 0.1",
        "weight_decay = 0.01",
        f"batch_size = {BATCH}",
        f"epochs = {EPOCHS}",
        *([f"steps = {steps}", f"validate_every = {max(1, steps // VALIDATIONS)}", "patience = 3"] if steps else []),
        f"max_tokens = {min(_TOKENS, base.card.max_tokens)}",
        *(['keep_states = "states"'] if adapted < layers else []),
        "group_by_length = true",
        f'guard = ["{TEST}"]  # the papers that only measure',
        "",
        "[options]",
        f"layers = {adapted}",
        "reduction = 2",
        "identity = 1",
        "",
        "[[tasks]]",
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
    return "\n".join(lines) + "\n"


_QUERY_TOKENS, _QUERY_EPOCHS = 64, 100


def queries_recipe(index: str, base: Model, *, steps: int = 0) -> str:
    """Return a recipe in TOML: an adapter for queries in the last layers, trained to target vectors.

    `index` is the name of the index, and `base` the plain network under its model.
    """
    lines = [
        f"# Queries of the index {index}; papers keep their vectors.",
        f"base = {json.dumps(base.card.name, ensure_ascii=False)}",
        'trains = "adapters"',
        'plain = ["prx"]',
        "learning_rate = 5e-4",
        "warmup = 0.1",
        "weight_decay = 0.01",
        f"batch_size = {BATCH}",
        f"epochs = {_QUERY_EPOCHS}",
        *([f"steps = {steps}", f"validate_every = {max(1, steps // VALIDATIONS)}", "patience = 3"] if steps else []),
        f"max_tokens = {min(_QUERY_TOKENS, base.card.max_tokens)}",
        "",
        "[options]",
        f"layers = {adapted_layers(base)}",
        "reduction = 2",
        "identity = 1",
        "",
        "[[tasks]]",
        'name = "queries"',
        'type = "vectors"',
        'train = "train.jsonl"',
        'validation = "validation.jsonl"',
        'format = "qry"',
    ]
    return "\n".join(lines) + "\n"
