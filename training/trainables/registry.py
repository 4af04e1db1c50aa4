"""What can be trained: a new choice is one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping

from training.trainables.adapters import ADAPTERS
from training.trainables.base import Trainable
from training.trainables.network import ALL, LAST
from training.trainables.shared_codes import SHARED_CODES

TRAINABLES: Mapping[str, Trainable] = {"all": ALL, "last": LAST, "adapters": ADAPTERS, "shared-codes": SHARED_CODES}
