"""Turns texts into sparse vectors: weights of tokens of the model's vocabulary, most of which have none.

A sparse vector is float32 (entries, 2): the ids of its tokens, ascending, and their weights, which are above 0. Two are
compared by their dot product.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import InputError
from corpora.lazy import np
from encoders.architectures.registry import SPARSE
from encoders.cache import EmbeddingCache, cache_key
from encoders.models.card import ModelCard
from encoders.models.formats import Format, Precision
from encoders.models.model import Model
from encoders.registry import find_model
from encoders.runtimes.registry import GRAPH_VERSION
from encoders.runtimes.sessions import Sessions, make_sessions
from encoders.text_encoder import EncodingProgress, ignore
from encoders.tokens.batching import LongText, batches, parts
from encoders.tokens.tokenizer import cut_texts, load_tokenizer, well_formed

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_TEXTS = 2
"""Texts in a batch of each core: the weights of the whole vocabulary take 60 MB for a text of 512 tokens."""

_FLOAT_BITS, _KEPT_BITS = 23, 8
"""Bits of the fraction of a float32, and how many of them are kept."""


@dataclass(frozen=True, slots=True)
class SparseEncoder:
    """A sparse model ready to encode; made by `load_sparse_encoder`, safe to share between threads.

    Attributes:
        card: What the model declares; its dimension is the size of the vocabulary.
        runtime: Runtime and precision, such as `onnx-int8`.
        tokenizer: The tokenizer, which neither pads nor cuts.
        sessions: Function from heads to what runs a batch for them.
        query_weights: Weight of each token in a query, float32 (vocabulary,), if queries need no network.
        cache: Store of vectors, if there is one.
        long_text: Treatment of texts with more tokens than the model accepts; of passages, the largest weights count.
    """

    card: ModelCard
    runtime: str
    tokenizer: Tokenizer
    sessions: Sessions
    query_weights: np.ndarray | None = None
    cache: EmbeddingCache | None = None
    long_text: LongText = "start"

    def encode(
        self, texts: Sequence[str], task_format: Format = Format.PRX, done: EncodingProgress = ignore
    ) -> list[np.ndarray]:
        """Encode papers (`Format.PRX`), as the card's `text` writes them, or queries (`Format.QRY`).

        A document-only model looks the tokens of queries up in its table. It excludes special tokens on both sides, as
        OpenSearch does.

        Args:
            texts: The texts.
            task_format: What they are.
            done: Receiver of the progress; what it raises ends the work after a batch.

        Returns:
            A sparse vector, float32 (entries, 2), for each text.

        Raises:
            InputError: If the model has no such vectors, or gives weights that are not numbers.
        """
        self.card.head(task_format)
        prompts = [self.card.prompt(well_formed(text), task_format) for text in texts]
        if task_format is Format.QRY and self.query_weights is not None:
            done(len(prompts), block=len(prompts))
            return [self._looked_up(prompt, self.query_weights) for prompt in prompts]
        keys = self._keys(prompts)
        known = self.cache.get(keys) if self.cache else {}
        # By their first position: a text that occurs twice is encoded once.
        missing = {prompt: key for prompt, key in zip(prompts, keys, strict=True) if key not in known}
        done(len(prompts) - len(missing), block=len(prompts))
        for made in self._run(missing, done):
            if self.cache:
                self.cache.put(made)
            known |= made
        return [known[key].reshape(-1, 2) for key in keys]

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Return tokens of the vocabulary as texts."""
        return [self.tokenizer.id_to_token(number) or f"#{number}" for number in ids]

    def _looked_up(self, prompt: str, weights: np.ndarray) -> np.ndarray:
        ids = self.tokenizer.encode(prompt, add_special_tokens=False).ids[: self.card.max_tokens]
        there = np.zeros(self.card.dimension, np.float32)
        there[ids] = 1.0
        there[self._special()] = 0.0
        return as_entries(there * weights)

    def _special(self) -> list[int]:
        added = self.tokenizer.get_added_tokens_decoder()
        return [number for number, token in added.items() if token.special and number < self.card.dimension]

    def _keys(self, prompts: Sequence[str]) -> list[bytes]:
        fingerprint, made_by = self.card.fingerprint, f"{self.runtime}-v{GRAPH_VERSION}-{self.long_text}-sparse"
        return [cache_key(prompt, fingerprint, made_by) for prompt in prompts]

    def _run(self, missing: Mapping[str, bytes], done: EncodingProgress) -> Iterator[dict[bytes, np.ndarray]]:
        """Yield the vectors of texts, flat, by the texts' keys, after each part of the texts."""
        if not missing:
            return
        keys, before = list(missing.values()), len(self.tokenizer.encode("").ids) - 1
        token_ids, owners = cut_texts(self.tokenizer, list(missing), self.card.max_tokens, before, self.long_text)
        session, tokens = self.sessions((self.card.head(Format.PRX),)), sum(map(len, token_ids))
        left_out = self._special() if self.query_weights is not None else []
        owner_of = np.array(owners)
        for part in parts(session.each(batches(token_ids, _TEXTS)), owner_of):
            made: dict[int, np.ndarray] = {}
            for batch, (found,) in part:
                for row, weights in zip(batch.rows.tolist(), found, strict=True):
                    owner = owners[row]
                    made[owner] = np.maximum(made[owner], weights) if owner in made else weights
                done(float(batch.mask.sum()) / tokens * len(keys))
            yield {keys[owner]: self._checked(weights, left_out).ravel() for owner, weights in made.items()}

    def _checked(self, weights: np.ndarray, left_out: Sequence[int]) -> np.ndarray:
        if not np.isfinite(weights).all():
            raise InputError(f"The model {self.card.name} gave weights that are not numbers: its weights are damaged.")
        kept = weights.copy()
        kept[left_out] = 0.0
        return as_entries(kept)


