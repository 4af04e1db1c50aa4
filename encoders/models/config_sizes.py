"""Sizes in a model's `config.json`, which may be a stranger's: they are checked before anything is built from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError

if TYPE_CHECKING:
    import numpy as np

MOST_LAYERS = 1_000
_MOST_POSITIONS = 1 << 17
_MOST = 1 << 24

_LIMITS = (("layers", MOST_LAYERS), ("position", _MOST_POSITIONS), ("", _MOST))
"""Of whole numbers, by a part of their names; the first that fits counts."""
_DIMENSION = re.compile(r"size|dim|inner|hidden|embed|ffn|model")


def check_limits(path: Path, config: Mapping[str, Any]) -> None:
    """Refuse sizes that no encoder has; each layer, and each position, takes time and memory before weights are read.

    Args:
        path: Of the `config.json`, for messages.
        config: Its content.

    Raises:
        InputError: If a number is beyond its limit.
    """
    for name, number in _numbers(config):
        limit = next(limit for part, limit in _LIMITS if part in name)
        if number > limit:
            raise InputError(
                f"{path} gives {number:.6g} for {name}, and no encoder has more than {limit:,}; "
                "fetch the model from a source you trust."
            )


def check_dimensions(name: str, config: Mapping[str, Any], weights: Mapping[str, np.ndarray]) -> None:
    """Refuse dimensions that are larger than any of the weights: a library would make them up.

    Args:
        name: Of the model, for messages.
        config: The content of its `config.json`.
        weights: Its weights.

    Raises:
        InputError: If a dimension is larger, or there are more layers than weights.
    """
    largest = max((max(array.shape, default=0) for array in weights.values()), default=0)
    for key, number in _numbers(config):
        layers = "layers" in key
        if (
            (layers or _DIMENSION.search(key))
            and "position" not in key
            and number > (len(weights) if layers else largest)
        ):
            what = f"there are {len(weights)} of them" if layers else f"their largest dimension is {largest:,}"
            raise InputError(
                f"The config.json of {name} gives {number:,} for {key}, and its weights don't fit: {what}; "
                "fetch the model again."
            )


def _numbers(config: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from _numbers(value)
        elif type(value) is int:
            yield name, value
