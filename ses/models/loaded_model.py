"""Models that encode texts, for Python programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError
from corpora.lazy import np
from encoders.cache import EmbeddingCache
from encoders.encoder import load_encoder
from encoders.models.formats import parse_format
from ses.argument_validation import checked, checked_methods
from ses.settings import load_settings

if TYPE_CHECKING:
    from corpora.paper import Paper
    from encoders.models.card import ModelCard
    from encoders.models.model import Model
    from encoders.rerankers.scorer import PairScorer
    from encoders.sparse import SparseEncoder
    from encoders.text_encoder import TextEncoder
    from search_plugin.pages.hit import Hit
    from ses.settings import Settings


@checked_methods
@dataclass(frozen=True, slots=True, repr=False)
class LoadedModel:
    """A model ready to encode; made by `load_model`, safe to share between threads.

    Attributes:
        encoder: The encoder used.

    Example:
        >>> model = ses.load_model()
        >>> model.encode(["A virus", "A lung"], format="qry").shape == (2, model.card.dimension)
        True
    """

    encoder: TextEncoder

    @property
    def card(self) -> ModelCard:
        """The model's card."""
        return self.encoder.card

    @property
    def formats(self) -> tuple[str, ...]:
        """The task formats that it has vectors for."""
        return tuple(name.value for name in self.card.formats)

    def encode(self, texts: Sequence[str], format: str = "prx") -> np.ndarray:  # noqa: A002 - the option's name
        """Encode texts.

        Args:
            texts: Plain texts, such as queries.
            format: The task of the vectors: `prx`, `qry`, `clf` or `rgn`.

        Returns:
            float32 (texts, dimension), row by row.

        Raises:
            InputError: If the model has no such vectors.
        """
        return self.encoder.encode(list(texts), parse_format(format))

    def encode_papers(self, papers: Iterable[Paper | Hit], format: str = "prx") -> np.ndarray:  # noqa: A002
        """Encode papers or hits by title and abstract; parameters, return value and errors as of `encode`."""
        from corpora.paper import Paper

        given = (one if isinstance(one, Paper) else one.paper for one in papers)
        return self.encode([self.card.text(paper.title, paper.abstract) for paper in given], format)

    def __reduce__(self) -> str:
        raise InputError("A loaded model can't be pickled", "load it in the other process by ses.load_model")

    def __repr__(self) -> str:
        return f"<model {self.card.name}: {self.card.dimension} numbers, formats {', '.join(self.formats)}>"


@checked
def load_model(name: str = "", **settings: Any) -> LoadedModel:
    """Load a model, from the hub if necessary.

    Args:
        name: A known name, a folder or a hub id; if empty, that of the settings, else the default model.
        **settings: Such as `runtime`, `precision`, `long_text` or `threads`; they override `SES_*` and `ses.toml`.

    Returns:
        The model.

    Raises:
        InputError: If a setting is wrong, or the folder holds no model.
        UnavailableError: If the model can't be fetched, or the runtime isn't installed.

    Example:
        >>> vectors = ses.load_model().encode_papers(library["mine"])
        >>> len(vectors) == len(library["mine"])
        True
    """
    from encoders.registry import find_model

    in_force = load_settings(**settings, **({"model": name} if name else {}))
    return LoadedModel(make_encoder(in_force, find_model(in_force.model_name)))


def make_encoder(settings: Settings, model: Model) -> TextEncoder:
    """Load the model of the settings; errors as of `load_model`."""
    return load_encoder(model, **_running(settings), long_text=settings.long_text)


def make_sparse_encoder(settings: Settings, model: Model) -> SparseEncoder:
    """Load a model of sparse vectors, with the runtime and the cache of the settings; errors as of `load_model`."""
    from encoders.sparse import load_sparse_encoder

    return load_sparse_encoder(model, **_running(settings), long_text=settings.long_text)


def make_scorer(settings: Settings, name: str) -> PairScorer:
    """Load a reranker as the settings say; errors as of `encoders.rerankers.registry.load_reranker`."""
    from encoders.rerankers.registry import load_reranker

    return load_reranker(name, **_running(settings))


def _running(settings: Settings) -> dict[str, Any]:
    """Return what the settings say of how models run, and where they keep what they computed."""
    cache = EmbeddingCache(settings.cache_dir / "embeddings.sqlite") if settings.embedding_cache else None
    return {
        "cache_dir": settings.cache_dir,
        "runtime": settings.runtime,
        "precision": settings.precision,
        "threads": settings.threads,
        "cache": cache,
    }
