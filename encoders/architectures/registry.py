"""All architectures. A new one needs one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from encoders.architectures import (
    adapters,
    experts,
    foreign,
    fusion,
    instruction_encoder,
    instructions,
    modernbert,
    mpnet,
    pals,
    plain,
    shared_codes,
)
from encoders.architectures.network import Network
from encoders.ops.base import Ops, Tensor

Architecture = Callable[[Ops, Network, Tensor, Tensor, Sequence[str]], list[Tensor]]
"""Takes operators, the model's facts, token ids, mask and heads; returns one vector per text, (texts, width), for each
head."""

ARCHITECTURES: Mapping[str, Architecture] = {
    "plain": plain.vectors,
    "mpnet": mpnet.vectors,
    "modernbert": modernbert.vectors,
    "adapters": adapters.vectors,
    "fusion": fusion.vectors,
    "pals": pals.vectors,
    "experts": experts.vectors,
    "instructions": instructions.vectors,
    "instruction-encoder": instruction_encoder.vectors,
    "shared-codes": shared_codes.vectors,
    foreign.ARCHITECTURE: foreign.vectors,
}
