"""Encoders of the service that wrap another one: one remembers vectors, one joins concurrent calls into batches."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from threading import Event, Lock
from typing import cast

from corpora.lazy import np
from encoders.models.card import ModelCard
from encoders.models.formats import Format
from encoders.text_encoder import EncodingProgress, TextEncoder, ignore
from ses.service.cache import Cache

MOST_TEXTS = 64
"""Texts of a joined batch. A call of as many texts is encoded by itself, so that short calls don't wait for it."""


class WrappedEncoder:
    """An encoder that does what another one does, unless a subclass says otherwise; see `TextEncoder`.

    Args:
        encoder: The other one.
    """

    def __init__(self, encoder: TextEncoder) -> None:
        self._encoder = encoder

    @property
    def card(self) -> ModelCard:
        """What the model declares."""
        return self._encoder.card

    def encode(self, texts: Sequence[str], task_format: Format = Format.PRX) -> np.ndarray:
        """Encode texts for one task format."""
        return self._encoder.encode(texts, task_format)

    def count_tokens(self, texts: Sequence[str], task_format: Format = Format.PRX) -> int:
        """Return how many tokens the model reads."""
        return self._encoder.count_tokens(texts, task_format)

    def encode_formats(
        self, texts: Sequence[str], formats: Sequence[Format], done: EncodingProgress = ignore
    ) -> dict[Format, np.ndarray]:
        """Encode texts for several task formats."""
        return self._encoder.encode_formats(texts, formats, done)


class Remembering(WrappedEncoder):
    """Encodes single texts once, because readers ask for the same words again and page by page.

    Several at once, as programs send them, are encoded as they come.

    Args:
        encoder: The encoder.
        vectors: Keeps vectors; several models may share it.
    """

    def __init__(self, encoder: TextEncoder, vectors: Cache[np.ndarray]) -> None:
        super().__init__(encoder)
        self._vectors = vectors

    def encode(self, texts: Sequence[str], task_format: Format = Format.PRX) -> np.ndarray:
        """Encode texts for one task format; see `TextEncoder`."""
        if len(texts) != 1:
            return self._encoder.encode(texts, task_format)
        # A hash, so that a long text takes no more memory than a short one.
        text = hashlib.blake2b(texts[0].encode("utf-8", "surrogatepass"), digest_size=16).digest()
        key = (self.card.fingerprint, task_format, text)
        return self._vectors.get(key, lambda: self._encoder.encode(texts, task_format)).copy()


@dataclass(eq=False, slots=True)
class _Call:
    """Texts of one thread; `woken` is set once they are encoded, or once this thread has to encode for all."""

    texts: Sequence[str]
    task_format: Format
    woken: Event = field(default_factory=Event)
    answer: np.ndarray | Exception | None = None


class Batched(WrappedEncoder):
    """An encoder that joins the concurrent calls of threads into batches.

    A call never waits for others to come: it is encoded at once if none is running, and otherwise together with all
    calls of its format that came meanwhile. The thread of the first one encodes for those that wait with it, then wakes
    the next one. Vectors are those of separate calls, except for rounding of float32 (at most 1e-6), as int8 rounds
    every token by its own scale (`encoders.runtimes.quantized`).

    Args:
        encoder: The encoder of the batches.
    """

    def __init__(self, encoder: TextEncoder) -> None:
        super().__init__(encoder)
        self._lock = Lock()
        self._waiting: list[_Call] = []
        self._busy = False

    def encode(self, texts: Sequence[str], task_format: Format = Format.PRX) -> np.ndarray:
        """Encode texts for one task format; see `TextEncoder`."""
        if not 0 < len(texts) < MOST_TEXTS:
            return self._encoder.encode(texts, task_format)
        call = _Call(texts, task_format)
        with self._lock:
            self._waiting.append(call)
            leads, self._busy = not self._busy, True
        if not leads:
            call.woken.wait()
        if call.answer is None:
            self._lead()
        if isinstance(call.answer, Exception):
            raise call.answer
        return cast("np.ndarray", call.answer)

    def _lead(self) -> None:
        """Encode for the first of the waiting calls, which is this thread's, and those that fit with it."""
        with self._lock:
            calls = self._joined()
        try:
            self._answer(calls)
        finally:
            # If this thread was interrupted, the others are not answered, and one of them takes over.
            left = [call for call in calls[1:] if call.answer is None]
            with self._lock:
                self._waiting[:0] = left
                following = list(islice(self._waiting, 1))
                self._busy = bool(following)
            for call in (*(one for one in calls if one.answer is not None), *following):
                call.woken.set()

    def _joined(self) -> list[_Call]:
        """Take the first waiting call, and later ones of its format while they fit into a batch."""
        calls: list[_Call] = []
        room = MOST_TEXTS
        for call in [one for one in self._waiting if one.task_format == self._waiting[0].task_format]:
            if len(call.texts) > room:
                break
            calls.append(call)
            room -= len(call.texts)
        taken = set(map(id, calls))
        self._waiting = [call for call in self._waiting if id(call) not in taken]
        return calls

    def _answer(self, calls: Sequence[_Call]) -> None:
        """Encode the texts of calls together; if that fails, each by itself, so that errors are those of their call."""
        texts = [text for call in calls for text in call.texts]
        try:
            vectors = self._encoder.encode(texts, calls[0].task_format)
        except Exception as error:  # noqa: BLE001 - it is raised in the thread of its call
            if len(calls) == 1:
                calls[0].answer = error
            else:
                for call in calls:
                    self._answer([call])
            return
        start = 0
        for call in calls:
            call.answer = vectors[start : start + len(call.texts)].copy()
            start += len(call.texts)
