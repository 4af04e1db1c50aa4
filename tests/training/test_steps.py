"""How many steps a run takes, when it stops early, and what it waited."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from training.checkpoints import TrainingProgress
from training.processes import ALONE
from training.steps import _of_all, overdue, total_steps, waiting


def recipe(*rates, **values):
    tasks = [SimpleNamespace(name=name, rate=rate) for name, rate in zip("abc", rates, strict=False)]
    settings = {"batch_size": 8, "accumulation": 1, "epochs": 1, "steps": None, "patience": 0}
    return SimpleNamespace(**settings | values, tasks=tasks)


@pytest.mark.parametrize(
    ("values", "rates", "steps"),
    [
        ({}, (1, 1), 4),  # 25 examples: three batches of 8, and one of 1
        ({"epochs": 2}, (1, 1), 8),
        ({"epochs": 2, "accumulation": 3}, (1, 1), 3),
        ({"steps": 3}, (1, 1), 3),
        ({"steps": 5}, (1, 1), 4),
        ({}, (2, 0.5), 6),  # 40 examples, and 2 of 5
        ({"batch_size": 1}, (0.01, 1), 6),  # no task without an example
    ],
)
def test_the_number_of_steps(values, rates, steps):
    assert total_steps(recipe(*rates, **values), [range(20), range(5)]) == steps


@pytest.mark.parametrize(
    ("scores", "patience", "stops"),
    [
        ([1, 2, 3], 1, False),
        ([3, 2], 1, True),
        ([3, 2], 2, False),
        ([3, 2, 1], 2, True),
        ([3, 3], 1, True),  # as good is no improvement
        ([3, 2, 1], 0, False),
        ([], 1, False),
    ],
)
def test_a_run_stops_after_so_many_validations_without_an_improvement(scores, patience, stops):
    progress = TrainingProgress(30, {10 * place: score for place, score in enumerate(scores)})
    assert overdue(recipe(patience=patience), progress) is stops


def test_the_share_of_the_time_that_steps_waited(tmp_path):
    assert waiting(tmp_path) == 0.0
    entries = [{"step": 1, "seconds": 2.0}, {"step": 2, "seconds": 1.0, "waited": 0.5}, {"step": 3, "seconds": 1.5}]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(one) + "\n" for one in entries))
    assert waiting(tmp_path) == pytest.approx(0.5 / 5.0)


def test_the_losses_of_the_tasks_in_a_step():
    assert _of_all(recipe(1, 1, 1), {"c": 0.0, "a": 2.5}, ALONE) == {"a": 2.5, "c": 0.0}
