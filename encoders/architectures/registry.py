"""All architectures. A new one needs one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from corpora.installed import deferred
from encoders.architectures.network import Network

if TYPE_CHECKING:
    from encoders.ops.base import Ops, Tensor

Architecture: TypeAlias = "Callable[[Ops, Network, Tensor, Tensor, Sequence[str]], list[Tensor]]"
"""Takes operators, the model's facts, token ids, mask and heads; returns one vector per text, (texts, width), for each
head. Of rerankers, a score per pair of texts, (texts, 1), or a vector per token, (texts, tokens, width)."""


TRANSFORMERS = "transformers"
"""Name of the architecture of networks without operators in ses, and of the runtime that runs them."""

PAIRS = "pairs"
"""Name of the architecture of cross-encoders, which score pairs of texts and make no vectors."""

SPARSE = "sparse"
"""Name of the architecture whose vectors have a weight for each token of the vocabulary."""

STATIC = "static"
"""Name of the architecture of tables (`encoders/static.py`), which have no network and so are not among these."""


def _elsewhere(ops: Ops, network: Network, ids: Tensor, mask: Tensor, heads: Sequence[str]) -> list[Tensor]:  # noqa: ARG001
    """Compute nothing: only the network's own runtime can run it. All weights count as used.

    Use it when a network of another family, such as DeBERTa, is wanted; it needs torch and transformers where it runs.
    """
    return [ops.elsewhere(TRANSFORMERS)] * len(heads)


def _architecture(module: str, function: str = "vectors") -> Architecture:
    """Return the architecture of a module, which is imported when it is used."""
    return deferred(f"encoders.architectures.{module}", function)


ARCHITECTURES: Mapping[str, Architecture] = {
    "plain": _architecture("bert"),
    "mpnet": _architecture("mpnet"),
    "modernbert": _architecture("modernbert"),
    PAIRS: _architecture("pairs", "scores"),
    "tokens": _architecture("tokens"),
    "adapters": _architecture("adapters"),
    "fusion": _architecture("adapters", "fused_vectors"),
    "pals": _architecture("pals"),
    "experts": _architecture("experts"),
    "instructions": _architecture("instructions"),
    "instruction-encoder": _architecture("instructions", "vectors_with_instructor"),
    "shared-codes": _architecture("shared_codes"),
    SPARSE: _architecture("sparse"),
    TRANSFORMERS: _elsewhere,
}
