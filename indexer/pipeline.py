"""Indexes papers: a survey first, then reading, encoding and writing what is new, all three in parallel."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import InputError, UnavailableError
from corpora.paper import Accepted, Paper, Record, Rejected
from encoders.formats import Format
from indexer.blocks import prefetch
from indexer.dead_letter import DeadLetter
from indexer.pruning import UNOWNED, gone_ids, release, withdrawn_ids
from indexer.report import IndexReport, Progress, Silent
from indexer.survey import Survey, open_survey
from search_plugin.engines.base import Document
from search_plugin.languages import DEFAULT_LANGUAGE
from search_plugin.schema import Bm25, Field, IndexSchema, Quantization, paper_vector
from search_plugin.search import check_model

if TYPE_CHECKING:
    from encoders.card import ModelCard
    from encoders.text_encoder import TextEncoder
    from search_plugin.engines.base import Engine, Index


@dataclass(frozen=True, slots=True)
class IndexJob:
    """What to index, and into which index.

    Attributes:
        records: Reads the corpus from its beginning; called once for the survey and once for the work.
        source: Identifies the corpus and its content. An interrupted first or fresh build resumes only with a job of
            the same source.
        index: Name of the index.
        card: Of the model.
        encoder: Loads the model; called only if there is something to encode.
        state_dir: For the list of rejected records and the survey's notes.
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
    block: int = 512
    bulk_bytes: int = 8 << 20


def index_corpus(job: IndexJob, engine: Engine, progress: Progress | None = None) -> IndexReport:
    """Index a corpus, or bring its index up to date.

    If a run was killed, run the same job again: papers already written are recognised by their content hashes and not
    encoded again.

    Args:
        job: What to index.
        engine: Where the index is stored.
        progress: Receives progress reports.

    Returns:
        What was done.

    Raises:
        InputError: If the corpus can't be read, or the index was made by another model.
        UnavailableError: If the engine, the model or the disk fails, or another run is writing the index.
    """
    begun = time.perf_counter()
    progress = progress or Silent()
    stopwatch = _Stopwatch()
    origin = job.index if job.origin == "" else job.origin
    list_of_rejected = job.state_dir / "rejected" / f"{job.index}.jsonl"
    # The list is only changed under the lock: a refused run must not delete the list of the run in progress.
    with (
        engine.lock(job.index),
        open_survey(job.state_dir, origin, [field.name for field in job.fields]) as survey,
        closing(DeadLetter(list_of_rejected)) as dead,
    ):
        before = _published(job, engine)
        index, published = _target(job, engine, before)
        progress.stage("reading", None)
        survey.read(job.records(), dead.add, progress)
        survey.compare(index.hashes, index.values)
        _write(job, index, before, survey, dead, progress, stopwatch)
        progress.stage("finishing", None)
        for values in survey.updates():
            index.update(values)
        withdrawn = release(index, origin or "", withdrawn_ids(index, origin or "", survey))
        pruned = release(index, origin or "", gone_ids(index, origin or "", survey) if job.prune else [])
        index.finish()
        unowned = sum(1 for _ in index.ids(UNOWNED)) if job.prune else 0
        counts = survey.counts()
        papers = _checked(index, counts, dead, published=published)
        if not published:
            engine.publish(index)
    return IndexReport(
        index=job.index,
        origin=origin or "",
        generation=index.generation,
        model=job.card.name,
        new=counts["new"],
        updated=counts["updated"],
        unchanged=counts["unchanged"],
        revalued=survey.revalued,
        fields=survey.filled,
        duplicates=counts["duplicates"],
        deletions=counts.get("deleted", 0),
        deleted_by_corpus=withdrawn.deleted,
        deleted=pruned.deleted,
        kept=withdrawn.kept + pruned.kept,
        unowned=unowned,
        rejected=dead.count,
        dead_letter=dead.path if dead.count else None,
        papers=papers,
        seconds=time.perf_counter() - begun,
        encoding_seconds=stopwatch.seconds,
    )


def _published(job: IndexJob, engine: Engine) -> Index | None:
    """Return the published generation, or None if there is none that can or must be read."""
    if job.index not in engine.names():
        return None
    try:
        return engine.open(job.index)
    except UnavailableError as error:
        if not job.fresh:
            raise
        logging.getLogger("ses").warning("Nothing of the version before can be taken over: %s", error)
        return None


def _target(job: IndexJob, engine: Engine, before: Index | None) -> tuple[Index, bool]:
    """Return the generation to write to, and whether it is the published one, which is `before`."""
    for task_format in job.formats:
        job.card.head(task_format)
    vectors = tuple(paper_vector(name.value, job.card.dimension, job.card.similarity) for name in job.formats)
    if job.fresh or before is None:
        schema = IndexSchema(
            job.card.name, job.card.fingerprint, vectors, job.quantization or "none", job.bm25 or Bm25()
        ).with_fields(job.fields)
        if before:
            given = {field.name for field in job.fields}
            schema = schema.with_fields(field for field in before.schema.added if field.name not in given)
        language = job.language or (before.schema.language if before else DEFAULT_LANGUAGE)
        return engine.build(job.index, replace(schema, language=language), job.source), False
    index = before
    check_model(index, job.card.name, job.card.fingerprint)
    for task_format in job.formats:
        index.schema.vector(task_format.value)
    if job.quantization not in (None, index.schema.quantization):
        raise InputError(
            f"The index {job.index} keeps its vectors in the form {index.schema.quantization}",
            f"leave <quantization> out, or index again with <fresh> and <quantization={job.quantization}>",
        )
    if job.bm25 not in (None, index.schema.bm25):
        raise InputError(
            f"The index {job.index} scores words by BM25 with {index.schema.bm25}",
            f"leave <bm25> out, or index again with <fresh> to have {job.bm25}",
        )
    if job.language not in (None, index.schema.language):
        raise InputError(
            f"The index {job.index} analyses words as {index.schema.language}",
            f"leave <language> out, or index again with <fresh> and <language={job.language}>",
        )
    index.add_fields(job.fields)
    return index, True


