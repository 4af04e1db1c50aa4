"""All trainables. A new one needs one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping

from training.trainables.adapters import ADAPTERS, LORA
from training.trainables.base import Trainable
from training.trainables.codes import CODES, SHARED_CODES
from training.trainables.experts import EXPERTS
from training.trainables.fusion import FUSION
from training.trainables.instructions import INSTRUCTIONS, PREFIX
from training.trainables.network import ALL, LAST
from training.trainables.pals import PALS
from training.trainables.reranker import RERANKER

TRAINABLES: Mapping[str, Trainable] = {
    "all": ALL,
    "last": LAST,
    "adapters": ADAPTERS,
    "fusion": FUSION,
    "lora": LORA,
    "pals": PALS,
    "codes": CODES,
    "shared-codes": SHARED_CODES,
    "experts": EXPERTS,
    "instructions": INSTRUCTIONS,
    "prefix": PREFIX,
    "reranker": RERANKER,
}
