"""A network that ses has no operators for, and that its own library runs: `encoders.runtimes.transformers`."""

from __future__ import annotations

from collections.abc import Sequence

from encoders.architectures.bert import Network
from encoders.ops.base import Ops, Tensor

ARCHITECTURE = "transformers"
"""Its name, and that of the runtime."""


def vectors(ops: Ops, network: Network, ids: Tensor, mask: Tensor, heads: Sequence[str]) -> list[Tensor]:  # noqa: ARG001
    """Return nothing that could be computed: every weight is used, and only its own runtime knows how."""
    return [ops.elsewhere(ARCHITECTURE)] * len(heads)
