"""The interface of all rerankers, and the cache of their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from corpora.errors import InputError
from corpora.lazy import np
from encoders.cache import EmbeddingCache, cache_key
from encoders.models.card import ModelCard
from encoders.runtimes.registry import GRAPH_VERSION


class PairScorer(Protocol):
    """Scores texts for a query; threads may share it."""

    @property
    def card(self) -> ModelCard:
        """What the model declares."""

    @property
    def runtime(self) -> str:
        """Runtime and precision, such as `onnx-int8`."""

    def scores(self, query: str, texts: Sequence[str]) -> np.ndarray:
        """Return how well each text answers a query, float32 (texts,), larger for better."""


@dataclass(frozen=True, slots=True)
class CachedScorer:
    """Keeps the scores of pairs, so that no pair is read twice.

    Attributes:
        scorer: What scores those that are not kept.
        cache: The store.
    """

    scorer: PairScorer
    cache: EmbeddingCache

    @property
    def card(self) -> ModelCard:
        """What the model declares."""
        return self.scorer.card

    @property
    def runtime(self) -> str:
        """Runtime and precision."""
        return self.scorer.runtime

    def scores(self, query: str, texts: Sequence[str]) -> np.ndarray:
        """Return the scores of texts, float32 (texts,), those that are kept and those computed now."""
        made_by = f"{self.runtime}-v{GRAPH_VERSION}-pairs"
        keys = [cache_key(f"{len(query)}\0{query}\0{text}", self.card.fingerprint, made_by) for text in texts]
        known = self.cache.get(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            computed = self.scorer.scores(query, list(missing.values()))
            fresh = dict(zip(missing, computed[:, None], strict=True))
            self.cache.put(fresh)
            known |= fresh
        return np.array([known[key][0] for key in keys], dtype=np.float32)


def check_numbers(card: ModelCard, scores: np.ndarray) -> None:
    """Raise `InputError` if a model's scores, float32 (texts,), are no numbers."""
    if not np.isfinite(scores).all():
        raise InputError(f"The model {card.name} gave scores that are not numbers: its weights are damaged.")
