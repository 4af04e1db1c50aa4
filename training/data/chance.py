"""Chance that depends on a seed and an id alone, so that a draw is the same in any order of the papers."""

from __future__ import annotations

import hashlib


def drawn(seed: int | str, key: str) -> float:
    """Return a number from 0 to 1, below 1, that is always the same for a seed and a key."""
    digest = hashlib.sha256(f"{seed}\t{key}".encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:6], "big") / 2**48
