"""Cross-encoders: a network that reads two texts at once, and a head that gives the pair a score.

Nogueira and Cho 2019, section 2. The heads are those of transformers' classes `...ForSequenceClassification` with one
label: BERT's, RoBERTa's (which XLM-RoBERTa, CamemBERT and MPNet share) and ModernBERT's. In the mask of a pair, 1 is a
token of the first text, 2 one of the second, and 0 is padding; networks without segments have 1 for both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from encoders.architectures import bert
from encoders.architectures.network import Network
from encoders.architectures.registry import ARCHITECTURES
from encoders.ops.base import Ops, Tensor

SCORE = "score"
"""Name of the only head of a cross-encoder."""

ScoreActivation = Literal["none", "sigmoid", "tanh"]
"""What is applied to a logit; it changes no order."""

HEADS: Mapping[str, tuple[str, str]] = {
    "bert": ("pooler.dense", "classifier"),
    "roberta": ("classifier.dense", "classifier.out_proj"),
    "modernbert": ("head.dense", "classifier"),
}
"""The two layers of each kind of head: from the state of a pair to another one, and from that to its logit."""


def scores(ops: Ops, network: Network, ids: Tensor, mask: Tensor, heads: Sequence[str]) -> list[Tensor]:
    """Return the score of each pair, (pairs, 1). `network.options` names the `trunk`, the `head` and the `activation`.

    With the option `segments`, the network is given which tokens are of the second text.

    Use it when the first papers of a search are ranked again: it reads query and paper together, which costs a pass for
    each pair.
    """
    options, kept = network.options, ops.present(mask)
    begun = ids
    if options["segments"]:
        begun = bert.States(bert.embeddings(ops, network, ids, ops.second(mask)), 0)
    (vectors,) = ARCHITECTURES[options["trunk"]](ops, network, begun, kept, [SCORE])
    logits = _logits(ops, options["head"], ops.states(vectors))
    activation: ScoreActivation = options["activation"]
    return [ops.vector(logits if activation == "none" else ops.activate(logits, activation))] * len(heads)


def _logits(ops: Ops, head: str, states: Tensor) -> Tensor:
    inner, outer = HEADS[head]
    if head == "modernbert":
        dense = ops.linear(states, inner) if ops.has(f"{inner}.bias") else ops.product(states, inner)
        states = ops.norm_without_bias(ops.activate(dense, "gelu"), "head.norm")
    else:
        states = ops.activate(ops.linear(ops.dropout(states) if head == "roberta" else states, inner), "tanh")
    return ops.linear(ops.dropout(states), outer)
