"""States of a run: which are kept, what they restore, and which are refused."""

from __future__ import annotations

import json

import pytest

from corpora.errors import InputError
from tests.training.learners import make
from training import checkpoints
from training.batches import parts_of
from training.checkpoints import TrainingProgress

pytestmark = pytest.mark.torch


def test_the_best_steps_are_the_earliest_of_the_highest_scores():
    progress = TrainingProgress(5, {1: 0.2, 2: 0.5, 3: 0.5, 4: -1.0, 5: 0.4})
    assert [progress.best(count) for count in range(7)] == [([2, 3, 5, 1, 4])[:count] for count in range(7)]
    assert TrainingProgress() == TrainingProgress(0, {}, "")


def stepped(folder, **values):
    """Return a learner after one step."""
    learner, data = make(folder, ("cross-entropy", "mse"), **values)
    losses = learner.losses(parts_of(learner.recipe, learner.card, [(0, example) for example in range(4)], data))
    sum(losses.values()).backward()
    learner.optimizer.step()
    return learner


def copied(state):
    return {name: tensor.clone() for name, tensor in state.items()}


def test_the_last_and_the_best_states_are_kept_and_restore_all_that_training_changes(tmp_path):
    import torch

    learner, run = stepped(tmp_path, keep=2), tmp_path / "run"
    assert checkpoints.last(run) is None
    assert checkpoints.resume(run, learner, "key", allowed=False) == TrainingProgress(0, {}, "key")
    scores, kept = {}, []
    for step, score in ((2, 0.5), (4, 0.9), (6, 0.7), (8, 0.1)):
        scores[step] = score
        checkpoints.save(run, learner, TrainingProgress(step, dict(scores), "key"))
        kept.append(sorted(int(path.name.removeprefix("state-")) for path in run.iterdir()))
    assert kept == [[2], [2, 4], [4, 6], [4, 6, 8]]
    assert {path.name for path in run.iterdir()} == {"state-00000004", "state-00000006", "state-00000008"}
    assert checkpoints.last(run) == 8
    before = copied(checkpoints._state(learner))
    # The head of the task without an example so far has no averages.
    assert {name for name in before if "adamw" in name and "heads.mse" in name} == set()
    assert {name for name in before if "heads" in name and "exp_avg" in name}
    for name, tensor in checkpoints._state(learner).items():
        tensor.add_(1) if "mse" not in name else tensor.zero_()
    assert checkpoints.resume(run, learner, "key", allowed=True) == TrainingProgress(8, scores, "key")
    after = checkpoints._state(learner)
    assert after.keys() == before.keys()
    assert all(torch.equal(after[name], before[name]) for name in before)
    with pytest.raises(InputError, match=r"run holds a run of 8 steps; add resume to continue it"):
        checkpoints.resume(run, learner, "key", allowed=False)
    with pytest.raises(InputError, match="holds a run of another recipe, base or data"):
        checkpoints.resume(run, learner, "other", allowed=True)
    (run / "state-00000008" / "state.json").write_text(json.dumps({"step": 8}))
    with pytest.raises(InputError, match=r"state-00000008 is damaged .*; delete it, and the run resumes"):
        checkpoints.load(run, 8, learner)
    assert checkpoints.load(run, 4, learner) == TrainingProgress(4, {2: 0.5, 4: 0.9}, "key")


def test_a_state_of_other_weights_is_refused(tmp_path):
    checkpoints.save(tmp_path / "run", stepped(tmp_path, trains="last"), TrainingProgress(1))
    (tmp_path / "other").mkdir()
    with pytest.raises(InputError, match="is of another recipe: start in another folder"):
        checkpoints.load(tmp_path / "run", 1, stepped(tmp_path / "other"))
