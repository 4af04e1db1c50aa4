"""Several processes that train one model together, as torchrun starts them: gloo on CPUs, NCCL on GPUs.

Each takes its share of a step's batches, by index as in SciRepEval's training code, and the gradients are summed before
the optimizer's step. So all hold the same weights, and two processes do what one does with twice the `accumulation`.
Only the first one writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from corpora.errors import UnavailableError
from corpora.installed import extra, needing
from corpora.lazy import torch

T = TypeVar("T")

_PATIENCE = timedelta(hours=12)
"""How long the others wait while the first process packs the data and validates."""


@dataclass(frozen=True, slots=True)
class Processes:
    """The processes that train together, and the rank of this one, from 0."""

    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the process that writes."""
        return self.rank == 0

    def share(self, batches: Sequence[T]) -> Sequence[T]:
        """Return the batches that this process takes."""
        return batches[self.rank :: self.count]

    def in_turn(self, make: Callable[[], T]) -> T:
        """Call a function in the first process, then in the others, which then find what the first one wrote."""
        if self.first:
            made = make()
            self.summed([0.0])
            return made
        self.summed([0.0])
        return make()

    def summed(self, values: Sequence[float]) -> list[float]:
        """Return the sums over all processes."""
        if self.count == 1:
            return list(values)
        together = torch.tensor(values, dtype=torch.float64)
        with _others_live():
            torch.distributed.all_reduce(together)
        return [float(value) for value in together]

    def sum_gradients(self, weights: Sequence[Any]) -> None:
        """Add up the gradients of the trained tensors over all processes, in place.

        The tensors come in the same order in each process. One without a gradient in every process gets none.
        """
        if self.count == 1:
            return
        counts = self.summed([float(weight.grad is not None) for weight in weights])
        used = [weight for weight, count in zip(weights, counts, strict=True) if count]
        grads = [torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in used]
        flat = torch.cat([grad.reshape(-1) for grad in grads])
        with _others_live():
            torch.distributed.all_reduce(flat)
        for weight, part in zip(used, flat.split([grad.numel() for grad in grads]), strict=True):
            weight.grad = part.view_as(weight)


ALONE = Processes()


@contextmanager
def joined() -> Iterator[Processes]:
    """Join the processes that torchrun started, by its environment variables; without it, train alone.

    `UnavailableError` if torch is not installed, or another process ended.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield ALONE
        return
    with needing("Training needs torch", extra("train")):
        import torch

        # Its functions hold the group that exists when it is first imported, as torch's optimizers do, and the threads
        # of a group that something holds outlive it: they abort the process if they free a tensor while Python ends.
        import torch.distributed.nn

    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    with _others_live():
        torch.distributed.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo", timeout=_PATIENCE)
    try:
        yield Processes(torch.distributed.get_rank(), torch.distributed.get_world_size())
    finally:
        torch.distributed.destroy_process_group()


@contextmanager
def _others_live() -> Iterator[None]:
    """Raise a plain error if another process has ended; its own message says why."""
    try:
        yield
    except RuntimeError as error:
        raise UnavailableError(
            f"Another process of this run has ended; its own message says why ({str(error).splitlines()[0]})."
        ) from error
