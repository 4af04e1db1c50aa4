"""Measures of judged queries under settings of search; each leg is searched, and each setting measured, once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from corpora.errors import require
from encoders.text_encoder import TextEncoder
from eval.measures.metrics import evaluate, parse_measure
from eval.retrieval.beir import JudgedQueries
from eval.retrieval.protocol import DEPTH, Seen, collect_legs
from eval.trec.runs import Run
from search_plugin.contract.engine import Index
from search_plugin.contract.schema import Bm25
from search_plugin.fusion.fusions import Legs, fusion_of
from search_plugin.fusion.search_settings import SearchSettings


def check_measure(name: str) -> None:
    """Raise `InputError` for a measure that is unknown, or needs more hits than trials have."""
    require(
        (parse_measure(name).cutoff or 0) <= DEPTH,
        f"Settings are tried on the first {DEPTH} hits of a query; give a cut-off of that or less.",
    )


@dataclass(slots=True)
class Trials:
    """Measures settings on judged queries: `trials(settings)` is float64 (queries,), in the order of the judgments.

    Attributes:
        judged: Texts and judgments.
        index: Holds the corpus. While constants of BM25 are tried, nobody else can search it.
        encoder: Of the model that made the index.
        measure: As `eval.measures.metrics.parse_measure` takes it.
        seen: Documents to remove from the collection, by query.
    """

    judged: JudgedQueries
    index: Index
    encoder: TextEncoder
    measure: str
    seen: Seen = field(default_factory=dict)
    _lexical: dict[tuple[Bm25, float], Mapping[str, Legs]] = field(default_factory=dict)
    _vectors: Mapping[str, Legs] = field(default_factory=dict)
    _values: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many settings were measured."""
        return len(self._values)

    def __call__(self, settings: SearchSettings) -> np.ndarray:
        """Return the value of every judged query; errors as of `eval.measures.metrics.evaluate` and `Index.search`."""
        key = repr(settings)
        if key not in self._values:
            fuse = fusion_of(settings.name)
            rankings = {
                query: [(hit.id, hit.score) for hit in fuse(legs, settings.weights)[:DEPTH]]
                for query, legs in self.legs(settings).items()
            }
            [values] = evaluate(Run("tuning", rankings), self.judged.qrels, [self.measure]).per_query.values()
            self._values[key] = np.array([values[query] for query in self.judged.qrels.gains])
        return self._values[key]

    def legs(self, settings: SearchSettings) -> dict[str, Legs]:
        """Return the hits of each leg for each query, the lexical leg first."""
        if not self._vectors:
            self._vectors = collect_legs(self.judged.texts, self.index, self.encoder, "vector", seen=self.seen)
        key = (settings.bm25, settings.title_boost)
        if key not in self._lexical:
            with self.index.scored_by(settings.bm25):
                self._lexical[key] = collect_legs(
                    self.judged.texts, self.index, None, "lexical", seen=self.seen, title_boost=settings.title_boost
                )
        return {query: {**legs, **self._vectors[query]} for query, legs in self._lexical[key].items()}
