"""The operators in torch: for training, for GPUs, and for code that needs autograd.

States are of the weights' type, float32 or bfloat16; vectors are float32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from corpora.installed import extra, needing
from corpora.lazy import np
from encoders.ops.base import MASKED, Activation, not_in_operators


def import_torch() -> Any:
    """Return the module torch, or raise `UnavailableError`: the one place where ses needs it."""
    with needing("torch is not installed", extra("train")):
        import torch
    return torch


class TorchOps:
    """Runs operators on tensors by name, which may be a module's parameters."""

    def __init__(
        self, weights: Mapping[str, Any], epsilon: float, dropout: float = 0.0, *, recompute: bool = False
    ) -> None:
        """Take what a model needs.

        Args:
            weights: Tensors on one device.
            epsilon: Epsilon of layer normalization.
            dropout: Share of values to drop.
            recompute: Whether a layer is computed again for its gradients, so that only its input is kept until then.
        """
        torch = import_torch()
        self._torch, self._functional = torch, torch.nn.functional
        self._weights, self._epsilon, self._dropout = weights, epsilon, dropout
        self._recompute = recompute
        self._device = next(iter(weights.values())).device

    def has(self, name: str) -> bool:
        return name in self._weights

    def constant(self, values: Sequence[Any]) -> Any:
        return self._torch.tensor(values, dtype=self._torch.int64, device=self._device)

    def elsewhere(self, runtime: str) -> Any:
        raise not_in_operators(runtime)

    def positions(self, ids: Any, first: int) -> Any:
        return self._torch.arange(first, first + ids.shape[1], device=self._device)[None]

    def embed(self, ids: Any, name: str, rows: int | None = None) -> Any:
        table = self._weights[name]
        if rows not in (None, len(table)):
            raise ValueError(f"{len(table)} rows in {name}, not {rows}")
        return self._functional.embedding(ids, table)

    def leading(self, ids: Any, table: np.ndarray) -> Any:
        return self._torch.tensor(table[: ids.shape[1]], dtype=self._torch.float32, device=self._device)

    def expand(self, hidden: Any, like: Any) -> Any:
        return hidden.expand(like.shape[0], -1, -1)

    def linear(self, hidden: Any, name: str) -> Any:
        return self._functional.linear(hidden, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def product(self, hidden: Any, name: str) -> Any:
        return self._functional.linear(hidden, self._weights[f"{name}.weight"])

    def norm(self, hidden: Any, name: str) -> Any:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        return self._functional.layer_norm(hidden, weight.shape, weight, bias, self._epsilon)

    def norm_without_bias(self, hidden: Any, name: str) -> Any:
        weight = self._weights[f"{name}.weight"]
        return self._functional.layer_norm(hidden, weight.shape, weight, None, self._epsilon)

    def dropout(self, hidden: Any) -> Any:
        return self._functional.dropout(hidden, self._dropout) if self._dropout else hidden

    def layer(self, compute: Callable[..., Any], *states: Any) -> Any:
        if not self._recompute:
            return compute(*states)
        from torch.utils.checkpoint import checkpoint

        # With the same dropout, and the precision of the first time.
        return checkpoint(compute, *states, use_reentrant=False)

    def activate(self, hidden: Any, kind: Activation) -> Any:
        if kind == "tanh":
            return hidden.tanh()
        # PyTorch's default slope of leaky_relu is ONNX's too.
        return getattr(self._functional, kind)(hidden)

    def gated_unit(self, hidden: Any, kind: Activation) -> Any:
        activated, gate = hidden.chunk(2, dim=-1)
        return self.activate(activated, kind) * gate

    def add(self, first: Any, *others: Any) -> Any:
        for other in others:
            first = first + other
        return first

    def scale(self, hidden: Any, by: float) -> Any:
        return hidden * by

    def times(self, first: Any, second: Any) -> Any:
        # A mean is float32 whatever the states are.
        return (first * second).to(first.dtype)

    def weight(self, name: str) -> Any:
        return self._weights[name]

    def present(self, mask: Any) -> Any:
        return mask.clamp(max=1)

    def second(self, mask: Any) -> Any:
        return (mask - 1).clamp(min=0)

    def mask_bias(self, mask: Any) -> Any:
        kind = next(iter(self._weights.values())).dtype
        return (1 - mask[:, None, None, :].to(kind)) * MASKED

    def window_bias(self, mask: Any, reach: int) -> Any:
        kind = next(iter(self._weights.values())).dtype
        return (self._distances(mask).abs() > reach)[None, None].to(kind) * MASKED

    def distance_bias(self, ids: Any, name: str, rows: Sequence[int]) -> Any:
        chosen = self.constant(rows)[self._distances(ids) + len(rows) // 2]
        return self.embed(chosen, name).permute(2, 0, 1)[None]

    def project(self, queries: Any, keys: Any, names: tuple[str, str, str], heads: int) -> tuple[Any, Any, Any]:
        query, key, value = (
            self.linear(states, name) for states, name in zip((queries, keys, keys), names, strict=True)
        )
        return query * (query.shape[-1] // heads) ** -0.5, key, value

    def attend(self, query: Any, key: Any, value: Any, heads: int, bias: Any | None, before: int = 0) -> Any:
        if bias is not None and before:
            bias = self._functional.pad(bias, (before, 0))
        # Keys of one text serve all of them.
        query, key, value = (
            states.expand(len(query), -1, -1).unflatten(-1, (heads, -1)).transpose(1, 2)
            for states in (query, key, value)
        )
        mixed = self._functional.scaled_dot_product_attention(
            query, key, value, bias, dropout_p=self._dropout, scale=1.0
        )
        return mixed.transpose(1, 2).flatten(2)

    def rotary_attention(self, hidden: Any, name: str, heads: int, bias: Any, rotation: tuple[Any, Any]) -> Any:
        query, key, value = self.product(hidden, name).chunk(3, dim=-1)
        query, key = (self._turned(states, heads, *rotation) for states in (query, key))
        return self.attend(query * (query.shape[-1] // heads) ** -0.5, key, value, heads, bias)

    def dot(self, first: Any, second: Any) -> Any:
        return (first * second).sum(dim=-1, keepdim=True)

    def blend(self, scores: Sequence[Any], values: Sequence[Any]) -> Any:
        shares = self._torch.cat(list(scores), dim=-1).softmax(dim=-1)
        return self._weighted(shares, values)

    def choose(self, scores: Any, values: Sequence[Any]) -> Any:
        onehot = self._functional.one_hot(scores.argmax(dim=-1), len(values)).to(scores.dtype)
        return self._weighted(onehot, values)

    def concat_tokens(self, parts: Sequence[Any]) -> Any:
        return self._torch.cat(list(parts), dim=1)

    def stack(self, parts: Sequence[Any]) -> Any:
        return self._torch.cat(list(parts)) if len(parts) > 1 else parts[0]

    def split(self, stacked: Any, parts: int) -> list[Any]:
        return list(stacked.chunk(parts)) if parts > 1 else [stacked]

    def tokens(self, hidden: Any, start: int, end: int | None) -> Any:
        return hidden[:, start:end]

    def token(self, hidden: Any, index: int) -> Any:
        return self.tokens(hidden, index, index + 1)

    def vector(self, hidden: Any) -> Any:
        # Vectors are float32 whatever the states are: in bf16, scaling them would round them once more.
        return hidden.squeeze(1).float()

    def states(self, vectors: Any) -> Any:
        return vectors[:, None].to(next(iter(self._weights.values())).dtype)

    def mean(self, hidden: Any, mask: Any) -> Any:
        kept = mask[:, :, None].float()
        return (hidden * kept).sum(dim=1, keepdim=True) / kept.sum(dim=1, keepdim=True)

    def largest(self, hidden: Any, mask: Any) -> Any:
        return hidden.masked_fill(mask[:, :, None] == 0, MASKED).amax(dim=1, keepdim=True)

    def matches(self, hidden: Any, table: str, bias: str) -> Any:
        return self._functional.linear(hidden, self._weights[table], self._weights[bias])

    def log1p(self, hidden: Any) -> Any:
        return hidden.log1p()

    def l2_normalize(self, vectors: Any) -> Any:
        return self._functional.normalize(vectors.float(), dim=-1, eps=1e-12)

    def _distances(self, ids: Any) -> Any:
        """Return how far each token stands before each other one, int64 (tokens, tokens)."""
        places = self.positions(ids, 0)
        return places - places.T

    def _turned(self, states: Any, heads: int, cosines: Any, sines: Any) -> Any:
        """Return the states with each head's halves turned, (texts, tokens, width)."""
        first, second = states.unflatten(-1, (heads, -1)).chunk(2, dim=-1)
        turned = (first * cosines - second * sines, second * cosines + first * sines)
        # bf16 states and float32 angles give float32.
        return self._torch.cat(turned, dim=-1).flatten(2).to(states.dtype)

    def _weighted(self, shares: Any, values: Sequence[Any]) -> Any:
        return self.add(*(shares[..., i : i + 1] * value for i, value in enumerate(values)))
