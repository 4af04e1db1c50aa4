"""Embedding files that a task file names: vectors to use instead of encoding, and vectors to save for other tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from corpora.errors import InputError, UnavailableError
from encoders.files.embeddings import Embeddings
from encoders.files.writing import Writer
from encoders.formats import Format
from eval.embedder import Embedder, Text, Vectors, by_file, by_format
from eval.scirepeval.task_file import Task

Use = Literal["loaded", "saved", "not_loaded", "not_saved"]


@dataclass(frozen=True, slots=True)
class TaskVectors:
    """Where a task's vectors come from and go to.

    Attributes:
        embed: Makes them, or takes them from a file.
        files: Files of the task file that were used, by how they were used.
    """

    embed: Embedder
    files: Mapping[Use, str]


@contextmanager
def task_vectors(
    task: Task, formats: Sequence[Format], embed: Embedder, given: AbstractSet[Format]
) -> Iterator[TaskVectors]:
    """Take a task's vectors from the file it loads, or write those that are made to the file it saves.

    As in the original, a path is relative to the working directory, and a task that loads saves nothing. Unlike in the
    original, loaded vectors aren't rounded to float16, so that a task's numbers don't depend on which task made its
    vectors; a file is written whole or, if the task fails, not at all; and vectors that come from files aren't saved
    again.

    Args:
        task: The task.
        formats: What its vectors are for.
        embed: Makes vectors if the task loads no file.
        given: Formats whose vectors `embed` has from files, which take precedence over a file that the task loads.

    Yields:
        The embedder to use until the context is left, when the file is written.

    Raises:
        InputError: If the file to load isn't there, or is damaged.
        UnavailableError: If the file to save can't be written.
    """
    load = task.embeddings.load if task.embeddings else None
    save = task.embeddings.save if task.embeddings else None
    over = given & set(formats)
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
        yield TaskVectors(embed, files)
    elif load or len(over) == len(formats):
        yield TaskVectors(embed, {**files, "not_saved": save})
    else:
        with ExitStack() as stack:
            writer = _open(task, save, stack)
            yield TaskVectors(_recorded(embed, writer, over), {**files, "saved": save})


def _read(task: Task, load: str) -> Embeddings:
    from encoders.files.reading import read_embeddings

    path = Path(load)
    if not path.is_file():
        raise InputError(
            f"The task {task.name} loads its vectors from {load}, which does not exist",
            'run the task that saves it first, give vectors with <embeddings>, or take "embeddings" out of its line',
        )
    return read_embeddings(path)


def _by_whole_file(embeddings: Embeddings) -> Embedder:
    """Return an embedder of all vectors of a file, also of papers that the task's table lacks, as in the original."""
    rows = {name: row for row, name in enumerate(embeddings.ids)}

    def embed(texts: Sequence[Text], task_format: Format) -> Vectors:  # noqa: ARG001 - a file is of one format
        return Vectors(rows, embeddings.vectors, tuple(text.id for text in texts if text.id not in rows))

    return embed


def _open(task: Task, save: str, stack: ExitStack) -> Writer:
    """Open the file before anything is encoded, so that an error of writing is reported at once."""
    from encoders.files.writing import layout_of, open_writer

    path = Path(save)
    try:
        return stack.enter_context(open_writer(path, layout_of(path)))
    except (InputError, UnavailableError) as error:
        raise UnavailableError(
            f"The task {task.name} can't save its vectors as {save} ({error.__cause__ or 'it is no file'}): name "
            'another file in its line, or take "embeddings" out of it.'
        ) from error


def _recorded(embed: Embedder, writer: Writer, given: AbstractSet[Format]) -> Embedder:
    def embed_and_write(texts: Sequence[Text], task_format: Format) -> Vectors:
        vectors = embed(texts, task_format)
        if task_format not in given:
            ids = list(vectors.rows)
            writer.write(ids, vectors.of(ids))
        return vectors

    return embed_and_write
