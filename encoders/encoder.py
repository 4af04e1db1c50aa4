"""Texts to vectors: look up the cache, batch by length, run the graph, keep the result."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import InputError, UnavailableError
from encoders.batching import batches
from encoders.cache import EmbeddingCache, cache_key
from encoders.formats import Format
from encoders.graph import GRAPH_VERSION, build_graph
from encoders.registry import DEFAULT_MODEL, Model, find_model
from encoders.runtimes.base import Precision, Session
from encoders.runtimes.registry import Runtime, get_runtime
from encoders.tokenizer import load_tokenizer, well_formed
from encoders.weights import read_weights, weights_file

if TYPE_CHECKING:
    import numpy as np
    from tokenizers import Tokenizer

    from encoders.card import ModelCard


@dataclass(frozen=True, slots=True)
class Encoder:
    """A model ready to encode; made by `load_encoder`, safe to share between threads.

    Attributes:
        card: What the model declares.
        runtime: What runs it and how precisely, such as `onnx-int8`.
        tokenizer: Never pads, cuts at the card's length.
        session: Runs a batch.
        cache: Where vectors are kept, if anywhere.
    """

    card: ModelCard
    runtime: str
    tokenizer: Tokenizer
    session: Session
    cache: EmbeddingCache | None = None

    def encode(self, texts: Sequence[str], task_format: Format = Format.PRX) -> np.ndarray:
        """Encode texts for one task format.

        Args:
            texts: As the card's `text` renders papers, or plain queries.
            task_format: What the vectors are for.

        Returns:
            float32 (texts, dimension), row by row.
        """
        import numpy as np

        prompts = [self.card.prompt(well_formed(text), task_format) for text in texts]
        made_by = f"{self.runtime}-v{GRAPH_VERSION}"
        keys = [cache_key(prompt, self.card.fingerprint, made_by) for prompt in prompts]
        known = self.cache.get(keys) if self.cache else {}
        missing = {key: prompt for key, prompt in zip(keys, prompts, strict=True) if key not in known}
        if missing:
            fresh = dict(zip(missing, self._run(list(missing.values())), strict=True))
            if self.cache:
                self.cache.put(fresh)
            known |= fresh
        vectors = np.empty((len(texts), self.card.dimension), dtype=np.float32)
        for row, key in enumerate(keys):
            vectors[row] = known[key]
        return vectors

    def encode_formats(self, texts: Sequence[str], formats: Sequence[Format]) -> dict[Format, np.ndarray]:
        """Encode texts for several task formats; a model without codes runs once for all of them.

        Args:
            texts: As for `encode`.
            formats: The formats wanted.

        Returns:
            float32 (texts, dimension) by format.
        """
        if self.card.pooling == "code":
            return {task_format: self.encode(texts, task_format) for task_format in formats}
        shared = self.encode(texts)
        return dict.fromkeys(formats, shared)

    def _run(self, prompts: Sequence[str]) -> np.ndarray:
        import numpy as np

        token_ids = [encoding.ids for encoding in self.tokenizer.encode_batch_fast(prompts)]
        vectors = np.empty((len(prompts), self.card.dimension), dtype=np.float32)
        for batch in batches(token_ids):
            vectors[batch.rows] = self.session(batch.ids, batch.mask)
        if not np.isfinite(vectors).all():
            raise InputError(f"The model {self.card.name} gave vectors that are not numbers: its weights are damaged.")
        return vectors


def load_encoder(
    model: str | Model = DEFAULT_MODEL,
    *,
    cache_dir: Path,
    runtime: str = "onnx",
    precision: Precision = "int8",
    threads: int = 0,
    cache: EmbeddingCache | None = None,
) -> Encoder:
    """Make a model ready: find it, check its weights, build its graph once a machine, load the runtime.

    Args:
        model: What `find_model` found, or takes: a known name, folder or hub id.
        cache_dir: Where built graphs are kept.
        runtime: A name in `encoders.runtimes.registry`.
        precision: `int8` is twice as fast at a mean cosine of .995 to `fp32` (docs/benchmarks.md).
        threads: Cores to use; 0 for all.
        cache: Where vectors are kept; none if absent.

    Returns:
        The encoder.

    Raises:
        InputError: If the model or the runtime's name is wrong.
        UnavailableError: If the model, the runtime's package or a writable folder is missing.
    """
    found = find_model(model) if isinstance(model, str) else model
    chosen = get_runtime(runtime)
    tokenizer = load_tokenizer(found.folder, found.card)
    folder = _graph_folder(found, chosen, precision, cache_dir, tokenizer)
    return Encoder(found.card, f"{runtime}-{precision}", tokenizer, chosen.load(folder, threads), cache)


def _graph_folder(model: Model, runtime: Runtime, precision: Precision, cache_dir: Path, tokenizer: Tokenizer) -> Path:
    folder = cache_dir / "graphs" / f"{model.card.fingerprint}-{runtime.name}-{precision}-v{GRAPH_VERSION}"
    if folder.exists():
        return folder
    config = json.loads((model.folder / "config.json").read_text(encoding="utf-8"))
    if max(tokenizer.get_vocab().values()) >= int(config["vocab_size"]):
        raise InputError(f"The tokenizer in {model.folder} knows tokens that the model doesn't; fetch the model again.")
    graph = build_graph(read_weights(weights_file(model.folder)), config, model.card)
    calibration = list(batches([encoding.ids for encoding in tokenizer.encode_batch_fast(runtime.calibration_texts())]))
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Made beside and moved into place, so that a crash or a second process leaves no half-written graph.
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            part = Path(scratch) / "graph"
            part.mkdir()
            runtime.prepare(graph, precision, part, calibration)
            try:
                part.rename(folder)
            except OSError:
                if not folder.is_dir():  # otherwise another process was first, with the same graph
                    raise
    except OSError as error:
        raise UnavailableError(
            f"The model's graph can't be kept in {folder.parent} ({error}); "
            "free some disk, or set SES_CACHE_DIR to a folder that can be written."
        ) from error
    return folder
