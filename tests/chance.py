"""Chance that can be repeated, and how often a test tries it."""

from __future__ import annotations

import os
import random
import sys


def drawn() -> random.Random:
    """Random numbers of a new seed each time, or of the one in SES_TEST_SEED; pytest shows it where a test fails."""
    seed = int(os.environ.get("SES_TEST_SEED") or random.SystemRandom().randrange(1_000_000))
    sys.stdout.write(f"to repeat this, set SES_TEST_SEED={seed}\n")
    return random.Random(seed)


def effort(newcomer: int, ci: int, long: int) -> int:
    """How much a test tries: in a newcomer's `make test`, in CI (which requires lanes), or with SES_TEST_LONG set."""
    if os.environ.get("SES_TEST_LONG"):
        return long
    return ci if os.environ.get("SES_REQUIRE_LANES") else newcomer


def kills(newcomer: int, ci: int, long: int) -> int:
    """As `effort`, unless SES_TEST_KILLS says how many."""
    return int(os.environ.get("SES_TEST_KILLS") or effort(newcomer, ci, long))
