"""Adapter fusion: each head attends to the outputs of all adapters (SciRepEval section 4.3; Pfeiffer et al. 2021).

With u_j the output of adapter j: c = sum over j of softmax_j(q . k_j) v_j, q = Wq n, k_j = Wk u_j, v_j = Wv u_j, and
the layer gives LN(c + h + x), with n, h and x as for adapters.
"""

from __future__ import annotations

from collections.abc import Sequence

from encoders.architectures.adapters import adapted_layer, bottleneck
from encoders.architectures.bert import layer_name, run
from encoders.architectures.network import Network
from encoders.ops.base import Ops, Tensor


def vectors(ops: Ops, network: Network, ids: Tensor, mask: Tensor, heads: Sequence[str]) -> list[Tensor]:
    """Return one vector per text for each head, which is the name of its fusion."""

    def fused(number: int, head: str, normal: Tensor) -> Tensor | None:
        adapters = f"{layer_name(number)}.output.adapters"
        present = [one for one in network.options["adapters"] if ops.has(f"{adapters}.{one}.adapter_down.0.weight")]
        if not present:
            return None
        brought = [bottleneck(ops, network, number, adapter, normal) for adapter in present]
        name = f"{layer_name(number)}.output.adapter_fusion_layer.{head}"
        query = ops.linear(normal, f"{name}.query")
        scores = [ops.dot(query, ops.linear(states, f"{name}.key")) for states in brought]
        return ops.blend(scores, [ops.product(states, f"{name}.value") for states in brought])

    return run(ops, network, ids, mask, heads, adapted_layer(ops, network, heads, mask, fused))
