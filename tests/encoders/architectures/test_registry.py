"""Every architecture is found by its name."""

from __future__ import annotations

from encoders.architectures.registry import ARCHITECTURES


def test_these_are_known():
    assert set(ARCHITECTURES) == {
        *("plain", "mpnet", "modernbert", "adapters", "fusion", "pals", "experts", "instructions"),
        *("instruction-encoder", "shared-codes", "pairs", "tokens", "sparse", "transformers"),
    }