def _checked(index: Index, counts: Mapping[str, int], dead: DeadLetter, *, published: bool) -> int:
    """Return how many papers an index holds; raise if some of the written papers are missing or incomplete."""
    papers = index.count()
    expected = counts["new"] + counts["updated"] + counts["unchanged"]
    if not expected and (refused := counts.get("refused")):
        raise UnavailableError(
            f"The engine took none of the {refused:,} papers, so the index {index.name} was left as it is; "
            f"{dead.path} says why."
        )
    if papers < expected or (papers != expected and not published):
        raise UnavailableError(
            f"The index {index.name} holds {papers:,} papers and was given {expected:,}"
            + ("" if published else ", so it was not put in place of the one before"),
            "index the same papers again, with <fresh> if this message comes twice",
        )
    for field in index.schema.vectors:
        if (held := index.count(field.format)) != papers:
            raise UnavailableError(
                f"Only {held:,} of the {papers:,} papers in the index {index.name} have a {field.format} vector, "
                "so somebody else has written to it",
                "index again with <fresh>",
            )
    return papers


def _write(
    job: IndexJob,
    index: Index,
    before: Index | None,
    survey: Survey,
    dead: DeadLetter,
    progress: Progress,
    stopwatch: _Stopwatch,
) -> None:
    counts = survey.counts()
    total = counts["new"] + counts["updated"]
    if not total:
        return
    progress.stage("indexing", total)
    papers = prefetch(_blocks(job.records(), survey.work(), job.block))
    documents = prefetch(_encoded(papers, job, index, stopwatch))
    given = {field.name for field in job.fields}
    kept = [field.name for field in index.schema.added if field.name not in given]
    for bulk in _bulks(documents, job.bulk_bytes):
        refused = index.upsert(_with_values(bulk, before, kept))
        for refusal in refused:
            dead.add(Rejected(survey.refuse(refusal.id), refusal.reason, refusal.id))
        progress.advance(len(bulk) - len(refused), len(refused))


def _with_values(documents: Sequence[Document], before: Index | None, names: Sequence[str]) -> Sequence[Document]:
    """Return documents with the values that only the index has, such as tags."""
    if not names or before is None:
        return documents
    held = before.values([document.paper.id for document in documents], names)
    papers = [replace(doc.paper, extra={**held.get(doc.paper.id, {}), **doc.paper.extra}) for doc in documents]
    return [replace(document, paper=paper) for document, paper in zip(documents, papers, strict=True)]


def _blocks(records: Iterable[Record], work: Iterator[tuple[int, tuple[str, ...]]], size: int) -> Iterator[list[Paper]]:
    """Yield the papers to write, block by block; `work` gives their ordinals in ascending order, and their origins."""
    block: list[Paper] = []
    number, wanted = 0, next(work, None)
    papers = (record.paper for record in records if isinstance(record, Accepted))
    for ordinal, paper in enumerate(papers):
        if wanted is None:
            break
        if ordinal // size != number:
            if block:
                yield block
            block, number = [], ordinal // size
        if ordinal == wanted[0]:
            block.append(replace(paper, origins=wanted[1]))
            wanted = next(work, None)
    if block:
        yield block


def _encoded(
    blocks: Iterator[list[Paper]], job: IndexJob, index: Index, stopwatch: _Stopwatch
) -> Iterator[list[Document]]:
    encoder = job.encoder()
    formats = [Format(vector.format) for vector in index.schema.vectors]
    for papers in blocks:
        with stopwatch:
            texts = [job.card.text(paper.title, paper.abstract) for paper in papers]
            vectors = encoder.encode_formats(texts, formats)
        yield [
            Document(paper, paper.content_hash(), {name.value: rows[i] for name, rows in vectors.items()})
            for i, paper in enumerate(papers)
        ]


def _bulks(blocks: Iterator[list[Document]], limit: int) -> Iterator[Sequence[Document]]:
    bulk: list[Document] = []
    size = 0
    for block in blocks:
        bulk += block
        size += sum(_bytes(document) for document in block)
        if size >= limit:
            yield bulk
            bulk, size = [], 0
    if bulk:
        yield bulk


def _bytes(document: Document) -> int:
    text = len(document.paper.title) + len(document.paper.abstract)
    return text + sum(vector.nbytes for vector in document.vectors.values())


class _Stopwatch:
    """Adds up the seconds spent inside its blocks."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._begun = 0.0

    def __enter__(self) -> None:
        self._begun = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._begun
