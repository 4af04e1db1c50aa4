"""What a run has done so far: for its progress and its end, also if the user stops it; and the rejected records."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO

import orjson

from corpora.errors import SesError, StoppedError
from corpora.paper import Rejected
from corpora.progress import Progress
from corpora.writing import WRITABLE_DATA, explaining
from search_plugin.contract.engine import Engine, Index


class Halt(Exception):  # noqa: N818 - no error: it ends the encoder's thread
    """Ends the encoder's thread after a batch, because its consumer has stopped."""


@dataclass(slots=True)
class Work:
    """The work of a run.

    Attributes:
        progress: Receives the progress.
        cached: Whether vectors are kept in a cache.
        before: Papers that the index held already.
        total: Papers to write.
        size: Characters of their texts.
        cost: Cost of encoding a paper of the current block, relative to the mean of all.
        encoded: Number of them that were encoded.
        written: Number of them that the engine has.
        seconds: Seconds spent in the encoder.
        stopped: Set when the run stops early.
    """

    progress: Progress
    cached: bool = True
    before: int = 0
    total: int = 0
    size: int = 0
    cost: float = 1.0
    encoded: float = 0.0
    written: int = 0
    seconds: float = 0.0
    stopped: threading.Event = field(default_factory=threading.Event)

    def begin(self, sizes: Sequence[int]) -> None:
        """Begin to encode a block of papers with texts of so many characters."""
        self.cost = sum(sizes) / len(sizes) / (self.size / self.total) if self.size else 1.0

    def done(self, papers: float, *, block: float = 0.0) -> None:
        """Count encoded papers, as `encoders.text_encoder.EncodingProgress`; raises `Halt` if the run has stopped."""
        if self.stopped.is_set():
            raise Halt
        self.encoded += papers
        self.progress.advance(papers, block=block, cost=self.cost)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Add the time in the block to the seconds in the encoder."""
        begun = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - begun

    def stop(self, index: str, *, published: bool) -> StoppedError:
        """Return what to tell a user who has stopped the run: what is kept, and how to resume."""
        held, more = self.before + self.written, int(self.encoded) - self.written
        place = f"the {'index' if published else 'unfinished index'} {index}"
        kept = f"{held:,} of {self.before + self.total:,} papers are in {place}" if held else ""
        vectors = f"the vectors of about {more:,} papers are in the cache" if self.cached and more > 0 else ""
        progress_made = " and ".join(filter(None, (kept, vectors))) or f"nothing was written to the index {index} yet"
        return StoppedError(f"Stopped: {progress_made}", "index the same papers again to resume")


@contextmanager
def guarded(engine: Engine, index: Index, work: Work, *, published: bool) -> Iterator[None]:
    """Leave no empty generation behind if the block fails, and raise `StoppedError` if the user stops it."""
    empty = not published and not index.count()
    try:
        yield
    except BaseException as error:
        if empty and not work.written:
            # The first error is what the user should read.
            with suppress(SesError):
                engine.discard(index)
        if isinstance(error, KeyboardInterrupt):
            raise work.stop(index.name, published=published) from None
        raise


class DeadLetter:
    """Writes rejected records as JSON lines. The file is created at the first one, and replaces that of the last run.

    Raises `UnavailableError` if it can't be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self._file: BinaryIO | None = None
        self._explaining = partial(explaining, f"The list of rejected records {path}", WRITABLE_DATA)
        with self._explaining():
            path.unlink(missing_ok=True)

    def add(self, rejected: Rejected) -> None:
        """Write one record."""
        with self._explaining():
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self.path.open("wb")
            told = {"line": rejected.line, "reason": rejected.reason, "id": rejected.id}
            self._file.write(orjson.dumps(told, option=orjson.OPT_APPEND_NEWLINE))
        self.count += 1

    def close(self) -> None:
        """Finish the file."""
        if self._file is not None:
            self._file.close()
