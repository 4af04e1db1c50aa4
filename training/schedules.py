"""Learning-rate schedules: the factor of the peak rate at a step, from 0."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping


def warmup_steps(warmup: float, total: int) -> float:
    """Return how many steps the rate rises, given as steps or, below 1, as a share of all."""
    return warmup if warmup >= 1 else warmup * total


def linear(step: int, warmup: float, total: int) -> float:
    """Rise linearly for `warmup` steps, then fall linearly to 0 at `total`."""
    if step < warmup:
        return step / warmup
    return max(0.0, (total - step) / max(1, total - warmup))


def inverse_square_root(step: int, warmup: float, total: int) -> float:  # noqa: ARG001 - it never ends
    """Rise linearly for `warmup` steps, then fall with the root of the step (SciRepEval's full models and codes)."""
    if step < warmup:
        return step / warmup
    return math.sqrt(max(1, warmup) / max(1, step))


def constant(step: int, warmup: float, total: int) -> float:  # noqa: ARG001
    """Rise linearly for `warmup` steps, then stay."""
    return min(1.0, step / warmup) if warmup else 1.0


SCHEDULES: Mapping[str, Callable[[int, float, int], float]] = {
    "linear": linear,
    "inverse-square-root": inverse_square_root,
    "constant": constant,
}
