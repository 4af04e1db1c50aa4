"""Our models with the methods of those of sentence-transformers, and as its class where a library asks for that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from corpora.errors import InputError, require
from corpora.installed import needing
from corpora.lazy import np
from encoders.models.formats import Format
from ses.models.loaded_model import LoadedModel, load_model

_FORMATS = {"query": Format.QRY, "document": Format.PRX, "passage": Format.PRX}
_SIMILARITIES = {"cosine": "cosine", "dot": "dot", "l2": "euclidean"}


class SentenceEncoder:
    """A model with the methods of a `SentenceTransformer`; the names of prompts are those of the model's formats.

    It computes on this processor and in batches of its own: `batch_size`, `device`, `show_progress_bar`, `pool` and
    `chunk_size` are taken and not heeded.

    Args:
        model: A loaded model, or what `ses.load_model` takes.
        default_prompt_name: Prompt where none is named, such as `clf`.
        **settings: Settings of `ses.load_model`.

    Attributes:
        prompts: The texts that the model reads before a text, by the names of prompts.
        default_prompt_name: As given.
        similarity_fn_name: How two vectors are compared: `cosine`, `dot` or `euclidean`.
    """

    prompts: dict[str, str]
    default_prompt_name: str
    similarity_fn_name: str

    def __init__(self, model: str | LoadedModel = "", default_prompt_name: str = "document", **settings: Any) -> None:
        loaded = isinstance(model, LoadedModel)
        require(not (loaded and settings), "A loaded model has its settings already", "leave them out")
        self._model: LoadedModel = model if isinstance(model, LoadedModel) else load_model(model, **settings)
        card = self._model.card
        formats: Mapping[str, Format] = {**{one.value: one for one in card.formats}, **_FORMATS}
        self.prompts = {name: card.prompts.get(one, "") for name, one in formats.items() if one in card.formats}
        self.similarity_fn_name = _SIMILARITIES[card.similarity]
        self._format(default_prompt_name)
        self.default_prompt_name = default_prompt_name

    @property
    def max_seq_length(self) -> int:
        """The number of tokens that the model reads of a text."""
        return self._model.card.max_tokens

    @property
    def device(self) -> str:
        """Where a caller should put tensors: always `cpu`."""
        return "cpu"

    def get_embedding_dimension(self) -> int:
        """Return the length of a vector."""
        return self._model.card.dimension

    def get_sentence_embedding_dimension(self) -> int:
        """Return the length of a vector."""
        return self.get_embedding_dimension()

    def get_max_seq_length(self) -> int:
        """Return the number of tokens that the model reads of a text."""
        return self.max_seq_length

    def encode(
        self,
        sentences: str | Sequence[str],
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int = 32,  # noqa: ARG002 - the signature is that of sentence-transformers
        show_progress_bar: bool | None = None,  # noqa: ARG002, FBT001
        output_value: str | None = "sentence_embedding",
        precision: str = "float32",
        convert_to_numpy: bool = True,  # noqa: FBT001, FBT002
        convert_to_tensor: bool = False,  # noqa: FBT001, FBT002
        device: Any = None,  # noqa: ARG002
        normalize_embeddings: bool = False,  # noqa: FBT001, FBT002
        truncate_dim: int | None = None,
        **_: Any,
    ) -> Any:
        """Encode texts.

        Args:
            sentences: One text or several.
            prompt_name: `query`, `document`, or a format of the model: `prx`, `qry`, `clf` or `rgn`.
            prompt: Must be None: the model's own prompts go with its formats.
            batch_size: Not heeded.
            show_progress_bar: Not heeded.
            output_value: Must be `sentence_embedding`.
            precision: Must be `float32`.
            convert_to_numpy: Whether to return an array; else a list of torch tensors.
            convert_to_tensor: Whether to return one torch tensor.
            device: Not heeded.
            normalize_embeddings: Whether to scale vectors to length 1.
            truncate_dim: Number of values to keep of each vector; all if None.

        Returns:
            float32 (texts, dimension), or (dimension,) for one text.

        Raises:
            InputError: If the model has no such format, or something other than vectors of texts is asked for.
        """
        from search_plugin.contract.legs import unit_rows

        require(prompt is None, "The prompts of a model can't be replaced", "give a prompt_name instead")
        require(
            output_value == "sentence_embedding" and precision == "float32",
            f"The model makes no {output_value} in {precision}",
            "leave output_value and precision out",
        )
        texts = [sentences] if isinstance(sentences, str) else list(sentences)
        require(all(isinstance(text, str) for text in texts), "The model reads texts only", "give a list of texts")
        vectors = self._model.encode(texts, self._format(prompt_name or self.default_prompt_name))
        vectors = vectors[:, :truncate_dim]
        if normalize_embeddings:
            vectors = unit_rows(vectors)
        found: Any = vectors[0] if isinstance(sentences, str) else vectors
        if convert_to_tensor:
            return _tensor(found)
        return found if convert_to_numpy else list(map(_tensor, found))

    def encode_query(self, sentences: str | Sequence[str], prompt_name: str | None = None, **given: Any) -> Any:
        """Encode queries; parameters, return value and errors as of `encode`."""
        return self.encode(sentences, prompt_name or "query", **given)

    def encode_document(self, sentences: str | Sequence[str], prompt_name: str | None = None, **given: Any) -> Any:
        """Encode documents; parameters, return value and errors as of `encode`."""
        return self.encode(sentences, prompt_name or "document", **given)

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Return the similarity of every vector of one side to every vector of the other.

        Args:
            embeddings1: Vectors (rows, dimension), or one vector.
            embeddings2: The same of the other side.

        Returns:
            float32 (rows, rows of the other side), a tensor if one side is a tensor.
        """
        from eval.measures.similarity import SIMILARITIES

        found = SIMILARITIES[self._model.card.similarity](_rows(embeddings1), _rows(embeddings2))
        return _tensor(found) if hasattr(embeddings1, "numpy") or hasattr(embeddings2, "numpy") else found

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Return the similarity of the vectors of each pair; parameters as of `similarity`."""
        from eval.measures.similarity import PAIRWISE

        found = PAIRWISE[self._model.card.similarity](_rows(embeddings1), _rows(embeddings2))
        return _tensor(found) if hasattr(embeddings1, "numpy") or hasattr(embeddings2, "numpy") else found

    def _format(self, prompt_name: str) -> str:
        if prompt_name not in self.prompts:
            raise InputError(f"The model has no prompt {prompt_name!r}", f"choose one of {', '.join(self.prompts)}")
        return _FORMATS.get(prompt_name, prompt_name)


def sentence_transformer(model: str | LoadedModel = "", **given: Any) -> Any:
    """Return a model that is a `SentenceTransformer` itself, for libraries that check the class, such as BERTopic.

    Args:
        model: As `SentenceEncoder` takes it.
        **given: What else `SentenceEncoder` takes.

    Returns:
        The model; it encodes, and can't be trained or saved.

    Raises:
        UnavailableError: If sentence-transformers isn't installed.
    """
    with needing("A SentenceTransformer needs sentence-transformers, which is not installed", "sentence-transformers"):
        from sentence_transformers import SentenceTransformer
        from torch.nn import Identity

    class Encoder(SentenceEncoder, SentenceTransformer):  # type: ignore[misc]
        def __init__(self) -> None:
            SentenceTransformer.__init__(self, modules=[Identity()])
            SentenceEncoder.__init__(self, model, **given)

    return Encoder()


def _rows(vectors: Any) -> np.ndarray:
    return np.atleast_2d(np.asarray(vectors, dtype=np.float32))


def _tensor(values: Any) -> Any:
    with needing("Tensors need torch, which is not installed", "torch"):
        import torch

    return torch.as_tensor(values)
