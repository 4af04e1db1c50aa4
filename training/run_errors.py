"""Errors of training, each as one plain sentence."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from corpora.errors import InputError, StoppedError, UnavailableError, short_list
from corpora.lazy import torch
from training import checkpoints
from training.batches import by_task, parts_of
from training.data.examples import Example, read_examples
from training.data.packed import Packed
from training.learner import Learner
from training.samplers import Item

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NO_MEMORY = ("can't allocate memory", "not enough memory", "bad_alloc", "CUBLAS_STATUS_ALLOC_FAILED")
_MOST_LINES = 8


@contextmanager
def plain_errors(folder: Path) -> Iterator[None]:
    """Turn a full memory, a full disk and Ctrl-C in the block into errors that say what to do."""
    try:
        yield
    except KeyboardInterrupt:
        raise StoppedError("Stopped", "train again with <resume> to go on") from None
    except (OSError, UnavailableError) as error:
        cause = error.__cause__ if isinstance(error, UnavailableError) else error
        if not isinstance(cause, OSError) or cause.errno not in _FULL:
            raise
        raise UnavailableError(
            f"The disk is full, and {folder} can't be written ({cause})",
            "free some space, and train again with <resume>: what was saved before is valid",
        ) from error
    except (MemoryError, RuntimeError) as error:
        if not _says_no_memory(error):
            raise
        raise UnavailableError(
            "The memory does not hold a batch: lower batch_size (and raise accumulation by as much), or max_tokens; or "
            "train fewer weights by `trains`. Then start again in another folder."
        ) from error


def _says_no_memory(error: BaseException) -> bool:
    # On CPUs torch raises a plain RuntimeError.
    known = isinstance(error, MemoryError | torch.OutOfMemoryError)
    return known or any(words in str(error) for words in _NO_MEMORY)


def not_a_number(
    learner: Learner, data: Sequence[Packed], items: Sequence[Item], what: str, where: str, folder: Path
) -> InputError:
    """Return the error for a loss or a gradient (`what`) that is not a number in a step or batch (`where`).

    It names the records of those examples of the batch whose own loss is not a number, unless this is true of all.
    """
    kept = checkpoints.last(folder)
    state = f"The state of step {kept} is kept in {folder}." if kept is not None else "No state was saved yet."
    alone = [item for item in items if not _finite(learner, data, item)]
    records = "; ".join(
        _lines(learner, data, number, examples) for number, examples in sorted(by_task(alone or items).items())
    )
    return InputError(
        f"{what} is not a number in {where}, with these records: {records}. {state} Lower learning_rate, or "
        "correct those records."
    )


def _finite(learner: Learner, data: Sequence[Packed], item: Item) -> bool:
    parts = parts_of(learner.recipe, learner.card, [item], data)
    with torch.no_grad():
        return all(bool(torch.isfinite(loss)) for loss in learner.losses(parts).values())


def _lines(learner: Learner, data: Sequence[Packed], number: int, examples: Sequence[int]) -> str:
    """Return the lines of some examples. The file is read again, since the lines are not stored."""
    task, wanted = learner.recipe.tasks[number], set(examples)
    assert task.train is not None  # noqa: S101 - the tasks of a run were built
    read = read_examples(task, task.train, "", data[number].manifest.labels)
    usable = (example for example in read if isinstance(example, Example))
    lines = sorted({example.line for position, example in enumerate(usable) if position in wanted})
    return f"{task.train}, line{'s' if len(lines) > 1 else ''} {short_list(lines, _MOST_LINES)}"
