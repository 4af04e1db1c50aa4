"""Learning rates by step, as their definitions give them."""

from __future__ import annotations

import pytest

from training.schedules import SCHEDULES, warmup_steps

WANTED = {
    # Step 0 to 10, with 4 steps of warmup out of 8.
    "linear": [0, 0.25, 0.5, 0.75, 1, 0.75, 0.5, 0.25, 0, 0, 0],
    "inverse-square-root": [0, 0.25, 0.5, 0.75, *((4 / step) ** 0.5 for step in range(4, 11))],
    "constant": [0, 0.25, 0.5, 0.75, *[1] * 7],
}
WITHOUT = {
    "linear": [1, 0.75, 0.5, 0.25, 0],
    "inverse-square-root": [1, 1, 0.5**0.5, (1 / 3) ** 0.5, 0.5],
    "constant": [1] * 5,
}
"""The same without warmup, out of 4 steps."""


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_factor_of_the_rate(name):
    schedule = SCHEDULES[name]
    assert [schedule(step, 4, 8) for step in range(11)] == pytest.approx(WANTED[name])
    assert [schedule(step, 0, 4) for step in range(5)] == pytest.approx(WITHOUT[name])
    # All steps may be warmup.
    assert schedule(4, 4, 4) in (0, 1)


@pytest.mark.parametrize(("warmup", "steps"), [(0, 0), (0.5, 100), (0.999, 199.8), (1, 1), (7, 7)])
def test_warmup_in_steps_or_below_one_as_a_share(warmup, steps):
    assert warmup_steps(warmup, 200) == pytest.approx(steps)


@pytest.mark.torch
def test_rates_are_those_of_transformers():
    optimization = pytest.importorskip("transformers.optimization")
    ours = {
        "linear": optimization._get_linear_schedule_with_warmup_lr_lambda,
        "inverse-square-root": optimization._get_inverse_sqrt_schedule_lr_lambda,
        "constant": optimization._get_constant_schedule_with_warmup_lr_lambda,
    }
    more = {"linear": {"num_training_steps": 90}, "inverse-square-root": {"timescale": 7}, "constant": {}}
    for name, theirs in ours.items():
        wanted = [theirs(step, num_warmup_steps=7, **more[name]) for step in range(90)]
        assert [SCHEDULES[name](step, 7, 90) for step in range(90)] == pytest.approx(wanted), name
