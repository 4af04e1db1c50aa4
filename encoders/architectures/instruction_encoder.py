"""Instructions read by a separate network (SciMult section 3.3, the second way: SciMult-Prefix).

The texts' network is frozen and only the instructions' encoder is trained, or the reverse (UniPR's option
`fix_instruct_encoder`). All else is as in `instructions`: the states of the other network at each layer stand before
the keys and values of that layer.
"""

from __future__ import annotations

from collections.abc import Sequence

from encoders.architectures.bert import run
from encoders.architectures.instructions import instructed_layer
from encoders.architectures.network import Network
from encoders.ops.base import Ops, Tensor
from encoders.ops.prefixed import PrefixedOps

INSTRUCTOR = "instructor."
"""Prefix of the names of the weights that read instructions."""


def vectors(ops: Ops, network: Network, ids: Tensor, mask: Tensor, heads: Sequence[str]) -> list[Tensor]:
    """Return one vector per text for each head, which is the name of its instruction."""
    instructor = PrefixedOps(ops, INSTRUCTOR)
    return run(ops, network, ids, mask, heads, instructed_layer(ops, network, heads, instructor))
