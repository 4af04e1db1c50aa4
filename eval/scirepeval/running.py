"""Runs tasks, each with the protocol of its type, and with the embedding files that the task file names.

A task can load its vectors from a file instead of encoding, or save them for other tasks. As in the original, a path
is relative to the working directory, and a task that loads saves nothing. Unlike in the original, loaded vectors aren't
rounded to float16, so that a task's numbers don't depend on which task made its vectors; a file is written whole or, if
the task fails, not at all; and vectors that come from files aren't saved again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from corpora.errors import InputError, SesError, UnavailableError, require
from encoders.files.embeddings import Embeddings, Writer, layout_of, open_writer, read_embeddings
from encoders.models.formats import Format
from eval.embedder import Embedder, Text, Vectors, by_file, by_format
from eval.reviewers.protocol import evaluate_reviewers
from eval.scirepeval.data import read_matching, read_ranking, read_supervised
from eval.scirepeval.protocols import FORMATS, TaskResult, evaluate_ranking, evaluate_supervised
from eval.scirepeval.task_file import EmbeddingFile, Task, Use
from products.reviewers.rules import MATCHINGS


def run_task(
    task: Task,
    folder: Path | None,
    embed: Embedder,
    separator: str = "[SEP]",
    given: Set[Format] = frozenset(),
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
    with _task_vectors(task, FORMATS[task.type], embed, given) as (vectors, files):
        return replace(_run(task, folder, vectors, separator), files=files)


def run_tasks(
    tasks: Iterable[Task],
    folder: Path | None,
    embed: Embedder,
    separator: str = "[SEP]",
    given: Set[Format] = frozenset(),
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


def _run(task: Task, folder: Path | None, embed: Embedder, separator: str) -> TaskResult:
    if task.data.reviewers is not None:
        embedders = {"proximity": lambda texts: embed(texts, Format.PRX)}
        matched = evaluate_reviewers(read_matching(task, folder, separator), embedders, MATCHINGS["scirepeval"])
        return TaskResult(task, matched)
    if task.is_ranking:
        return TaskResult(task, evaluate_ranking(task, read_ranking(task, folder, separator), embed))
    return evaluate_supervised(task, read_supervised(task, folder, separator), embed)


@contextmanager
def _task_vectors(
    task: Task, formats: Sequence[Format], embed: Embedder, given: Set[Format]
) -> Iterator[tuple[Embedder, Mapping[Use, str]]]:
    """Yield the embedder to use until the context is left, when the file to save is written; and the files' uses."""
    named = task.embeddings or EmbeddingFile()
    load, save, over = named.load, named.save, given & set(formats)
    files: dict[Use, str] = {}
    if load and over:
        files["not_loaded"] = load
    if load and len(over) < len(formats):
        files["loaded"] = load
        read = _read(task, load)
        # If vectors were given too, take from the file only the requested ones, or its query would replace the given
        # one.
        embed = by_format(dict.fromkeys(over, embed), by_file(read)) if over else _by_whole_file(read)
    if not save:
        yield embed, files
    elif load or len(over) == len(formats):
        yield embed, {**files, "not_saved": save}
    else:
        with ExitStack() as stack:
            writer = _open(task, save, stack)
            yield _recorded(embed, writer, over), {**files, "saved": save}


def _read(task: Task, load: str) -> Embeddings:
    path = Path(load)
    require(
        path.is_file(),
        f"The task {task.name} loads its vectors from {load}, which does not exist",
        'run the task that saves it first, give vectors with <embeddings>, or take "embeddings" out of its line',
    )
    return read_embeddings(path)


def _by_whole_file(embeddings: Embeddings) -> Embedder:
    """Return an embedder of all vectors of a file, also of papers that the task's table lacks, as in the original."""
    vectors = Vectors({name: row for row, name in enumerate(embeddings.ids)}, embeddings.vectors)
    return lambda texts, task_format: vectors  # noqa: ARG005 - a file is of one format


def _open(task: Task, save: str, stack: ExitStack) -> Writer:
    """Open the file before anything is encoded, so that an error of writing is reported at once."""
    path = Path(save)
    try:
        return stack.enter_context(open_writer(path, layout_of(path)))
    except (InputError, UnavailableError) as error:
        raise UnavailableError(
            f"The task {task.name} can't save its vectors as {save} ({error.__cause__ or 'it is no file'}): name "
            'another file in its line, or take "embeddings" out of it.'
        ) from error


def _recorded(embed: Embedder, writer: Writer, given: Set[Format]) -> Embedder:
    def embed_and_write(texts: Sequence[Text], task_format: Format) -> Vectors:
        vectors = embed(texts, task_format)
        if task_format not in given:
            ids = list(vectors.rows)
            writer.write(ids, vectors.of(ids))
        return vectors

    return embed_and_write
