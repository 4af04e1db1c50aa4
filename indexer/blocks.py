"""Blocks of papers, the unit of encoding: cut by position in the corpus, and encoded here or elsewhere.

Vectors of blocks are those of the model, whole: an index whose vectors are shorter, or have words beside them, makes
those when it writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from corpora.lazy import np
from corpora.paper import Accepted, Paper, Record
from encoders.models.formats import Format
from encoders.projection import VectorProjection
from encoders.text_encoder import EncodingProgress, TextEncoder, ignore, scaled, shared
from indexer.work import Work
from search_plugin.contract.engine import Document, Refused
from search_plugin.contract.schema import SEARCHED, SENTENCES, IndexSchema, SparseField
from search_plugin.words.sentences import sentence_texts
from search_plugin.words.space import WordSpace, words_text

if TYPE_CHECKING:
    from encoders.sparse import SparseEncoder

BLOCK = 512
"""Papers of a block."""


@dataclass(frozen=True, slots=True)
class PaperBlock:
    """Papers at neighbouring positions of a corpus, which are encoded together.

    Attributes:
        number: Its place among the blocks of the corpus, from 0.
        papers: The papers to write; one that a later record replaces is not among them.
    """

    number: int
    papers: Sequence[Paper]


BlockStream = Generator[PaperBlock, None, None]
"""Blocks of a corpus in order; who reads them closes it."""


@dataclass(frozen=True, slots=True)
class SparsePlan:
    """The sparse vectors of a paper: the field's format, the model, and which tokens are kept."""

    format: str
    model: str
    fingerprint: str
    most: int
    ratio: float

    @classmethod
    def of(cls, field: SparseField) -> SparsePlan:
        """Return the plan of a field."""
        return cls(field.format, field.model, field.fingerprint, field.most, field.ratio)


@dataclass(frozen=True, slots=True)
class OwnPlan:
    """A format whose vectors are of a model of its own: the format, and the model."""

    format: str
    model: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class VectorPlan:
    """Which vectors each paper gets, and what makes them.

    Attributes:
        model: Name of the model, which finds it again.
        fingerprint: Fingerprint of the model.
        formats: Task formats, a vector of the paper for each, by that model.
        sentences: Whether each sentence gets a vector too.
        sparse: The sparse vectors.
        own: The formats with models of their own.
        running: How the model runs, as settings with their values; such as runtime, precision and `long_text`.
    """

    model: str
    fingerprint: str
    formats: tuple[str, ...]
    sentences: bool = False
    sparse: tuple[SparsePlan, ...] = ()
    own: tuple[OwnPlan, ...] = ()
    running: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, schema: IndexSchema) -> VectorPlan:
        """Return the plan of an index."""
        formats = tuple(vector.format for vector in schema.vectors if vector.unit == "paper")
        sparse = tuple(map(SparsePlan.of, schema.sparse))
        own = tuple(OwnPlan(one.format, one.model, one.fingerprint) for one in schema.own)
        return cls(schema.model, schema.model_fingerprint, formats, schema.passages == SENTENCES, sparse, own)

    @classmethod
    def from_dict(cls, held: Mapping[str, Any]) -> VectorPlan:
        """Return the plan that `to_dict` wrote; `KeyError`, `TypeError` or `ValueError` if it is none."""
        sparse = tuple(SparsePlan(**one) for one in held["sparse"])
        own = tuple(OwnPlan(**one) for one in held["own"])
        running = tuple((str(name), str(value)) for name, value in held["running"])
        return cls(**{**held, "formats": tuple(held["formats"]), "sparse": sparse, "own": own, "running": running})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    @property
    def names(self) -> tuple[str, ...]:
        """The formats of all vectors: of papers, of sentences, and sparse ones."""
        return (*self.formats, *((SENTENCES,) if self.sentences else ()), *(one.format for one in self._beside))

    @property
    def _beside(self) -> tuple[SparsePlan | OwnPlan, ...]:
        return (*self.sparse, *self.own)

    def covers(self, other: VectorPlan) -> bool:
        """Return whether the vectors of this plan hold those of another, however the models were run."""
        formats = {*self.formats, *self._beside} >= {*other.formats, *other._beside}
        return self.fingerprint == other.fingerprint and formats and self.sentences >= other.sentences


