"""Reads and runs tasks, each with the protocol of its type and the embedding files that it names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path

from corpora.errors import SesError
from encoders.formats import Format
from eval.embedder import Embedder
from eval.reviewers.protocol import evaluate_reviewers
from eval.scirepeval.data import read_matching, read_ranking, read_supervised
from eval.scirepeval.embedding_files import task_vectors
from eval.scirepeval.protocols import FORMATS, TaskResult, evaluate_ranking, evaluate_supervised
from eval.scirepeval.task_file import Task
from products.reviewers.rules import MATCHINGS


def run_task(
    task: Task,
    folder: Path | None,
    embed: Embedder,
    separator: str = "[SEP]",
    given: AbstractSet[Format] = frozenset(),
) -> TaskResult:
    """Read a task's data and run it, with the embedding files that the task names.

    Args:
        task: The task.
        folder: Of local data; the hub if None.
        embed: Makes the vectors.
        separator: Between the fields of a text, as the model's tokenizer has it.
        given: Formats whose vectors `embed` has from files, which take precedence over files that the task loads.

    Returns:
        The result.

    Raises:
        InputError: If data or vectors are missing or damaged, or don't suit the task.
        UnavailableError: If the extra eval isn't installed, the hub can't be reached, or vectors can't be saved.
    """
    with task_vectors(task, FORMATS[task.type], embed, given) as vectors:
        result = _run(task, folder, vectors.embed, separator)
        return replace(result, files=vectors.files)


def _run(task: Task, folder: Path | None, embed: Embedder, separator: str) -> TaskResult:
    if task.data.reviewers is not None:
        embedders = {"proximity": lambda texts: embed(texts, Format.PRX)}
        matched = evaluate_reviewers(read_matching(task, folder, separator), embedders, MATCHINGS["scirepeval"])
        return TaskResult(task, matched)
    if task.is_ranking:
        return TaskResult(task, evaluate_ranking(task, read_ranking(task, folder, separator), embed))
    return evaluate_supervised(task, read_supervised(task, folder, separator), embed)


def run_tasks(
    tasks: Iterable[Task],
    folder: Path | None,
    embed: Embedder,
    separator: str = "[SEP]",
    given: AbstractSet[Format] = frozenset(),
) -> Iterator[tuple[Task, TaskResult | SesError]]:
    """Run tasks one after the other; if one fails, the others still run.

    Args:
        tasks: The tasks.
        folder: As `run_task` takes it.
        embed: As `run_task` takes it.
        separator: As `run_task` takes it.
        given: As `run_task` takes them.

    Yields:
        Each task, with its result or the error.
    """
    for task in tasks:
        try:
            yield task, run_task(task, folder, embed, separator, given)
        except SesError as error:
            yield task, error
