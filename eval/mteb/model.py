"""Our encoders as models of MTEB (Muennighoff et al., EACL 2023): `mteb.evaluate(MtebEncoder(encoder), tasks)`.

Written against mteb 2.26: the class is what its `EncoderProtocol` asks for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from corpora.errors import require
from corpora.installed import extra
from encoders.models.card import ModelCard
from encoders.models.formats import Format
from encoders.text_encoder import TextEncoder
from eval.embedder import Text, by_encoder
from eval.measures.similarity import PAIRWISE, SIMILARITIES
from eval.optional import optional

_BY_PROMPT = {"query": Format.QRY, "document": Format.PRX, "passage": Format.PRX}
_BY_TASK = {"Classification": Format.CLF, "MultilabelClassification": Format.CLF, "Regression": Format.RGN}
_SCORING = {"cosine": "cosine", "dot": "dot", "l2": "euclidean"}

LONGEST_NAME = 60
"""Most characters that `plain` returns: an index's name may have 64."""


def format_of(prompt_type: object, task_type: str, card: ModelCard) -> Format:
    """Return the format of a text: QRY for queries, PRX for documents, otherwise CLF or RGN by the task, or PRX.

    `prompt_type` is `query` or `document` where the task tells them apart, or None. CLF and RGN are taken where the
    model has them.
    """
    if prompt_type is not None:
        return _BY_PROMPT[str(getattr(prompt_type, "value", prompt_type))]
    by_task = _BY_TASK.get(task_type, Format.PRX)
    return by_task if by_task in card.formats else Format.PRX


class MtebEncoder:
    """An encoder as MTEB calls it.

    Args:
        encoder: Makes the vectors.
    """

    def __init__(self, encoder: TextEncoder) -> None:
        self._encoder = encoder

    @property
    def mteb_model_meta(self) -> Any:
        """MTEB's keys of stored results: `ses/NAME`, the fingerprint as revision, and the model's runtime."""
        return model_meta(self._encoder)

    def encode(
        self,
        inputs: Iterable[Mapping[str, Any]],
        *,
        task_metadata: Any,
        hf_split: str,  # noqa: ARG002 - the signature is MTEB's
        hf_subset: str,  # noqa: ARG002
        prompt_type: object = None,
        **kwargs: Any,
    ) -> np.ndarray:
        """Encode batches of texts.

        Args:
            inputs: Each a mapping with `text`, and for documents `title` and `body`, all lists.
            task_metadata: Of the task; its type decides where the prompt type doesn't.
            hf_split: Not heeded.
            hf_subset: Not heeded.
            prompt_type: Query, document or None.
            **kwargs: MTEB's `encode_kwargs`. A batch size isn't heeded: batches are cut by length here.

        Returns:
            float32 (texts, dimension).

        Raises:
            InputError: If a batch holds no text, or another precision is asked for.
        """
        refuse_precision(kwargs)
        parts = [part for batch in inputs for part in _titles_and_bodies(batch)]
        texts = [Text(str(row), title, body) for row, (title, body) in enumerate(parts)]
        task_format = format_of(prompt_type, str(task_metadata.type), self._encoder.card)
        # In the same blocks as our own protocols, so that the vectors are equal to the last bit.
        return by_encoder(self._encoder)(texts, task_format).matrix

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Return the similarity of every vector of one side to every vector of the other, a torch tensor."""
        return _tensor(SIMILARITIES[self._encoder.card.similarity](_rows(embeddings1), _rows(embeddings2)))

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Return the similarity of the vectors of each pair, a torch tensor."""
        return _tensor(PAIRWISE[self._encoder.card.similarity](_rows(embeddings1), _rows(embeddings2)))


def model_meta(encoder: TextEncoder) -> Any:
    """Return MTEB's description of a model, an `mteb.ModelMeta`; `UnavailableError` if mteb isn't installed.

    MTEB does not repeat a task if it has a result with the same name, revision and `experiment_kwargs`. So one of these
    must differ whenever the vectors differ.
    """
    mteb = optional("mteb.models.model_meta", "Evaluating on MTEB needs mteb", extra("mteb"))
    card = encoder.card
    facts = {
        "name": f"ses/{plain(Path(card.name).name)}",
        "revision": card.fingerprint,
        "max_tokens": card.max_tokens,
        "embed_dim": card.dimension,
        "similarity_fn_name": mteb.ScoringFunction(_SCORING[card.similarity]),
        "experiment_kwargs": {"runtime": runtime_of(encoder)},
    }
    return mteb.ModelMeta.create_empty(facts)


def refuse_precision(encode_kwargs: Mapping[str, Any]) -> None:
    """Raise `InputError` if MTEB asks for vectors of another precision: it would store ours under that precision."""
    require(
        encode_kwargs.get("precision", "float32") == "float32",
        "MTEB's precision of vectors has no effect: leave it out of encode_kwargs, and load the model with the "
        "precision you want.",
    )


def runtime_of(encoder: TextEncoder) -> str:
    """Return the runtime of a model, or of the parts of a composed one, such as `onnx-int8`."""
    return "+".join(dict.fromkeys(_runtimes(encoder)))


def _runtimes(encoder: TextEncoder) -> list[str]:
    from encoders.composed import Ensemble, FormatRouter
    from encoders.encoder import Encoder

    match encoder:
        case Encoder(runtime=runtime, long_text=long_text):
            return [runtime if long_text == "start" else f"{runtime}-{long_text}"]
        case Ensemble(members=members):
            return [runtime for member in members for runtime in _runtimes(member)]
        case FormatRouter(members=members):
            return [runtime for member in members.values() for runtime in _runtimes(member)]
    return [type(encoder).__name__]


def _titles_and_bodies(batch: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    if "title" in batch and "body" in batch:
        pairs = zip(batch["title"], batch["body"], strict=True)
        return [((title or "").strip(), (body or "").strip()) for title, body in pairs]
    require("text" in batch, "The task's inputs aren't texts; this model reads texts only.")
    return [(text or "", None) for text in batch["text"]]


def _rows(vectors: Any) -> np.ndarray:
    return np.atleast_2d(np.asarray(vectors, dtype=np.float32))


def _tensor(values: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(values)


def plain(name: str) -> str:
    """Return a name as lower-case letters, digits and hyphens; a long one is cut, and a hash of it appended."""
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in name.lower()).strip("-") or "data"
    if len(kept) <= LONGEST_NAME:
        return kept
    return f"{kept[: LONGEST_NAME - 9]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
