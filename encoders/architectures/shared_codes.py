"""Control codes that attend to the text while the text does not attend to them: all formats in one pass (our method).

Each head's code starts as its own row of the word table, where a text begins (position 0, segment 0). In every layer
its query attends to the text's keys and values; texts never attend to codes, nor codes to each other. So the text's
states are the same for any set of codes, and each code costs one more token. The vector is the code's last state. A
code whose row is that of [CLS] gives the plain network's first-token vector, which is how training starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from encoders.architectures.bert import embeddings, embeddings_at_start, plain_layer
from encoders.architectures.network import Network
from encoders.ops.base import Ops, Tensor


def vectors(ops: Ops, network: Network, ids: Tensor, mask: Tensor, heads: Sequence[str]) -> list[Tensor]:
    """Return one vector per text for each head, which is the name of its code.

    Use it when all formats are wanted at about the cost of one.
    """
    text, bias, layer = embeddings(ops, network, ids), ops.mask_bias(mask), plain_layer(ops, network)
    codes = embeddings_at_start(ops, network, ops.constant([[network.options["codes"][head] for head in heads]]))
    # Codes come first, because their position then does not depend on the text's length.
    states = ops.concat_tokens([ops.expand(codes, like=text), text])
    for number in range(network.layers - 1):
        states = ops.layer(partial(layer, number), states, ops.tokens(states, len(heads), None), bias)
    found = layer(network.layers - 1, ops.tokens(states, 0, len(heads)), ops.tokens(states, len(heads), None), bias)
    rows = [ops.vector(ops.token(found, row)) for row in range(len(heads))]
    return [ops.l2_normalize(row) for row in rows] if network.normalize else rows
