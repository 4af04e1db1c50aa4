"""Our encoders as models of MTEB (Muennighoff et al., EACL 2023): `mteb.evaluate(MtebEncoder(encoder), tasks)`.

Written against mteb 2.26: the class is what its `EncoderProtocol` asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError, UnavailableError
from encoders.formats import Format
from eval.retrieval.exact import PAIRWISE, SIMILARITIES

if TYPE_CHECKING:
    import numpy as np

    from encoders.card import ModelCard
    from encoders.encoder import TextEncoder

_BY_PROMPT = {"query": Format.QRY, "document": Format.PRX, "passage": Format.PRX}
_BY_TASK = {"Classification": Format.CLF, "MultilabelClassification": Format.CLF, "Regression": Format.RGN}
_SCORING = {"cosine": "cosine", "dot": "dot", "l2": "euclidean"}


def format_of(prompt_type: object, task_type: str, card: ModelCard) -> Format:
    """Return what a text of a task is encoded for.

    Args:
        prompt_type: `query` or `document` where the task tells them apart, or None.
        task_type: As in the metadata of the task, such as `Classification`.
        card: Of the model.

    Returns:
        QRY for queries and PRX for documents; otherwise CLF or RGN by the task, where the model has them, or PRX.
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
        """What MTEB files results under: `ses/NAME` with the fingerprint as revision."""
        return model_meta(self._encoder.card)

    def encode(
        self,
        inputs: Iterable[Mapping[str, Any]],
        *,
        task_metadata: Any,
        hf_split: str,  # noqa: ARG002 - the signature is MTEB's
        hf_subset: str,  # noqa: ARG002
        prompt_type: object = None,
        **kwargs: Any,  # noqa: ARG002
    ) -> np.ndarray:
        """Encode batches of texts.

        Args:
            inputs: Each a mapping with `text`, and for documents `title` and `body`, all lists.
            task_metadata: Of the task; its type decides where the prompt type doesn't.
            hf_split: Not heeded.
            hf_subset: Not heeded.
            prompt_type: Query, document or None.
            **kwargs: Not heeded: batches are cut by length here.

        Returns:
            float32 (texts, dimension).

        Raises:
            InputError: If a batch holds no text.
        """
        texts = [text for batch in inputs for text in _texts(batch, self._encoder.card)]
        return self._encoder.encode(texts, format_of(prompt_type, str(task_metadata.type), self._encoder.card))

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Return how close every vector of one side is to every one of the other, a torch tensor."""
        return _tensor(SIMILARITIES[self._encoder.card.similarity](_rows(embeddings1), _rows(embeddings2)))

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Return how close the vectors of each pair are, a torch tensor."""
        return _tensor(PAIRWISE[self._encoder.card.similarity](_rows(embeddings1), _rows(embeddings2)))


def model_meta(card: ModelCard, how: str = "") -> Any:
    """Return MTEB's description of a model.

    Args:
        card: Of the model.
        how: What else the results depend on, such as `hybrid-minmax`.

    Returns:
        An `mteb.ModelMeta`.

    Raises:
        UnavailableError: If mteb isn't installed.
    """
    try:
        from mteb.models.model_meta import ModelMeta, ScoringFunction
    except ImportError:
        raise UnavailableError("Evaluating on MTEB needs mteb: run pip install 'ses[mteb]'.") from None
    short = plain(Path(card.name).name)
    facts = {
        "name": f"ses/{short}-{how}" if how else f"ses/{short}",
        "revision": card.fingerprint,
        "max_tokens": card.max_tokens,
        "embed_dim": card.dimension,
        "similarity_fn_name": ScoringFunction(_SCORING[card.similarity]),
    }
    return ModelMeta.create_empty(facts)


def _texts(batch: Mapping[str, Any], card: ModelCard) -> list[str]:
    if "title" in batch and "body" in batch:
        pairs = zip(batch["title"], batch["body"], strict=True)
        return [card.text((title or "").strip(), (body or "").strip()) for title, body in pairs]
    if "text" not in batch:
        raise InputError("The task's inputs aren't texts; this model reads nothing else.")
    return [text or "" for text in batch["text"]]


def _rows(vectors: Any) -> np.ndarray:
    import numpy as np

    rows: np.ndarray = np.atleast_2d(np.asarray(vectors, dtype=np.float32))
    return rows


def _tensor(values: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(values)


def plain(name: str) -> str:
    """Return a name as lower-case letters, digits and hyphens."""
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in name.lower())
    return kept.strip("-")[:60] or "data"
