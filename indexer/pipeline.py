"""Indexes papers: a survey first, then reading, encoding and writing what is new, all three in parallel."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, TypeVar, cast

from corpora.paper import Accepted, Paper, Record, Rejected
from corpora.progress import Progress, Silent
from encoders.models.formats import Format
from encoders.sparse import pruned, rounded
from encoders.text_encoder import scaled, shared
from indexer.job import IndexJob, IndexReport
from indexer.survey import Survey, open_survey, size_of
from indexer.target import (
    check_papers,
    checked_count,
    count_gone,
    generation_to_write,
    gone_ids,
    published_generation,
    release,
    withdrawn_ids,
)
from indexer.work import DeadLetter, Work, guarded
from search_plugin.contract.engine import Document
from search_plugin.contract.schema import SEARCHED, SENTENCES
from search_plugin.words.sentences import sentence_texts

if TYPE_CHECKING:
    import numpy as np

    from encoders.sparse import SparseEncoder
    from encoders.text_encoder import EncodingProgress, TextEncoder
    from search_plugin.contract.engine import Engine, Index
    from search_plugin.contract.schema import IndexSchema

T = TypeVar("T")

_END = object()


_LEAVE = 1.5
"""How long a consumer that stops early waits for the thread (seconds)."""


def prefetch(items: Iterator[T], depth: int = 2, stopped: threading.Event | None = None) -> Generator[T, None, None]:
    """Run an iterator in its own thread, at most `depth` items ahead of the consumer, and yield its items in order.

    Errors of the iterator are raised here. If the consumer stops early, the thread stops too: `stopped` is set then,
    and the iterator may look at it within an item that takes long.
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
    work = Work(progress, job.cached)
    origin = job.index if job.origin == "" else job.origin
    list_of_rejected = job.state_dir / "rejected" / f"{job.index}.jsonl"
    # The list is only changed under the lock: a refused run must not delete the list of the run in progress.
    with (
        engine.lock(job.index),
        open_survey(job.state_dir, origin, [field.name for field in job.fields]) as survey,
        closing(DeadLetter(list_of_rejected)) as dead,
    ):
        before = published_generation(job, engine)
        index, published = generation_to_write(job, engine, before)
        with guarded(engine, index, work, published=published):
            progress.stage("reading", None)
            survey.read(job.records(), dead.add, progress)
            survey.compare(index.hashes, index.values)
            if not published:
                check_papers(job, survey.counts(), dead)
            _write(job, index, before, survey, dead, work)
            progress.stage("finishing", None)
            for values in survey.updates():
                index.update(values)
            withdrawn = release(index, origin or "", withdrawn_ids(index, origin or "", survey))
            pruned = release(index, origin or "", gone_ids(index, origin or "", survey) if job.prune else [])
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
    )


def _write(
    job: IndexJob,
    index: Index,
    before: Index | None,
    survey: Survey,
    dead: DeadLetter,
    work: Work,
) -> None:
    counts = survey.counts()
    work.before, work.total = counts["unchanged"], counts["new"] + counts["updated"]
    work.size = survey.size()
    if not work.total:
        return
    work.progress.stage("indexing", work.total)
    papers = prefetch(_blocks(job.records(), survey.work(), job.block))
    given = {field.name for field in job.fields}
    kept = [field.name for field in index.schema.added if field.name not in given]
    with closing(prefetch(_encoded(papers, job, index, work), stopped=work.stopped)) as documents:
        for bulk in _bulks(documents, job.bulk_bytes):
            refused = index.upsert(_with_values(bulk, before, kept))
            for refusal in refused:
                dead.add(Rejected(survey.refuse(refusal.id), refusal.reason, refusal.id))
            work.written += len(bulk) - len(refused)
            work.progress.advance(0, len(refused))


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
    read: Generator[list[Paper], None, None], job: IndexJob, index: Index, work: Work
) -> Iterator[list[Document]]:
    encoder, sparse, schema = job.encoder(), job.sparse.encoder() if job.sparse else None, index.schema
    formats = [Format(vector.format) for vector in schema.vectors if vector.unit == "paper"]
    own = [(one.card, one.encoder(), one.formats) for one in job.own]
    done = shared(work.done, 1 + bool(sparse) + len(own))
    with closing(read) as blocks:
        for papers in blocks:
            work.begin([size_of(paper) for paper in papers])
            with work.timed():
                texts = [job.card.text(paper.title, paper.abstract) for paper in papers]
                parts = [sentence_texts(paper.title, paper.abstract, job.card) for paper in papers]
                parts = parts if schema.passages == SENTENCES else []
                whole = sum(map(len, texts)) / sum(map(len, chain(texts, *parts)))
                vectors = encoder.encode_formats(texts, formats, scaled(done, whole))
                made: dict[str, Sequence[np.ndarray]] = {name.value: list(rows) for name, rows in vectors.items()}
                if parts:
                    made[SENTENCES] = _of_sentences(parts, encoder, scaled(done, 1 - whole))
                if sparse:
                    made |= _sparse_vectors(sparse, papers, schema, done)
                for card, model, its in own:
                    texts = [card.text(paper.title, paper.abstract) for paper in papers]
                    made |= {one.value: list(rows) for one, rows in model.encode_formats(texts, its, done).items()}
            yield [
                Document(paper, paper.content_hash(), {name: rows[i] for name, rows in made.items()})
                for i, paper in enumerate(papers)
            ]


def _sparse_vectors(
    encoder: SparseEncoder, papers: Sequence[Paper], schema: IndexSchema, done: EncodingProgress
) -> dict[str, list[np.ndarray]]:
    """Return the sparse vectors of papers by their field's format, pruned and rounded as the index holds them."""
    texts = [encoder.card.text(paper.title, paper.abstract) for paper in papers]
    vectors = encoder.encode(texts, Format.PRX, done)
    return {field.format: [rounded(pruned(one, field.most, field.ratio)) for one in vectors] for field in schema.sparse}


def _of_sentences(parts: Sequence[Sequence[str]], encoder: TextEncoder, done: EncodingProgress) -> list[np.ndarray]:
    """Return the vectors of the sentences of each paper, float32 (sentences, dimension); `done` counts papers."""
    import numpy as np

    counts = [len(texts) for texts in parts]
    progress = scaled(done, len(parts) / sum(counts))
    rows = encoder.encode_formats([*chain(*parts)], [Format(SEARCHED)], progress)[Format(SEARCHED)]
    return np.split(rows, np.cumsum(counts)[:-1])


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
