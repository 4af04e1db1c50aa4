"""The few operators that architectures are written in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

from corpora.errors import InputError
from corpora.lazy import np

Tensor = Any
"""A library's own: the name of a value in an ONNX graph, or a torch tensor."""

Activation = Literal["gelu", "relu", "silu", "tanh", "leaky_relu", "sigmoid"]

MASKED = -1e9
"""Added to the attention logits of padding: its weight becomes exactly 0 in float32."""


def not_in_operators(runtime: str) -> InputError:
    """Return what tells a user that a model has one runtime."""
    return InputError(
        "The model is none of those that ses has an architecture for: there is no graph of it, and ses can't train it",
        f"choose <runtime={runtime}>",
    )


class Ops(Protocol):
    """Operators over the weights of one model, which are named as in its checkpoint.

    An architecture written in them is a graph for inference and a module for training at once, so the two can't differ.
    Hidden states are (texts, tokens, width) throughout.
    """

    def has(self, name: str) -> bool:
        """Return whether the model has a weight of that name."""

    def elsewhere(self, runtime: str) -> Tensor:
        """Stand for a network that is not written in operators; `InputError` naming the runtime that can run it."""

    def constant(self, values: Sequence[Any]) -> Tensor:
        """Return whole numbers, int64, in the shape they are nested."""

    def positions(self, ids: Tensor, first: int) -> Tensor:
        """Return `first`, `first` + 1, ... for the tokens of a batch, int64 (1, tokens)."""

    def embed(self, ids: Tensor, name: str, rows: int | None = None) -> Tensor:
        """Return a table's rows (texts, tokens, width) for ids (texts, tokens); `ValueError` unless it has `rows`."""

    def leading(self, ids: Tensor, table: np.ndarray) -> Tensor:
        """Return the first rows of a constant table, float32 (positions, ...), one for each token: (tokens, ...)."""

    def expand(self, hidden: Tensor, like: Tensor) -> Tensor:
        """Repeat the states of one text for every text of a batch."""

    def linear(self, hidden: Tensor, name: str) -> Tensor:
        """Return W x + b."""

    def product(self, hidden: Tensor, name: str) -> Tensor:
        """Return W x, of a layer without a bias."""

    def norm(self, hidden: Tensor, name: str) -> Tensor:
        """Return the layer normalization (Ba et al. 2016)."""

    def norm_without_bias(self, hidden: Tensor, name: str) -> Tensor:
        """Return the layer normalization, scaled and not shifted."""

    def dropout(self, hidden: Tensor) -> Tensor:
        """Drop values while a module is trained."""

    def layer(self, compute: Callable[..., Tensor], *states: Tensor) -> Tensor:
        """Return what a layer computes of states; in training, what is within may be computed again for gradients."""

    def activate(self, hidden: Tensor, kind: Activation) -> Tensor:
        """Apply an activation."""

    def gated_unit(self, hidden: Tensor, kind: Activation) -> Tensor:
        """Return the activation of the first half of each state times the second half (Shazeer 2020)."""

    def add(self, first: Tensor, *others: Tensor) -> Tensor:
        """Add up."""

    def scale(self, hidden: Tensor, by: float) -> Tensor:
        """Multiply by a number."""

    def times(self, first: Tensor, second: Tensor) -> Tensor:
        """Multiply element by element; an axis of length 1 serves all."""

    def weight(self, name: str) -> Tensor:
        """Return a weight as it is."""

    def present(self, mask: Tensor) -> Tensor:
        """Return 1 where the mask of a pair of texts has a token of either, 0 for padding."""

    def second(self, mask: Tensor) -> Tensor:
        """Return 1 where the mask of a pair of texts is 2, for a token of the second text, and else 0."""

    def mask_bias(self, mask: Tensor) -> Tensor:
        """Return what attention adds to its logits so that padding gets no weight, (texts, 1, 1, tokens)."""

    def window_bias(self, mask: Tensor, reach: int) -> Tensor:
        """Return what attention adds so that no token sees those more than `reach` away, (1, 1, tokens, tokens)."""

    def distance_bias(self, ids: Tensor, name: str, rows: Sequence[int]) -> Tensor:
        """Return what attention adds by how far apart two tokens stand (Raffel et al. 2020, section 2.1).

        Args:
            ids: Token ids, (texts, tokens).
            name: The name of a table with a number for each attention head in each row.
            rows: The table's rows for distances -n, ..., 0, ..., n from the token that attends to the one it sees.

        Returns:
            (1, heads, tokens, tokens).
        """

    def project(
        self, queries: Tensor, keys: Tensor, names: tuple[str, str, str], heads: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return attention's queries, over the root of a head's width, keys and values, each (texts, tokens, width)."""

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, heads: int, bias: Tensor | None, before: int = 0
    ) -> Tensor:
        """Return multi-head attention (Vaswani et al. 2017, section 3.2) without its output projection.

        Args:
            query: Queries from `project`, (texts, some tokens, width).
            key: Keys (texts, tokens, width), or (1, tokens, width) for all texts.
            value: Values, in the shape of the keys.
            heads: Number of attention heads.
            bias: Sum of `mask_bias` and other biases, over the keys; None if none is padding.
            before: Number of keys before those that the bias is over; none of them is padding.

        Returns:
            The mean of the values for each query, weighted by attention, (texts, some tokens, width of the values).
        """

    def rotary_attention(
        self, hidden: Tensor, name: str, heads: int, bias: Tensor, rotation: tuple[Tensor, Tensor]
    ) -> Tensor:
        """Return multi-head self-attention with rotary positions (Su et al. 2021, section 3.4.2).

        Args:
            hidden: States, (texts, tokens, width).
            name: The name of a layer without a bias, whose rows make queries, keys and values in this order.
            heads: Number of attention heads.
            bias: Sum of `mask_bias` and other biases.
            rotation: Cosines and sines, each (tokens, 1, half the width of a head), by which the first half of a
                head's query and key is turned against the second.

        Returns:
            The weighted mean of the values for each query, (texts, tokens, width), before the output projection.
        """

    def dot(self, first: Tensor, second: Tensor) -> Tensor:
        """Return the product of each pair of states, (texts, tokens, 1)."""

    def blend(self, scores: Sequence[Tensor], values: Sequence[Tensor]) -> Tensor:
        """Return the sum of values weighted by the softmax of their scores, each (texts, tokens, 1)."""

    def choose(self, scores: Tensor, values: Sequence[Tensor]) -> Tensor:
        """Return for each row the value of the highest score, scores (texts, tokens or 1, values)."""

    def concat_tokens(self, parts: Sequence[Tensor]) -> Tensor:
        """Concatenate along the axis of tokens, 1."""

    def stack(self, parts: Sequence[Tensor]) -> Tensor:
        """Set texts one below another: axis 0."""

    def split(self, stacked: Tensor, parts: int) -> list[Tensor]:
        """Undo `stack` of parts of the same size."""

    def tokens(self, hidden: Tensor, start: int, end: int | None) -> Tensor:
        """Return the states of some tokens of each text; to the last if `end` is None."""

    def token(self, hidden: Tensor, index: int) -> Tensor:
        """Return the states of one token, (texts, 1, width)."""

    def vector(self, hidden: Tensor) -> Tensor:
        """Return the states (texts, 1, width) of one token as (texts, width)."""

    def states(self, vectors: Tensor) -> Tensor:
        """Undo `vector`: return vectors (texts, width) as the states of one token, (texts, 1, width)."""

    def mean(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Return the mean over the tokens of a text, (texts, 1, width)."""

    def largest(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Return the largest of each number over the tokens of a text, (texts, 1, width)."""

    def matches(self, hidden: Tensor, table: str, bias: str) -> Tensor:
        """Return the products of states with the rows of a table, plus the row's bias, (texts, tokens, rows)."""

    def log1p(self, hidden: Tensor) -> Tensor:
        """Return log(1 + x)."""

    def l2_normalize(self, vectors: Tensor) -> Tensor:
        """Divide each vector by its L2 norm; its last axis is the vector's."""
