"""The fusions `--fusion NAME` knows: a new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from corpora.errors import InputError
from search_plugin.fusion import minmax, rrf, zscore
from search_plugin.fusion.combine import Legs
from search_plugin.legs import Fused

Fusion = Callable[[Legs, Mapping[str, float]], list[Fused]]
"""Makes one ranking of several legs, given weights by leg name."""

FUSIONS: Mapping[str, Fusion] = {"minmax": minmax.fuse, "rrf": rrf.fuse, "zscore": zscore.fuse}

DEFAULT_FUSION = "minmax"


def get_fusion(name: str) -> Fusion:
    """Return the fusion of that name, or raise `InputError` naming those there are."""
    if name not in FUSIONS:
        raise InputError(f"There is no fusion {name!r}; those there are: {', '.join(sorted(FUSIONS))}.")
    return FUSIONS[name]
