"""What to index, and into which index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.paper import Record
from encoders.models.formats import Format
from search_plugin.contract.schema import Bm25, Field, Quantization

if TYPE_CHECKING:
    from encoders.models.card import ModelCard
    from encoders.text_encoder import TextEncoder


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
        quantization: How a new index stores vectors, in full precision if None; an existing index keeps its own
            setting.
        bm25: BM25's constants of a new index, the default if None; an existing index keeps its own.
        fields: Custom fields that the corpus gives; they are added to an index that lacks them.
        language: How a new index analyses words. If None, a fresh build keeps the language
            of the version before, and a first one uses the default. An existing index keeps its own.
        whole: Whether the records are all that the corpus holds; if so, papers that it lacks are counted.
        shared: Whether others write the index too, so that papers can come and go during the run.
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
    quantization: Quantization | None = None
    bm25: Bm25 | None = None
    fields: tuple[Field, ...] = ()
    language: str | None = None
    whole: bool = True
    shared: bool = False
    cached: bool = True
    block: int = 512
    bulk_bytes: int = 8 << 20
