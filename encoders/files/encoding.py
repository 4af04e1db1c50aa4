"""Encodes any number of texts into embedding files, block by block."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

from corpora.errors import UnavailableError
from corpora.lazy import np
from corpora.paper import Rejected
from corpora.progress import Progress, Silent
from encoders.files.embeddings import Writer
from encoders.files.texts import TextRecord
from encoders.models.formats import Format
from encoders.text_encoder import EncodingProgress, TextEncoder

BLOCK = 512
"""Texts encoded together; cut by position alone, so that a second run makes the same batches and the same vectors."""


@dataclass(frozen=True, slots=True)
class EncodeReport:
    """What was done.

    Attributes:
        encoded: Texts whose vectors were written.
        duplicates: Records left out because one of the same id came before.
        rejected: Records that can't be encoded.
    """

    encoded: int
    duplicates: int
    rejected: int


def encode_texts(
    records: Iterable[TextRecord | Rejected],
    encoder: TextEncoder,
    writers: Mapping[Format, Writer],
    reject: Callable[[Rejected], None],
    progress: Progress | None = None,
) -> EncodeReport:
    """Encode texts and write their vectors; memory does not grow with their number. Return what was done.

    A text that asks for a format itself gets that vector from every writer, whatever the writer's own format: papers
    and queries may be mixed, and the files of several formats have the same rows. The records are those of
    `encoders.files.texts`, and there is a writer for each format; `reject` receives the records that can't be encoded.
    Raises `UnavailableError` if a disk is full.
    """
    progress = progress or Silent()
    intake = _Intake(encoder.card.formats, reject, progress)
    encoded = 0
    texts = intake.texts(records)
    while block := list(islice(texts, BLOCK)):
        ids = [text.id for text in block]
        for task_format, vectors in _vectors(block, encoder, list(writers), progress.advance).items():
            writers[task_format].write(ids, vectors)
        encoded += len(block)
    return EncodeReport(encoded, intake.duplicates, intake.rejected)


@dataclass(slots=True)
class _Intake:
    """Lets through what can be encoded, and counts what can't."""

    formats: tuple[Format, ...]
    reject: Callable[[Rejected], None]
    progress: Progress
    duplicates: int = 0
    rejected: int = 0

    def texts(self, records: Iterable[TextRecord | Rejected]) -> Iterator[TextRecord]:
        # An unnamed database of SQLite spills to a temporary file, so any number of ids fits.
        with closing(sqlite3.connect("", isolation_level=None)) as ids:
            ids.execute("PRAGMA journal_mode = OFF")
            ids.execute("CREATE TABLE seen (id TEXT PRIMARY KEY) WITHOUT ROWID")
            for record in map(self._checked, records):
                if isinstance(record, Rejected):
                    self.reject(record)
                    self.rejected += 1
                    self.progress.advance(0, 1)
                elif _is_new(ids, record.id):
                    yield record
                else:
                    self.duplicates += 1

    def _checked(self, record: TextRecord | Rejected) -> TextRecord | Rejected:
        # One record must not end a long run, as an error of the model would.
        if isinstance(record, Rejected) or record.task_format in (None, *self.formats):
            return record
        return Rejected(record.line, f"The model has no {record.task_format} vectors, which it asks for.", record.id)


def _is_new(ids: sqlite3.Connection, name: str) -> bool:
    try:
        return ids.execute("INSERT OR IGNORE INTO seen VALUES (?)", (name,)).rowcount == 1
    except sqlite3.Error as error:
        raise UnavailableError(
            f"The ids can't be kept in the folder for temporary files ({error}); "
            "free some disk, or set SQLITE_TMPDIR to another folder."
        ) from error


def _vectors(
    block: Sequence[TextRecord], encoder: TextEncoder, formats: Sequence[Format], done: EncodingProgress
) -> dict[Format, np.ndarray]:
    """Return the vectors of a block, float32 (texts, dimension) by format."""
    prompts = [encoder.card.text(text.title, text.abstract) for text in block]
    if all(text.task_format is None for text in block):
        return encoder.encode_formats(prompts, formats, done)
    rows: dict[Format | None, list[int]] = {}
    for row, text in enumerate(block):
        rows.setdefault(text.task_format, []).append(row)
    vectors = {name: np.empty((len(block), encoder.card.dimension), dtype=np.float32) for name in formats}
    for own, chosen in rows.items():
        part = [prompts[row] for row in chosen]
        made = encoder.encode_formats(part, formats if own is None else [own], done)
        if own is not None:
            made = dict.fromkeys(formats, made[own])
        for name in formats:
            vectors[name][chosen] = made[name]
    return vectors
