"""All samplers. A new one needs one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping

from training.samplers import mixed_random, round_robin, sequential, shuffled_batches
from training.samplers.base import Sampler

SAMPLERS: Mapping[str, Sampler] = {
    "sequential": sequential.sample,
    "mixed-random": mixed_random.sample,
    "mixed-proportional": round_robin.mixed_proportional,
    "task-per-batch": round_robin.task_per_batch,
    "shuffled-batches": shuffled_batches.sample,
}
