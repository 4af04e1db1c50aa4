"""Late interaction: a vector of unit length for every token (Khattab and Zaharia 2020, ColBERT, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence

from encoders.architectures.network import Network
from encoders.architectures.registry import ARCHITECTURES
from encoders.ops.base import Ops, Tensor

TOKENS = "tokens"
"""Name of the only head."""

PROJECTION = "linear"
"""Name of the layer from a hidden state to a vector."""


def vectors(ops: Ops, network: Network, ids: Tensor, mask: Tensor, heads: Sequence[str]) -> list[Tensor]:
    """Return the vectors of all tokens, (texts, tokens, dimension); `network.options` names the `trunk`.

    Use it when each word of a query should find its match in a paper that is ranked again.
    """
    (states,) = ARCHITECTURES[network.options["trunk"]](ops, network, ids, mask, [TOKENS])
    projected = ops.linear(states, PROJECTION) if ops.has(f"{PROJECTION}.bias") else ops.product(states, PROJECTION)
    return [ops.l2_normalize(projected)] * len(heads)
