"""The available fusions: a new one is one file and one line here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

from corpora.errors import InputError
from search_plugin.contract.legs import Fused
from search_plugin.fusion import minmax, rrf, zscore
from search_plugin.fusion.combine import Legs

Fusion = Callable[[Legs, Mapping[str, float]], list[Fused]]
"""Combines several legs into one ranking, given weights by leg name."""

FUSIONS: Mapping[str, Fusion] = {"minmax": minmax.fuse, "rrf": rrf.fuse, "zscore": zscore.fuse}

DEFAULT_FUSION = "minmax"

RANKED = "rrf"
"""The fusion that takes a rank constant."""

LARGEST_CONSTANT = 100_000

_WITH_CONSTANT = re.compile(rf"{RANKED}@([1-9]\d{{0,5}})", re.ASCII)


def get_fusion(name: str) -> Fusion:
    """Return the fusion of that name, or raise `InputError` that names the available ones."""
    if name not in FUSIONS:
        raise InputError(f"There is no fusion {name!r}; choose one of {', '.join(sorted(FUSIONS))}.")
    return FUSIONS[name]


def fusion_of(name: str) -> Fusion:
    """Return a fusion by its name, `rrf` also with a rank constant behind it, such as `rrf@20`.

    Args:
        name: As the user gave it.

    Returns:
        The fusion.

    Raises:
        InputError: If there is none of that name.
    """
    match = _WITH_CONSTANT.fullmatch(name)
    if match is None or int(match[1]) > LARGEST_CONSTANT:
        return get_fusion(name)
    return partial(rrf.fuse, k=int(match[1]))