@dataclass(frozen=True, slots=True, eq=False)
class EncodedBlock:
    """A block with its vectors.

    Attributes:
        papers: The papers that have vectors.
        vectors: A row for each of them, by format: float32 (dimension,), or (passages, dimension) of sentences, or
            (entries, 2) of sparse vectors.
        refused: The papers that can't be encoded.
    """

    papers: Sequence[Paper]
    vectors: Mapping[str, Sequence[np.ndarray]]
    refused: Sequence[Refused] = ()

    def projected(self, projection: VectorProjection) -> EncodedBlock:
        """Return the block with shorter vectors of papers and sentences."""
        shorter = {
            name: [projection.shortened(row) for row in rows]
            for name, rows in self.vectors.items()
            if name in (SEARCHED, SENTENCES)
        }
        return replace(self, vectors={**self.vectors, **shorter})

    def worded(self, words: WordSpace) -> EncodedBlock:
        """Return the block with vectors of the formats that have words too, made of the model's whole ones."""
        if not self.papers:
            return self
        made = words.beside(np.stack(self.vectors[SEARCHED]), list(map(words_text, self.papers)))
        return replace(self, vectors={**self.vectors, **{name: list(rows) for name, rows in made.items()}})

    def documents(self) -> list[Document]:
        """Return the papers, ready to write."""
        return [
            Document(paper, paper.content_hash(), {name: rows[i] for name, rows in self.vectors.items()})
            for i, paper in enumerate(self.papers)
        ]


BlockEncoding = Callable[[BlockStream, VectorPlan, Work], Iterator[EncodedBlock]]
"""Encodes blocks by a plan, yields them in order, and counts what it did."""


@dataclass(frozen=True, slots=True)
class PaperEncoder:
    """Makes all vectors of papers that a plan wants.

    Attributes:
        plan: The plan.
        encoder: The encoder of its model.
        sparse: The encoder of its sparse vectors, if it has any.
        own: Encoders of models of formats' own, by fingerprint.
    """

    plan: VectorPlan
    encoder: TextEncoder
    sparse: SparseEncoder | None = None
    own: Mapping[str, TextEncoder] = field(default_factory=dict)

    def encode(self, papers: Sequence[Paper], done: EncodingProgress = ignore) -> dict[str, Sequence[np.ndarray]]:
        """Return vectors by format, as of `EncodedBlock`; of a paper only title and abstract are read."""
        done = shared(done, 1 + bool(self.sparse) + len(self.own))
        card = self.encoder.card
        texts = [card.text(paper.title, paper.abstract) for paper in papers]
        parts = [sentence_texts(one.title, one.abstract, card) for one in papers] if self.plan.sentences else []
        whole = sum(map(len, texts)) / sum(map(len, chain(texts, *parts)))
        formats = list(map(Format, self.plan.formats))
        vectors = self.encoder.encode_formats(texts, formats, scaled(done, whole))
        made: dict[str, Sequence[np.ndarray]] = {name.value: list(rows) for name, rows in vectors.items()}
        if parts:
            made[SENTENCES] = self._of_sentences(parts, scaled(done, 1 - whole))
        if self.sparse:
            from encoders.sparse import pruned, rounded

            texts = [self.sparse.card.text(paper.title, paper.abstract) for paper in papers]
            entries = self.sparse.encode(texts, Format.PRX, done)
            for one in self.plan.sparse:
                # As the index holds them.
                made[one.format] = [rounded(pruned(row, one.most, one.ratio)) for row in entries]
        for fingerprint, model in self.own.items():
            texts = [model.card.text(paper.title, paper.abstract) for paper in papers]
            formats = [Format(one.format) for one in self.plan.own if one.fingerprint == fingerprint]
            made |= {name.value: list(rows) for name, rows in model.encode_formats(texts, formats, done).items()}
        return made

    def _of_sentences(self, parts: Sequence[Sequence[str]], done: EncodingProgress) -> list[np.ndarray]:
        """Return the vectors of the sentences of each paper, float32 (sentences, dimension); `done` counts papers."""
        counts = [len(texts) for texts in parts]
        progress = scaled(done, len(parts) / sum(counts))
        searched = Format(SEARCHED)
        rows = self.encoder.encode_formats([*chain(*parts)], [searched], progress)[searched]
        return np.split(rows, np.cumsum(counts)[:-1])


def cut_blocks(records: Iterable[Record], work: Iterator[tuple[int, tuple[str, ...]]], size: int) -> BlockStream:
    """Yield the papers to write, block by block; `work` gives their ordinals in ascending order, and their origins."""
    papers: list[Paper] = []
    number, wanted = 0, next(work, None)
    accepted = (record.paper for record in records if isinstance(record, Accepted))
    for ordinal, paper in enumerate(accepted):
        if wanted is None:
            break
        if ordinal // size != number:
            if papers:
                yield PaperBlock(number, papers)
            papers, number = [], ordinal // size
        if ordinal == wanted[0]:
            papers.append(replace(paper, origins=wanted[1]))
            wanted = next(work, None)
    if papers:
        yield PaperBlock(number, papers)
