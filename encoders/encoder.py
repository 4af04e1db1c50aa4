"""Turns texts into vectors: looks in the cache, makes batches by length, runs the network and stores the result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import InputError
from corpora.lazy import np
from encoders.architectures.registry import PAIRS, SPARSE, STATIC
from encoders.cache import EmbeddingCache, cache_key
from encoders.models.card import ModelCard
from encoders.models.formats import Format, Precision
from encoders.models.model import Model
from encoders.registry import DEFAULT_MODEL, find_model
from encoders.runtimes.registry import GRAPH_VERSION
from encoders.runtimes.sessions import Sessions, make_sessions
from encoders.text_encoder import EncodingProgress, TextEncoder, ignore, shared
from encoders.tokens.batching import CPU_TOKENS, GPU_TOKENS, Batch, LongText, batches, parts
from encoders.tokens.tokenizer import cut_texts, load_tokenizer, well_formed

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True, slots=True)
class Encoder:
    """A model ready to encode; made by `load_encoder`, safe to share between threads.

    Attributes:
        card: What the model declares.
        runtime: Runtime and precision, such as `onnx-int8`.
        tokenizer: The tokenizer, which neither pads nor cuts.
        sessions: Function from heads to what runs a batch for them.
        cache: Store of vectors, if there is one.
        long_text: Treatment of texts with more tokens than the model accepts.

    Example:
        >>> encoder = load_encoder("all-MiniLM-L6-v2", cache_dir=Path("cache"))
        >>> encoder.encode(["masks against a virus", "graph search"], Format.QRY).shape
        (2, 384)
    """

    card: ModelCard
    runtime: str
    tokenizer: Tokenizer
    sessions: Sessions
    cache: EmbeddingCache | None = None
    long_text: LongText = "start"

    def encode(self, texts: Sequence[str], task_format: Format = Format.PRX) -> np.ndarray:
        """Encode texts for one task format: float32 (texts, dimension), row by row.

        Papers are written as the card's `text` does; queries are plain. `InputError` if the model has no such vectors.
        """
        return self.encode_formats(texts, [task_format])[task_format]

    def count_tokens(self, texts: Sequence[str], task_format: Format = Format.PRX) -> int:
        """Return how many tokens the model reads of texts in a task format, special ones included."""
        prompts = [self.card.prompt(well_formed(text), task_format) for text in texts]
        return sum(map(len, self._pieces(prompts, task_format)[0]))

    def encode_formats(
        self, texts: Sequence[str], formats: Sequence[Format], done: EncodingProgress = ignore
    ) -> dict[Format, np.ndarray]:
        """Encode texts as for `encode`, for several task formats, in as few passes over the text as possible.

        Returns float32 (texts, dimension) by format. What `done` raises, which receives the progress, ends the work
        after a batch. `InputError` if the model has no such vectors.
        """
        clean = [well_formed(text) for text in texts]
        vectors: dict[Format, np.ndarray] = {}
        groups = self.card.passes(formats)
        for group in groups:
            heads = {task_format: self.card.head(task_format) for task_format in group}
            prompts = [self.card.prompt(text, group[0]) for text in clean]
            found = self._looked_up(prompts, tuple(dict.fromkeys(heads.values())), group[0], shared(done, len(groups)))
            vectors |= {task_format: found[head] for task_format, head in heads.items()}
        return {task_format: vectors[task_format] for task_format in formats}

    def _looked_up(
        self, prompts: Sequence[str], heads: tuple[str, ...], like: Format, done: EncodingProgress
    ) -> dict[str, np.ndarray]:
        """Return vectors of prompts, float32 (prompts, dimension) by head, from the cache or computed."""
        keys = {head: self._keys(prompts, head) for head in heads}
        known = self.cache.get([key for of_head in keys.values() for key in of_head]) if self.cache else {}
        # By their first position: a text that occurs twice is encoded once, so the second one counts as known.
        missing = {
            prompt: row for row, prompt in enumerate(prompts) if any(keys[head][row] not in known for head in heads)
        }
        places = list(missing.values())
        done(len(prompts) - len(missing), block=len(prompts))
        for part, made in self._run(list(missing), heads, like, done):
            fresh = {
                keys[head][places[number]]: vector
                for head, vectors in made.items()
                for number, vector in zip(part, vectors, strict=True)
            }
            if self.cache:
                self.cache.put(fresh)
            known |= fresh
        found = {head: np.empty((len(prompts), self.card.dimension), dtype=np.float32) for head in heads}
        for head, rows in found.items():
            for row, key in enumerate(keys[head]):
                rows[row] = known[key]
        return found

    def _keys(self, prompts: Sequence[str], head: str) -> list[bytes]:
        # The fingerprint is a hash over the whole card: computed once, not for every text.
        fingerprint, made_by = self.card.fingerprint, f"{self.runtime}-v{GRAPH_VERSION}-{self.long_text}-{head}"
        return [cache_key(prompt, fingerprint, made_by) for prompt in prompts]

    def _run(
        self, prompts: Sequence[str], heads: tuple[str, ...], like: Format, done: EncodingProgress
    ) -> Iterator[tuple[Sequence[int], dict[str, np.ndarray]]]:
        """Yield the numbers of encoded texts with their vectors, float32 (part, dimension) by head, after each part."""
        if not prompts:
            return
        token_ids, owners = self._pieces(prompts, like)
        owner_of = np.array(owners)
        for part in parts(self._ran(token_ids, heads, len(prompts), done), owner_of):
            rows = np.sort(np.concatenate([batch.rows for batch, _ in part]))
            made = np.empty((len(heads), len(rows), self.card.dimension), dtype=np.float32)
            for batch, found in part:
                for number, vectors in enumerate(found):
                    made[number, np.searchsorted(rows, batch.rows)] = vectors
            complete, means = sorted(set(owner_of[rows].tolist())), self._means(made, owner_of[rows])
            yield complete, dict(zip(heads, means, strict=True))

    def _ran(
        self, token_ids: Sequence[Sequence[int]], heads: tuple[str, ...], texts: int, done: EncodingProgress
    ) -> Iterator[tuple[Batch, list[np.ndarray]]]:
        """Yield the batches of some texts with their vectors."""
        tokens = sum(map(len, token_ids))
        size = GPU_TOKENS if "-cuda" in self.runtime else CPU_TOKENS
        for batch, vectors in self.sessions(heads).each(batches(token_ids, tokens=size)):
            done(float(batch.mask.sum()) / tokens * texts)
            yield batch, vectors

    def _pieces(self, prompts: Sequence[str], like: Format) -> tuple[list[list[int]], list[int]]:
        """Return the token ids that the network reads, and the number of the text that each list is of."""
        before = len(self.tokenizer.encode(self.card.prompt("", like)).ids) - 1
        return cut_texts(self.tokenizer, prompts, self.card.max_tokens, before, self.long_text)

    def _means(self, made: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Return the mean of each text's passages, float32 (heads, texts, dimension); `owners` are their texts."""
        if not np.isfinite(made).all():
            raise InputError(f"The model {self.card.name} gave vectors that are not numbers: its weights are damaged.")
        if self.card.similarity == "cosine" and not made.any(axis=2).all():
            raise InputError(
                f"The model {self.card.name} gave a vector of zeros, which has no cosine to another: its weights are "
                'damaged, or {"similarity": "l2"} is missing in its ses_card.json.'
            )
        _, starts, counts = np.unique(owners, return_index=True, return_counts=True)
        if len(starts) == len(owners):
            return made
        means: np.ndarray = np.add.reduceat(made, starts, axis=1) / counts[None, :, None]
        if self.card.network.normalize:
            means /= np.maximum(np.linalg.norm(means, axis=2, keepdims=True), 1e-12)
        return means.astype(np.float32)


