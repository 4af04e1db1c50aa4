"""What to index, and into which index; and what an indexing run did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.accounting import CorpusAccount
from corpora.paper import Record
from encoders.models.card import ModelCard
from encoders.models.formats import Format
from encoders.text_encoder import TextEncoder
from indexer.blocks import BLOCK, BlockEncoding
from search_plugin.contract.schema import Field, OwnField, SparseField, own_field
from search_plugin.words.space import WordSpace

if TYPE_CHECKING:
    from encoders.sparse import SparseEncoder


@dataclass(frozen=True, slots=True)
class SparseJob:
    """The sparse vectors to write beside the others.

    Attributes:
        card: Card of the sparse model.
        encoder: Loads the model; called only if there is something to encode.
        field: The field of a new index.
    """

    card: ModelCard
    encoder: Callable[[], SparseEncoder]
    field: SparseField


@dataclass(frozen=True, slots=True)
class OwnJob:
    """Vectors of formats that a model of their own makes, to write beside the others.

    Attributes:
        card: Card of that model.
        encoder: Loads the model; called only if there is something to encode.
        formats: The formats.
    """

    card: ModelCard
    encoder: Callable[[], TextEncoder]
    formats: tuple[Format, ...]

    def fields(self) -> tuple[OwnField, ...]:
        """Return the fields of a new index."""
        card = self.card
        return tuple(
            own_field(one, card.dimension, card.similarity, card.name, card.fingerprint) for one in self.formats
        )


@dataclass(frozen=True, slots=True)
class IndexJob:
    """What to index, and into which index.

    Attributes:
        records: Reads the corpus from its beginning; called once for the survey and once for the work.
        source: Identifies the corpus and its content. An interrupted first or fresh build resumes only with a job of
            the same source.
        index: Name of the index.
        card: Card of the model.
        encoder: Loads the model; called only if there is something to encode.
        state_dir: Folder for the list of rejected records and the survey's notes.
        formats: Task formats to store a vector for.
        fresh: Build a new version beside the existing one, and swap at the end.
        prune: Delete papers that the corpus no longer holds; papers of other corpora stay.
        origin: The corpus's name in the index, the index's own name if empty; the same from run to run. None if papers
            have their origins already, as those of an index have.
        fields: Custom fields that the corpus gives, and `PUBLICATION`; they are added to an index that lacks them.
        whole: Whether the records are all that the corpus holds; if so, papers that it lacks are counted.
        sparse: The sparse vectors to write too; None for an index without them.
        own: The formats with models of their own to write too; the index's model makes no vectors of these formats.
        worded: Formats whose vectors are those of the index's model with the papers' words beside them.
        words: The words of the version before, which a fresh build of the same such formats keeps. Otherwise it has
            those of the corpus.
        settings: What the user chose of `indexer.options.SETTINGS`. An existing index must have been made with them. A
            fresh build keeps the passages, the language and the dimension of the version before if they are not here.
        shared: Whether others write the index too, so that papers can come and go during the run.
        encoding: Encodes the blocks elsewhere, by other processes or beforehand; None for this process.
        cached: Whether the encoder keeps vectors in a cache, which a stopped run tells the user.
        block: Papers encoded together. Blocks are cut by position in the corpus, never by what is left to do, so that a
            resumed run makes the same batches as an uninterrupted one, and so the same int8 vectors.
        bulk_bytes: Whole blocks are written together when they reach this size: text and vectors of about 2,500 papers.
    """

    records: Callable[[], Iterator[Record]]
    source: str
    index: str
    card: ModelCard
    encoder: Callable[[], TextEncoder]
    state_dir: Path
    formats: tuple[Format, ...] = (Format.PRX,)
    fresh: bool = False
    prune: bool = False
    origin: str | None = ""
    fields: tuple[Field, ...] = ()
    whole: bool = True
    sparse: SparseJob | None = None
    own: tuple[OwnJob, ...] = ()
    worded: tuple[Format, ...] = ()
    words: tuple[WordSpace, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    shared: bool = False
    encoding: BlockEncoding | None = None
    cached: bool = True
    block: int = BLOCK
    bulk_bytes: int = 8 << 20


@dataclass(frozen=True, slots=True)
class ComparedVectors:
    """How the vectors that an attached index holds compare with those that a model gives for its documents.

    Attributes:
        field: The field of vectors.
        model: The model that the user names.
        documents: Number of documents that were compared, 0 for vectors of passages.
        text: The text of the documents that gives the nearest vectors, such as `title and abstract`.
        cosine: Median of the cosines of their vectors to those of the model; None if none was compared.
    """

    field: str
    model: str
    documents: int
    text: str
    cosine: float | None


@dataclass(frozen=True, slots=True)
class IndexReport:
    """Counts of one run.

    `new + updated + unchanged + duplicates + deletions + rejected` is the number of records read.

    Attributes:
        index: Name of the index.
        origin: The corpus's name in it, empty if an index was rebuilt from its own papers.
        generation: The version that is searched now.
        model: The model of the vectors.
        new: Papers the index did not hold.
        updated: Papers whose content changed.
        unchanged: Papers whose content did not change.
        revalued: Unchanged papers whose custom fields were written.
        fields: Number of records that have a value, by custom field of the corpus.
        duplicates: Records with the id of a later one, which won.
        deletions: Records that mark a paper as deleted, whether the index held it or not.
        deleted_by_corpus: Papers deleted because of such a record.
        deleted: Papers deleted by pruning, because the corpus no longer holds them.
        kept: Papers that either would have deleted, and that stay because another corpus holds them.
        absent: Papers that only earlier versions of the corpus held, and that stay, since the run did not prune.
        rejected: Records that could not become papers, or that the engine refused.
        dead_letter: File that lists the rejected, where there are any.
        papers: Number of papers that the index holds now.
        seconds: Seconds of the whole run.
        encoding_seconds: Seconds spent in the encoder, while reading and writing went on.
        vectors: Vectors of others that searches of an attached index use, compared with their models.
        harvest: What a server gave for it; None if none was asked.
        account: What became of each column, tag or key of the corpus, and what its papers lack; None for papers of an
            index.

    Example:
        >>> report = library.index("two", [ses.Paper("a", "A virus"), ses.Paper("b", "")])
        >>> report.new, report.rejected
        (1, 1)
    """

    index: str
    origin: str
    generation: int
    model: str
    new: int
    updated: int
    unchanged: int
    revalued: int
    fields: Mapping[str, int]
    duplicates: int
    deletions: int
    deleted_by_corpus: int
    deleted: int
    kept: int
    absent: int
    rejected: int
    dead_letter: Path | None
    papers: int
    seconds: float
    encoding_seconds: float
    vectors: tuple[ComparedVectors, ...] = ()
    harvest: Mapping[str, Any] | None = None
    account: CorpusAccount | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            **asdict(self),
            "dead_letter": str(self.dead_letter) if self.dead_letter else None,
            "account": self.account.to_dict() if self.account else None,
        }
