"""Operators that compute nothing and record which weights are used, to find missing and superfluous weights."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any


class NamesOps:
    """Notes the names of weights; every value is None."""

    def __init__(self, present: Collection[str]) -> None:
        """Take the names of the weights there are, which decide what an architecture looks for."""
        self._present = present
        self.used: dict[str, None] = {}
        self.tables: dict[str, int] = {}
        """Tables of words and positions, and how many rows the card gives them."""

    def has(self, name: str) -> bool:
        return name in self._present

    def elsewhere(self, runtime: str) -> None:
        self._use(*self._present)  # the runtime checks which of them are needed

    def embed(self, ids: None, name: str, rows: int | None = None) -> None:
        self._use(name)
        if rows is not None:
            self.tables[name] = rows

    def linear(self, hidden: None, name: str) -> None:
        self._use(f"{name}.weight", f"{name}.bias")

    def product(self, hidden: None, name: str) -> None:
        self._use(f"{name}.weight")

    def norm(self, hidden: None, name: str) -> None:
        self._use(f"{name}.weight", f"{name}.bias")

    def norm_without_bias(self, hidden: None, name: str) -> None:
        self._use(f"{name}.weight")

    def weight(self, name: str) -> None:
        self._use(name)

    def matches(self, hidden: None, table: str, bias: str) -> None:
        self._use(table, bias)

    def distance_bias(self, ids: None, name: str, rows: Sequence[int]) -> None:
        self._use(name)

    def project(self, queries: None, keys: None, names: Sequence[str], heads: int) -> tuple[None, None, None]:
        for name in names:
            self.linear(None, name)
        return None, None, None

    def rotary_attention(self, hidden: None, name: str, heads: int, bias: None, rotation: tuple[None, None]) -> None:
        self.product(None, name)

    def layer(self, compute: Callable[..., None], *states: None) -> None:
        compute(*states)

    def split(self, stacked: None, parts: int) -> list[None]:
        return [None] * parts

    def __getattr__(self, operator: str) -> Any:
        # The others have no weights.
        return lambda *_, **__: None

    def _use(self, *names: str) -> None:
        self.used.update(dict.fromkeys(names))
