"""Indexes papers: a survey first, then reading, encoding and writing what is new, all three in parallel."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from typing import TypeVar, cast

from corpora.accounting import Account
from corpora.paper import Rejected
from corpora.progress import Progress, Silent
from indexer.blocks import BlockStream, EncodedBlock, PaperEncoder, VectorPlan, cut_blocks
from indexer.job import IndexJob, IndexReport
from indexer.projecting import projection_of, words_of
from indexer.survey import Survey, open_survey, size_of
from indexer.target import (
    check_papers,
    checked_count,
    count_gone,
    generation_to_write,
    gone_ids,
    published_generation,
    remove_origin,
    withdrawn_ids,
)
from indexer.work import DeadLetter, Work, guarded
from search_plugin.contract.engine import Document, Engine, Index, Refused

T = TypeVar("T")

_END = object()


_LEAVE = 1.5
"""How long a consumer that stops early waits for the thread (seconds)."""


def prefetch(items: Iterator[T], depth: int = 2, stopped: threading.Event | None = None) -> Generator[T, None, None]:
    """Run an iterator in its own thread, at most `depth` items ahead of the consumer, and yield its items in order.

    Errors of the iterator are raised here. If the consumer stops early, the thread stops too, and closes a generator:
    `stopped` is set then, and the iterator may look at it within an item that takes long.
    """
    handed: queue.Queue[object] = queue.Queue(maxsize=depth)
    stopped = stopped or threading.Event()

    def put(item: object) -> None:
        while not stopped.is_set():
            try:
                handed.put(item, timeout=0.1)
            except queue.Full:
                continue
            return

    def run() -> None:
        try:
            with closing(items) if isinstance(items, Generator) else nullcontext():
                for item in items:
                    put(item)
                    if stopped.is_set():
                        return
            put(_END)
        except BaseException as error:  # noqa: BLE001 - it is raised again in the taker's thread
            put(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        while (item := handed.get()) is not _END:
            if isinstance(item, BaseException):
                raise item
            yield cast("T", item)
    finally:
        stopped.set()
        # The thread may be loading a model. It ends with the process, and what it still makes is not used.
        thread.join(_LEAVE)


def index_corpus(job: IndexJob, engine: Engine, progress: Progress | None = None) -> IndexReport:
    """Index a corpus, or bring its index up to date, and return what was done.

    If a run was killed, run the same job again: papers already written are recognised by their content hashes and not
    encoded again.

    Raises `InputError` if the corpus can't be read or holds no papers, or if the index was made by another model;
    `UnavailableError` if the engine, the model or the disk fails, or if another run is writing the index;
    `StoppedError` if the user stopped it: the message says what is kept.
    """
    begun = time.perf_counter()
    progress = progress or Silent()
    work, account = Work(progress, job.cached), Account()
    origin = job.index if job.origin == "" else job.origin
    list_of_rejected = job.state_dir / "rejected" / f"{job.index}.jsonl"
    # The list is only changed under the lock: a refused run must not delete the list of the run in progress.
    with (
        engine.lock(job.index),
        open_survey(job.state_dir, origin, [field.name for field in job.fields]) as survey,
        closing(DeadLetter(list_of_rejected)) as dead,
    ):
        before = published_generation(job, engine)
        fitted = projection_of(job, before, work), words_of(job, before, work)
        index, published = generation_to_write(job, engine, before, *fitted)
        with guarded(engine, index, work, published=published):
            progress.stage("reading", None)
            survey.read(account.watch(job.records()), dead.add, progress)
            survey.compare(index.hashes, index.values)
            if not published:
                check_papers(job, survey.counts(), dead)
            _write(job, index, before, survey, dead, work)
            progress.stage("finishing", None)
            for values in survey.updates():
                index.update(values)
            withdrawn = remove_origin(index, origin or "", withdrawn_ids(index, origin or "", survey))
            pruned = remove_origin(index, origin or "", gone_ids(index, origin or "", survey) if job.prune else [])
            index.finish()
            counts = survey.counts()
            papers = index.count() if job.shared else checked_count(index, counts, dead, published=published)
            absent = count_gone(index, origin or "", survey) if published and job.whole and not job.prune else 0
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
        absent=absent,
        rejected=dead.count,
        dead_letter=dead.path if dead.count else None,
        papers=papers,
        seconds=time.perf_counter() - begun,
        encoding_seconds=work.seconds,
        account=account.result(),
    )


def _write(job: IndexJob, index: Index, before: Index | None, survey: Survey, dead: DeadLetter, work: Work) -> None:
    counts = survey.counts()
    work.before, work.total = counts["unchanged"], counts["new"] + counts["updated"]
    work.size = survey.size()
    if not work.total:
        return
    work.progress.stage("indexing", work.total)
    blocks = prefetch(cut_blocks(job.records(), survey.work(), job.block))
    given = {field.name for field in job.fields}
    kept = [field.name for field in index.schema.added if field.name not in given]
    encoding = job.encoding or partial(_encoded_here, job)
    encoded = encoding(blocks, VectorPlan.of(index.schema), work)
    with closing(prefetch(encoded, stopped=work.stopped)) as made:
        for bulk, unfit in _bulks(_as_held(made, index), job.bulk_bytes):
            refused = index.upsert(_with_values(bulk, before, kept)) if bulk else []
            work.written += len(bulk) - len(refused)
            refused = [*refused, *unfit]
            for refusal in refused:
                dead.add(Rejected(survey.refuse(refusal.id), refusal.reason, refusal.id))
            work.progress.advance(0, len(refused))


def _with_values(documents: Sequence[Document], before: Index | None, names: Sequence[str]) -> Sequence[Document]:
    """Return documents with the values that only the index has, such as tags."""
    if not names or before is None:
        return documents
    held = before.values([document.paper.id for document in documents], names)
    papers = [replace(doc.paper, extra={**held.get(doc.paper.id, {}), **doc.paper.extra}) for doc in documents]
    return [replace(document, paper=paper) for document, paper in zip(documents, papers, strict=True)]


def _encoded_here(job: IndexJob, read: BlockStream, plan: VectorPlan, work: Work) -> Iterator[EncodedBlock]:
    """Encode blocks in this process, as `indexer.blocks.BlockEncoding`."""
    sparse = job.sparse.encoder() if job.sparse else None
    encode = PaperEncoder(plan, job.encoder(), sparse, {one.card.fingerprint: one.encoder() for one in job.own}).encode
    with closing(read) as blocks:
        for block in blocks:
            work.begin([size_of(paper) for paper in block.papers])
            with work.timed():
                vectors = encode(block.papers, work.done)
            yield EncodedBlock(block.papers, vectors)


def _as_held(blocks: Iterable[EncodedBlock], index: Index) -> Iterator[EncodedBlock]:
    """Yield blocks with the vectors that the index holds."""
    schema = index.schema
    for block in blocks:
        for words in schema.words:
            block = block.worded(words)
        for projection in schema.projection:
            block = block.projected(projection)
        yield block


def _bulks(blocks: Iterable[EncodedBlock], limit: int) -> Iterator[tuple[list[Document], list[Refused]]]:
    """Yield the documents of whole blocks together when they reach a limit of bytes, and what can't be encoded."""
    bulk: list[Document] = []
    refused: list[Refused] = []
    size = 0
    for block in blocks:
        documents = block.documents()
        bulk += documents
        refused += block.refused
        size += sum(map(_bytes, documents))
        if size >= limit:
            yield bulk, refused
            bulk, refused, size = [], [], 0
    if bulk or refused:
        yield bulk, refused


def _bytes(document: Document) -> int:
    text = len(document.paper.title) + len(document.paper.abstract)
    return text + sum(vector.nbytes for vector in document.vectors.values())
