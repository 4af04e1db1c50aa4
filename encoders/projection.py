"""Shorter vectors: a rotation by principal components, cut after the first directions, and then the length 1.

The rotation is that of principal component analysis without centring (Jolliffe, "Principal Component Analysis", 2002,
section 14.2.3): of all linear maps to so few numbers, it keeps most of the dot products of the vectors it is fitted on.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from corpora.checksums import sha256_of_text
from corpora.errors import require
from corpora.lazy import np
from encoders.models.card import ModelCard
from encoders.models.formats import Format
from encoders.text_encoder import EncodingProgress, TextEncoder, ignore


def rotation(vectors: np.ndarray, dimension: int) -> np.ndarray:
    """Return the directions in which vectors have most of their length: unit vectors at right angles, the best first.

    From float32 (vectors, numbers), at least as many vectors as directions, to float32 (dimension, numbers). Raises
    `InputError` if there are too few vectors.
    """
    require(
        len(vectors) >= dimension,
        f"A rotation to {dimension} numbers needs as many papers, and there are {len(vectors)}; give more.",
    )
    given = vectors.astype(np.float64)
    _, directions = np.linalg.eigh(given.T @ given)
    kept: np.ndarray = directions.T[::-1][:dimension].astype(np.float32)
    return kept


@dataclass(frozen=True)
class VectorProjection:
    """Makes the vectors of a model shorter; an index keeps it, so that its queries are projected like its papers.

    Attributes:
        fingerprint: Fingerprint of the model.
        numbers: Numbers of its vectors.
        dimension: Numbers of a shorter vector.
        directions: The rotation in base64, little-endian float16 (dimension, numbers): 98 kB for 128 of 384 numbers.

    Raises:
        ValueError: If the rotation is of another size.
    """

    fingerprint: str
    numbers: int
    dimension: int
    directions: str = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.directions) != 4 * -(-2 * self.dimension * self.numbers // 3):
            raise ValueError("A projection is damaged.")

    @classmethod
    def fitted(cls, vectors: np.ndarray, dimension: int, fingerprint: str) -> VectorProjection:
        """Return the projection to `dimension` numbers that suits some vectors of a model, float32 (vectors, numbers).

        Raises `InputError` if there are fewer vectors than numbers that are kept.
        """
        # Half the bytes of float32. Papers and queries have the same map, so its rounding moves no paper.
        directions = base64.b64encode(rotation(vectors, dimension).astype("<f2").tobytes()).decode("ascii")
        return cls(fingerprint, vectors.shape[1], dimension, directions)

    def shortened(self, vectors: np.ndarray) -> np.ndarray:
        """Return vectors, float32 (..., numbers), as shorter ones of length 1, float32 (..., dimension)."""
        turned = self.turned(vectors)
        unit: np.ndarray = turned / np.maximum(np.linalg.norm(turned, axis=-1, keepdims=True), 1e-12)
        return unit

    def turned(self, vectors: np.ndarray) -> np.ndarray:
        """Return vectors rotated and cut, not scaled: a linear map, so sums stay sums."""
        turned: np.ndarray = vectors @ self._map.T
        return turned

    def fingerprint_after(self, fingerprint: str) -> str:
        """Return the fingerprint of shortened vectors, given that of a model: no other vectors compare with them."""
        return sha256_of_text(f"{fingerprint} {self._digest}")[:16]

    @cached_property
    def _digest(self) -> str:
        return sha256_of_text(f"{self.numbers} {self.directions}")

    @cached_property
    def _map(self) -> np.ndarray:
        held = np.frombuffer(base64.b64decode(self.directions), "<f2")
        return held.reshape(self.dimension, self.numbers).astype(np.float32)


def check_projectable(card: ModelCard, dimension: int) -> None:
    """Raise `InputError` if the vectors of a model can't be projected to so many numbers."""
    require(
        card.similarity == "cosine",
        f"The vectors of {card.name} are compared by {card.similarity}, and only those of the cosine can be shorter",
        "leave <dimension> out",
    )
    require(
        0 < dimension < card.dimension,
        f"Vectors of {card.dimension} numbers can't be projected to {dimension}",
        f"choose a <dimension> from 1 to {card.dimension - 1}, or {card.dimension} for whole vectors",
    )


def projected_card(card: ModelCard, projection: Sequence[VectorProjection]) -> ModelCard:
    """Return the card of a model followed by a projection; the card itself if there is none."""
    for one in projection:
        papers_by = one.fingerprint_after(card.papers_by) if card.papers_by else ""
        made = one.fingerprint_after(card.fingerprint)
        return replace(card, dimension=one.dimension, papers_by=papers_by, projected=made)
    return card


@dataclass(frozen=True, slots=True)
class ProjectedEncoder:
    """A model followed by a projection; its vectors in a cache are those before the projection.

    Attributes:
        card: The card of both.
        encoder: The model.
        projection: The projection.
    """

    card: ModelCard
    encoder: TextEncoder
    projection: VectorProjection

    def encode(self, texts: Sequence[str], task_format: Format = Format.PRX) -> np.ndarray:
        """Encode texts for one task format: float32 (texts, dimension), as `Encoder.encode`."""
        return self.projection.shortened(self.encoder.encode(texts, task_format))

    def count_tokens(self, texts: Sequence[str], task_format: Format = Format.PRX) -> int:
        """Return how many tokens the model reads of texts in a task format."""
        return self.encoder.count_tokens(texts, task_format)

    def encode_formats(
        self, texts: Sequence[str], formats: Sequence[Format], done: EncodingProgress = ignore
    ) -> dict[Format, np.ndarray]:
        """Encode texts for several task formats: float32 (texts, dimension) by format, as `Encoder.encode_formats`."""
        made = self.encoder.encode_formats(texts, formats, done)
        return {task_format: self.projection.shortened(vectors) for task_format, vectors in made.items()}


def projected(encoder: TextEncoder, projection: Sequence[VectorProjection]) -> TextEncoder:
    """Return an encoder followed by a projection; the encoder itself if there is none."""
    for one in projection:
        return ProjectedEncoder(projected_card(encoder.card, projection), encoder, one)
    return encoder
