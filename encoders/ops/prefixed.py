"""Operators over the weights of a second network in the same model, whose names have a common prefix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from encoders.ops.base import Ops, Tensor


class PrefixedOps:
    """Runs another's operators on the weights under a prefix."""

    def __init__(self, ops: Ops, prefix: str) -> None:
        """Take the operators, and what the names of the weights begin with."""
        self._ops, self._prefix = ops, prefix

    def has(self, name: str) -> bool:
        return self._ops.has(self._prefix + name)

    def weight(self, name: str) -> Tensor:
        return self._ops.weight(self._prefix + name)

    def embed(self, ids: Tensor, name: str, rows: int | None = None) -> Tensor:
        return self._ops.embed(ids, self._prefix + name, rows)

    def linear(self, hidden: Tensor, name: str) -> Tensor:
        return self._ops.linear(hidden, self._prefix + name)

    def product(self, hidden: Tensor, name: str) -> Tensor:
        return self._ops.product(hidden, self._prefix + name)

    def norm(self, hidden: Tensor, name: str) -> Tensor:
        return self._ops.norm(hidden, self._prefix + name)

    def norm_without_bias(self, hidden: Tensor, name: str) -> Tensor:
        return self._ops.norm_without_bias(hidden, self._prefix + name)

    def distance_bias(self, ids: Tensor, name: str, rows: Sequence[int]) -> Tensor:
        return self._ops.distance_bias(ids, self._prefix + name, rows)

    def rotary_attention(
        self, hidden: Tensor, name: str, heads: int, bias: Tensor, rotation: tuple[Tensor, Tensor]
    ) -> Tensor:
        return self._ops.rotary_attention(hidden, self._prefix + name, heads, bias, rotation)

    def project(
        self, queries: Tensor, keys: Tensor, names: tuple[str, str, str], heads: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = names
        return self._ops.project(queries, keys, (self._prefix + query, self._prefix + key, self._prefix + value), heads)

    def __getattr__(self, operator: str) -> Any:
        # The others have no weights.
        return getattr(self._ops, operator)
