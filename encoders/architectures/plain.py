"""One network for every format: BERT, SciBERT, SPECTER, SciNCL, MIReAD, sentence-transformers.

Control codes (SciRepEval section 4.2) and instructions written into the text are plain networks too: what differs by
format is the text that they read, which the card's prompts tell.
"""

from __future__ import annotations

from collections.abc import Sequence

from encoders.architectures.bert import plain_layer, run
from encoders.architectures.network import Network
from encoders.ops.base import Ops, Tensor


def vectors(ops: Ops, network: Network, ids: Tensor, mask: Tensor, heads: Sequence[str]) -> list[Tensor]:
    """Return one vector per text, the same for every head."""
    return run(ops, network, ids, mask, heads, plain_layer(ops, network))
