"""The models that all requests share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING

from corpora.errors import InputError
from corpora.lazy import np
from search_plugin.ranking.stages import RERANKERS
from ses.service.cache import Cache
from ses.service.wrapped_encoders import Batched, Remembering

if TYPE_CHECKING:
    from encoders.models.formats import QueryEncoder
    from encoders.rerankers.scorer import PairScorer
    from encoders.text_encoder import TextEncoder
    from search_plugin.contract.engine import Index
    from ses.models.library_models import LibraryModels
    from ses.service.metrics import Metrics

_VECTOR_BYTES = 16 << 20
"""Bytes of remembered vectors: about 10,000 of 384 numbers."""


class ServiceModels:
    """The models of a library for many requests: what they encode at the same time is joined, and vectors are kept.

    Args:
        models: The models of the library.
        rerankers: The rerankers that clients may name.
        metrics: Counts what is encoded.
    """

    def __init__(self, models: LibraryModels, rerankers: Sequence[str], metrics: Metrics) -> None:
        self._models, self._listed, self._metrics = models, rerankers, metrics
        self._encoders: dict[str, TextEncoder] = {}
        self._loading = Lock()  # or two threads would load the same model
        self._vectors: Cache[np.ndarray] = Cache(
            _VECTOR_BYTES, lambda one: 500 + one.nbytes, counted=metrics.counts_cache("vectors")
        )

    def of_leg(self, index: Index, leg: str = "", by: QueryEncoder | None = None) -> TextEncoder:
        """Return the encoder of a vector leg of an index; arguments and errors as of `LibraryModels.of_leg`."""
        return self._shared(lambda: self._models.of_leg(index, leg, by))

    def of_papers(self, index: Index, task_format: str) -> TextEncoder:
        """Return the encoder of an index's vectors of papers; arguments and errors as of `LibraryModels.of_papers`."""
        return self._shared(lambda: self._models.of_papers(index, task_format))

    def of_new_index(self) -> TextEncoder:
        """Return the encoder that a new index would have: the settings name it."""
        return self._shared(lambda: self._models.encoder(self._models.to_write(None)))

    @property
    def rerankers(self) -> Mapping[str, str]:
        """The rerankers that clients may name, by their names in the settings and the last parts of these."""
        return {known: one for one in self._listed[::-1] for known in (short_name(one), one)}

    def scorer(self, name: str) -> PairScorer:
        """Return a reranker of `rerankers`; `InputError` for any other, as a client can't choose what is loaded."""
        if name not in self.rerankers:
            known = ", ".join([*RERANKERS, *map(short_name, self._listed)])
            raise InputError(f"There is no reranker {name[:80]!r} here", f"give <rerank> one of {known}")
        with self._loading:
            return self._models.scorer(self.rerankers[name])

    def close(self) -> None:
        """Release the encoders."""
        self._encoders.clear()

    def _shared(self, load: Callable[[], TextEncoder]) -> TextEncoder:
        with self._loading:
            encoder = load()
            fingerprint = encoder.card.fingerprint
            if fingerprint not in self._encoders:
                self._encoders[fingerprint] = Remembering(Batched(self._metrics.counting(encoder)), self._vectors)
            return self._encoders[fingerprint]


def short_name(model: str) -> str:
    """Return a model's name without the path of its folder, which is no business of clients."""
    return model.replace("\\", "/").rstrip("/").rpartition("/")[2]
