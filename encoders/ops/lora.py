"""Low-rank adaptation and (IA)^3: what a head changes of the linear layers that all heads share.

LoRA gives W x + b + s B A x, with A of few rows (Hu et al. 2021, section 4.1); (IA)^3 gives l * (W x + b), element by
element (Liu et al. 2022, section 3.3). The products with W are computed once for all heads together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from encoders.ops.base import Ops, Tensor


def lora_name(linear: str, head: str) -> str:
    """Return the prefix of what a head changes of a linear layer."""
    return f"{linear}.loras.{head}"


class LoraOps:
    """The operators, whose linear layers are changed as each head's adapter says."""

    def __init__(self, ops: Ops, width: int, scalings: Mapping[str, float]) -> None:
        """Take the operators, the queries' width, and s for each head in the order of their stacked texts."""
        self._ops, self._width, self._scalings, self._heads = ops, width, scalings, list(scalings)

    def linear(self, hidden: Tensor, name: str) -> Tensor:
        return self._changed(hidden, name, self._ops.linear(hidden, name), 1.0)

    def project(
        self, queries: Tensor, keys: Tensor, names: tuple[str, str, str], heads: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = self._ops.project(queries, keys, names, heads)
        root = (self._width // heads) ** 0.5  # queries come divided by it
        return (
            self._changed(queries, names[0], query, 1 / root),
            self._changed(keys, names[1], key, 1.0),
            self._changed(keys, names[2], value, 1.0),
        )

    def __getattr__(self, operator: str) -> Any:
        return getattr(self._ops, operator)

    def _changed(self, hidden: Tensor, name: str, brought: Tensor, factor: float) -> Tensor:
        ops, heads = self._ops, self._heads
        if not any(ops.has(f"{lora_name(name, head)}.{part}") for head in heads for part in ("scale", "lora_B.weight")):
            return brought
        own = zip(heads, ops.split(hidden, len(heads)), ops.split(brought, len(heads)), strict=True)
        return ops.stack([self._of_head(name, head, states, part, factor) for head, states, part in own])

    def _of_head(self, linear: str, head: str, hidden: Tensor, brought: Tensor, factor: float) -> Tensor:
        ops, name = self._ops, lora_name(linear, head)
        scaling = self._scalings[head]
        if ops.has(f"{name}.scale"):
            scaled = ops.times(brought, ops.weight(f"{name}.scale"))
            return scaled if scaling == 1 else ops.scale(scaled, scaling)
        if not ops.has(f"{name}.lora_B.weight"):
            return brought
        # Scaled where it is narrow.
        low = ops.scale(ops.product(hidden, f"{name}.lora_A"), scaling * factor)
        return ops.add(brought, ops.product(low, f"{name}.lora_B"))
