"""Checks of a network of transformers before it is used: weights, positions and mask.

Each raises `InputError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from encoders.models.card import ModelCard
    from encoders.runtimes.base import RuntimeSource


def check_weights(card: ModelCard, model: Any, names: set[str], told: Mapping[str, Any]) -> None:
    """Check that weights and `config.json` fit one another, by what the library missed or did not use."""
    missing = [name for name in told["missing_keys"] if "pooler" not in name]  # no vector depends on a pooler
    if missing:
        raise InputError(f"The weights of {card.name} don't fit its config.json: they lack {', '.join(missing[:5])}.")
    # What stands beside the encoder's own prefix is a task's head. Without that prefix all should be the encoder's.
    prefix = f"{model.base_model_prefix}."
    bare = not any(name.startswith(prefix) for name in names)
    surplus = [
        name
        for name in sorted(told["unexpected_keys"])
        if (bare or name.startswith(prefix) or f"{prefix}{name}" in names)
        and not any(part in name for part in ("pooler", "position_ids"))
    ]
    if surplus:
        raise InputError(f"The weights of {card.name} don't fit its config.json: they hold {', '.join(surplus[:5])}.")


def check_positions(card: ModelCard, model: Any) -> None:
    """Check that the longest text has a row of the position table for each token."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and hasattr(module, "num_embeddings"):
            kept = 0 if module.padding_idx is None else module.padding_idx + 1
            longest = module.num_embeddings - kept
            if longest < card.max_tokens:
                raise InputError(
                    f"{card.name} takes {longest} tokens, not {card.max_tokens}; "
                    f'put {{"max_tokens": {longest}}} into a ses_card.json in its folder.'
                )


def check_padding(source: RuntimeSource, states: Callable[[np.ndarray, np.ndarray], np.ndarray], alike: float) -> None:
    """Check that a text's states don't depend on the other texts of a batch: some networks don't mask padding."""
    import numpy as np

    shortest = source.samples[-1]
    length = min(int(shortest.mask[-1].sum()), source.card.max_tokens - 1)
    ids, mask = shortest.ids[-1:, :length], np.ones((1, length), dtype=np.int64)
    padding = ((0, 0), (0, min(7, source.card.max_tokens - length)))
    alone, padded = states(ids, mask), states(np.pad(ids, padding), np.pad(mask, padding))[:, :length]
    if not np.abs(padded - alone).max() < alike * max(1.0, float(np.abs(alone).max())):
        raise InputError(
            f"{source.card.name} gives a text other vectors beside longer texts than alone: {source.card.family} "
            "models have no mask for padding, or draw by chance; choose another model."
        )
