"""A network without operators in ses, which its own library runs: `encoders.runtimes.transformers`."""

from __future__ import annotations

from collections.abc import Sequence

from encoders.architectures.network import Network
from encoders.ops.base import Ops, Tensor

ARCHITECTURE = "transformers"
"""Name of the architecture and of its runtime."""


def vectors(ops: Ops, network: Network, ids: Tensor, mask: Tensor, heads: Sequence[str]) -> list[Tensor]:  # noqa: ARG001
    """Compute nothing: only the network's own runtime can run it. All weights count as used."""
    return [ops.elsewhere(ARCHITECTURE)] * len(heads)