def load_encoder(
    model: str | Model = DEFAULT_MODEL,
    *,
    cache_dir: Path,
    runtime: str | None = None,
    precision: Precision | None = None,
    threads: int = 0,
    cache: EmbeddingCache | None = None,
    long_text: LongText = "start",
) -> TextEncoder:
    """Prepare a model: find it, check its weights, build its graphs once per machine, load the runtime.

    Args:
        model: A model of `find_model`, or what it takes: a known name, folder or hub id.
        cache_dir: Folder of built graphs.
        runtime: A name in `encoders.runtimes.registry`; if None, onnx, or what an exported model was exported for.
        precision: `int8` is the fastest, at a mean cosine of .998 to `fp32` (docs/benchmarks.md, Encoding). If None,
            the fastest that the runtime has.
        threads: Cores to use; 0 for all.
        cache: Store of vectors; they are not stored without one.
        long_text: Treatment of texts with more tokens than the model accepts.

    Returns:
        The encoder.

    Raises:
        InputError: If the model or the runtime's name is wrong.
        UnavailableError: If the model, the runtime's package or a writable folder is missing.
    """
    found = find_model(model) if isinstance(model, str) else model

    def loaded(single: Model) -> TextEncoder:
        if single.card.architecture == STATIC:
            from encoders.static import load_static

            return load_static(single, cache_dir)
        if single.card.architecture == SPARSE:
            raise InputError(
                f"The model {single.card.name} makes sparse vectors, which are a leg of their own",
                "name it with <sparse>, and another model with <model>",
            )
        if single.card.architecture == PAIRS:
            raise InputError(
                f"The model {single.card.name} scores pairs of texts and makes no vectors",
                "name it with <rerank>, and another model with <model>",
            )
        tokenizer = load_tokenizer(single.folder, single.card, cache_dir)
        made_by, sessions = make_sessions(single, tokenizer, cache_dir, runtime, precision, threads)
        return Encoder(single.card, made_by, tokenizer, sessions, cache, long_text)

    if not found.members:
        return loaded(found)
    from encoders.composed import compose

    return compose(found, loaded)
