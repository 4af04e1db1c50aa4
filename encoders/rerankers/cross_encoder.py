"""Cross-encoders: one network reads the query and a paper together, and gives the pair a score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.lazy import np
from encoders.architectures.pairs import SCORE
from encoders.models.card import ModelCard
from encoders.models.formats import Format, Precision
from encoders.models.model import Model
from encoders.rerankers.scorer import check_numbers
from encoders.runtimes.sessions import Sessions, make_sessions
from encoders.tokens.pairs import load_pair_tokenizer, pair_batches
from encoders.tokens.tokenizer import tokenized, well_formed

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True, slots=True)
class CrossEncoder:
    """A cross-encoder ready to score; see `PairScorer`.

    Use it when accuracy counts more than time: every pair of query and paper takes a pass of the network.

    Attributes:
        card: What the model declares.
        runtime: Runtime and precision, such as `onnx-int8`.
        tokenizer: The tokenizer, which cuts the longer text of a pair first.
        sessions: What runs a batch of pairs.
    """

    card: ModelCard
    runtime: str
    tokenizer: Tokenizer
    sessions: Sessions

    def scores(self, query: str, texts: Sequence[str]) -> np.ndarray:
        """Return the score of each text, float32 (texts,), as sentence-transformers' `CrossEncoder.predict` does."""
        first = self.card.prompt(well_formed(query), Format.QRY)
        pairs = tokenized(self.tokenizer, [(first, well_formed(text)) for text in texts])
        session, found = self.sessions((SCORE,)), np.empty(len(texts), dtype=np.float32)
        for batch, (scores,) in session.each(pair_batches(pairs, segments=self.card.network.options["segments"])):
            found[batch.rows] = scores[:, 0]
        check_numbers(self.card, found)
        return found


def load(model: Model, cache_dir: Path, runtime: str | None, precision: Precision | None, threads: int) -> CrossEncoder:
    """Prepare a cross-encoder; arguments and errors as of `encoders.rerankers.registry.load_reranker`."""
    tokenizer = load_pair_tokenizer(model.folder, model.card, cache_dir)
    made_by, sessions = make_sessions(model, tokenizer, cache_dir, runtime, precision, threads)
    sessions((SCORE,))  # so that the first search within a time does not pay for it
    return CrossEncoder(model.card, made_by, tokenizer, sessions)
