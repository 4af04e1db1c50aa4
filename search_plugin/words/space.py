"""The words of an index's papers as a few numbers of each paper, without labels and without a model.

Terms are weighted by (1 + log of their count) times the inverse document frequency, and mapped to the directions in
which the papers differ most: latent semantic analysis (Deerwester et al., "Indexing by latent semantic analysis",
1990). Vectors that a network makes have little of what single words say; for tags and forecasts, these stand beside
them.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from corpora.lazy import np
from corpora.paper import Paper
from encoders.models.formats import Format
from search_plugin.words.terms import terms_of

FEWEST_PAPERS = 40
"""Papers without which no words are fitted: there is a direction for every four papers, up to those of `PARTS`."""

MOST_TERMS = 6_000
"""Terms that have a place, those of the most papers first: 1.5 MB for 256 directions. More of them gain nothing."""

_RARE = 3
"""Papers that a term needs."""

_MORE, _ROUNDS, _BLOCK = 16, 4, 500


@dataclass(frozen=True, slots=True)
class WordPart:
    """How words stand beside the vectors of a format.

    Attributes:
        format: The task format.
        numbers: Numbers of the words, those of the first directions.
        weight: Length of the words' part, that of the other part being 1.
    """

    format: str
    numbers: int
    weight: float


PARTS: Mapping[Format, tuple[int, float]] = {Format.CLF: (128, 0.5), Format.RGN: (256, 1.0)}
"""Numbers and weight of the words of each format that can have them; docs/results.md says what they bring."""


@dataclass(frozen=True)
class WordSpace:
    """The directions of the words of an index's papers; an index keeps it, so that all its papers have the same.

    Attributes:
        language: Name of the language in which terms are found (`search_plugin.words.languages`).
        parts: What stands beside the vectors of which formats.
        numbers: How many directions there are.
        terms: The terms, separated by spaces.
        directions: For each term its place in all directions, in base64, as int8 (terms, numbers).
        scales: For each term the size of one unit of that, in base64, as little-endian float32.

    Raises:
        ValueError: If the sizes do not fit each other.
    """

    language: str
    parts: tuple[WordPart, ...]
    numbers: int
    terms: str = field(repr=False)
    directions: str = field(repr=False)
    scales: str = field(repr=False)

    def __post_init__(self) -> None:
        count = len(self._places)
        sizes = (len(self.directions), count * self.numbers), (len(self.scales), 4 * count)
        if any(found != 4 * -(-held // 3) for found, held in sizes):
            raise ValueError("The words of an index are damaged.")
        if any(not 0 < part.numbers <= self.numbers for part in self.parts):
            raise ValueError("An index has fewer words than its vectors.")

    @classmethod
    def fitted(cls, texts: Iterable[str], language: str, formats: Iterable[Format]) -> WordSpace:
        """Return the directions of the words of some papers, given as title and abstract, at least `FEWEST_PAPERS`.

        The formats get words, of those in `PARTS`.
        """
        counts = [_counts(text, language) for text in texts]
        held = Counter(term for own in counts for term in own)
        terms = sorted((term for term, papers in held.items() if papers >= _RARE), key=lambda one: (-held[one], one))
        terms = terms[:MOST_TERMS]
        rarity = np.array([1 + math.log((1 + len(counts)) / (1 + held[term])) for term in terms], np.float32)
        places = {term: place for place, term in enumerate(terms)}
        parts = {one: PARTS[one] for one in formats}
        wanted = max(1, min(max((numbers for numbers, _ in parts.values()), default=1), len(counts) // 4))

        entries = [_entries(own, places) for own in counts]

        def rows() -> Iterator[np.ndarray]:
            for start in range(0, len(entries), _BLOCK):
                yield _unit(_dense(entries[start : start + _BLOCK], len(terms)) * rarity)

        found = _directions(rows, len(terms), wanted) * rarity
        scales = np.maximum(np.abs(found).max(axis=0, initial=0.0), np.finfo(np.float32).tiny) / 127
        return cls(
            language,
            tuple(WordPart(one.value, min(numbers, wanted), weight) for one, (numbers, weight) in parts.items()),
            wanted,
            " ".join(terms),
            base64.b64encode(np.round(found / scales).T.astype(np.int8).tobytes()).decode("ascii"),
            base64.b64encode(scales.astype("<f4").tobytes()).decode("ascii"),
        )

    def beside(self, vectors: np.ndarray, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """Return vectors of papers by a model, float32 (papers, dimension), with the words of their texts beside them.

        By format, float32 (papers, dimension and the format's numbers), of length 1.
        """
        entries = [_entries(_counts(text, self.language), self._places) for text in texts]
        words, whole = _dense(entries, len(self._places)) @ self._map, _unit(vectors)
        return {
            part.format: _unit(np.concatenate([whole, part.weight * _unit(words[:, : part.numbers])], axis=1))
            for part in self.parts
        }

    def fingerprint_after(self, fingerprint: str) -> str:
        """Return the fingerprint of vectors with these words, given that of a model: no others compare with them."""
        return hashlib.sha256(f"{fingerprint} {self._digest}".encode()).hexdigest()[:16]

    @cached_property
    def _digest(self) -> str:
        whole = (self.language, self.parts, self.numbers, self.terms, self.directions, self.scales)
        return hashlib.sha256(" ".join(map(str, whole)).encode()).hexdigest()

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {term: place for place, term in enumerate(self.terms.split())}

    @cached_property
    def _map(self) -> np.ndarray:
        """The directions, float32 (terms, numbers)."""
        steps = np.frombuffer(base64.b64decode(self.directions), np.int8).reshape(-1, self.numbers)
        made: np.ndarray = steps * np.frombuffer(base64.b64decode(self.scales), "<f4")[:, None]
        return made.astype(np.float32, copy=False)


def words_text(paper: Paper) -> str:
    """Return the text in which a paper's words are found."""
    return f"{paper.title} {paper.abstract}"


def _counts(text: str, language: str) -> Mapping[str, int]:
    return Counter(filter(None, terms_of(text, language)))


def _entries(counts: Mapping[str, int], places: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of a paper's terms, and 1 + log of their counts, float32."""
    held = {place: count for term, count in counts.items() if (place := places.get(term)) is not None}
    return np.array([*held], np.int64), 1 + np.log(np.array([*held.values()], np.float32))


def _dense(entries: Sequence[tuple[np.ndarray, np.ndarray]], width: int) -> np.ndarray:
    """Return entries of papers as rows, float32 (papers, width)."""
    made = np.zeros((len(entries), width), np.float32)
    for row, (places, weights) in zip(made, entries, strict=True):
        row[places] = weights
    return made


def _unit(rows: np.ndarray) -> np.ndarray:
    made: np.ndarray = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return made.astype(np.float32, copy=False)


def _directions(rows: Callable[[], Iterator[np.ndarray]], width: int, count: int) -> np.ndarray:
    """Return the first right singular vectors of rows, float32 (count, width); zeros beyond their rank.

    They are found by subspace iteration from random directions, a few more than asked for (Halko et al., "Finding
    structure with randomness", 2011, algorithm 4.4). `rows` yields blocks of rows, dense, since a product of dense
    blocks is as fast as that of sparse ones here and needs numpy alone.
    """
    across = np.random.default_rng(0).standard_normal((width, min(width, count + _MORE))).astype(np.float32)
    for _ in range(_ROUNDS):
        across = np.linalg.qr(_squared(rows, across))[0]
    lengths, turn = np.linalg.eigh(across.T @ _squared(rows, across))
    kept = (across @ turn[:, ::-1]).T[:count]
    known = lengths[::-1][:count] > 1e-6 * max(lengths[-1:], default=1.0)
    made = np.zeros((count, width), np.float32)
    made[: len(kept)] = kept * known[:, None]
    return made


def _squared(rows: Callable[[], Iterator[np.ndarray]], across: np.ndarray) -> np.ndarray:
    """Return the rows' transpose times the rows times some columns."""
    made = np.zeros(across.shape, np.float32)
    for block in rows():
        made += block.T @ (block @ across)
    return made