def as_entries(weights: np.ndarray) -> np.ndarray:
    """Return the sparse vector, float32 (entries, 2), of the weights of all tokens, float32 (vocabulary,)."""
    ids = np.flatnonzero(weights > 0)
    return np.stack([ids.astype(np.float32), weights[ids]], axis=1)


def as_weights(entries: np.ndarray, size: int) -> np.ndarray:
    """Return the weights of all tokens, float32 (size,), of a sparse vector."""
    weights = np.zeros(size, np.float32)
    weights[entries[:, 0].astype(np.int64)] = entries[:, 1]
    return weights


def is_sparse(entries: np.ndarray, size: int) -> bool:
    """Return whether an array of finite numbers, float32 (entries, 2), is a sparse vector of a vocabulary's tokens."""
    ids, weights = entries[:, 0], entries[:, 1]
    within = not len(ids) or (ids[0] >= 0 and ids[-1] < size and bool((ids == ids.round()).all()))
    return bool(within and (ids[1:] > ids[:-1]).all() and (weights > 0).all())


def pruned(entries: np.ndarray, most: int, ratio: float = 0.0) -> np.ndarray:
    """Return a sparse vector, float32 (entries, 2), without its lightest tokens.

    It keeps the `most` heaviest tokens, of equal ones those with the lowest ids, as far as their weight is at least the
    `ratio` of the heaviest one's.
    """
    if not len(entries):
        return entries
    weights = entries[:, 1]
    kept = np.argsort(-weights, kind="stable")[:most]
    chosen: np.ndarray = entries[np.sort(kept[weights[kept] >= ratio * weights.max()])]
    return chosen


def rounded(entries: np.ndarray) -> np.ndarray:
    """Return a sparse vector whose weights have 9 significant bits, as Lucene keeps them (`FeatureField`).

    So all engines hold the same weights. Those below the least normal number of float32 are dropped.
    """
    step = 1 << (_FLOAT_BITS - _KEPT_BITS)
    # To the nearest: adding a half carries into the exponent where it must.
    bits = np.ascontiguousarray(entries[:, 1], np.float32).view(np.uint32)
    weights = ((bits + np.uint32(step // 2)) & np.uint32(~(step - 1) & 0xFFFFFFFF)).view(np.float32)
    kept = weights >= np.finfo(np.float32).tiny
    return np.stack([entries[kept, 0], weights[kept]], axis=1)


def load_sparse_encoder(
    model: str | Model,
    *,
    cache_dir: Path,
    runtime: str | None = None,
    precision: Precision | None = None,
    threads: int = 0,
    cache: EmbeddingCache | None = None,
    long_text: LongText = "start",
) -> SparseEncoder:
    """Prepare a sparse model; parameters and errors as of `encoders.encoder.load_encoder`."""
    found = check_sparse_model(find_model(model) if isinstance(model, str) else model)
    tokenizer = load_tokenizer(found.folder, found.card, cache_dir)
    made_by, sessions = make_sessions(found, tokenizer, cache_dir, runtime, precision, threads)
    table = found.query_weights() if found.query_weights else None
    return SparseEncoder(found.card, made_by, tokenizer, sessions, table, cache, long_text)


def check_sparse_model(model: Model) -> Model:
    """Return a model that makes sparse vectors; `InputError` for any other."""
    if model.card.architecture != SPARSE:
        raise InputError(
            f"The model {model.card.name} makes no sparse vectors",
            "name the folder or hub id of a SPLADE-like or a document-only sparse model",
        )
    return model
