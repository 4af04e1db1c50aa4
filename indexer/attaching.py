"""Makes the vectors of an index of others, and follows its changes, by the same steps as any corpus."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

import orjson

from corpora.errors import StoppedError
from corpora.paper import Accepted, Paper, Record, Rejected, paper_from
from indexer.job import IndexReport
from indexer.pipeline import index_corpus
from indexer.work import DeadLetter
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.engines.cluster.attached.field_mappings import read_from, record_of
from search_plugin.engines.cluster.attached.index import AttachedIndex
from search_plugin.engines.cluster.scan import scan_hits

if TYPE_CHECKING:
    from corpora.progress import Progress
    from indexer.job import IndexJob
    from search_plugin.contract.schema import Quantization
    from search_plugin.engines.cluster.attached.attachment import Attachment
    from search_plugin.engines.cluster.attached.engine import AttachingEngine
    from search_plugin.engines.cluster.dialect import QueryBody


def schema_for(job: IndexJob, quantization: Quantization = "none") -> IndexSchema:
    """Return what an index is attached with: a job's model, vectors and language, and how a cluster keeps vectors."""
    vectors = tuple(paper_vector(name.value, job.card.dimension, job.card.similarity) for name in job.formats)
    schema = IndexSchema(job.card.name, job.card.fingerprint, vectors, quantization)
    return replace(schema, **job.settings)


def follow(
    job: IndexJob, engine: AttachingEngine, progress: Progress | None = None, *, changes_only: bool = False
) -> IndexReport:
    """Write the vectors of documents that are new or have changed.

    Documents are known by the hash of their title and abstract, which is beside their vectors. If their owner writes
    them whole again, both are gone. Beside the documents, the hash is that of all fields, and papers that the index no
    longer holds are deleted.

    With `changes_only`, only documents that may have changed since the last run are read, where the cluster tells which
    these are. The job gives model and formats for an attached index; where its records are from is not read. Raises
    `NotFoundError` if no index of this name is attached, and `StoppedError` if the user stopped it.
    """
    attachment = engine.attached(job.index)
    engine.renew(attachment)
    reached = engine.reached(attachment)
    changed = engine.changed(attachment, reached) if changes_only else None
    beside = bool(attachment.beside)
    job = replace(
        job,
        records=partial(_records, engine, attachment, changed or {"match_all": {}}),
        source=attachment.target,
        origin=attachment.name if beside else None,
        prune=beside,
        fields=attachment.schema.added if beside else (),
        settings={},
        whole=False,
        shared=not beside,
    )
    try:
        with _read_once(job.records, job.state_dir) as records:
            report = index_corpus(replace(job, records=records), engine, progress)
    except StoppedError as error:
        raise StoppedError(error.sentence, "attach it again to resume") from None
    engine.note_read(attachment.name, reached, report.new + report.updated, report.rejected)
    if changed:
        report = replace(report, unchanged=report.papers - report.new - report.updated)
    return replace(report, origin=attachment.target)


def only_searched(engine: AttachingEngine, attachment: Attachment, state_dir: Path) -> IndexReport:
    """Return the report about an attached index of which ses makes no vectors; it lists what is no paper in a file."""
    started = time.perf_counter()
    index = AttachedIndex(engine.cluster, engine.dialect, attachment, None)
    papers, documents = index.count(), index.count_all()
    with closing(DeadLetter(state_dir / "rejected" / f"{attachment.name}.jsonl")) as dead:
        for record in index.lacking(documents):
            if isinstance(record, Rejected):
                dead.add(record)
    return IndexReport(
        index=attachment.name,
        origin=attachment.target,
        generation=1,
        model=attachment.schema.model,
        new=0,
        updated=0,
        unchanged=papers,
        revalued=0,
        fields={},
        duplicates=0,
        deletions=0,
        deleted_by_corpus=0,
        deleted=0,
        kept=0,
        absent=0,
        rejected=dead.count,
        dead_letter=dead.path if dead.count else None,
        papers=papers,
        seconds=time.perf_counter() - started,
        encoding_seconds=0.0,
    )


@contextmanager
def _read_once(read: Callable[[], Iterator[Record]], folder: Path) -> Iterator[Callable[[], Iterator[Record]]]:
    """Provide records whose second reading equals the first: an index that others write changes meanwhile.

    They are kept in a file in a folder. Only the first reading has the rejected records.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryFile(dir=folder, prefix="attach-") as file:

        def first() -> Iterator[Record]:
            for record in read():
                if isinstance(record, Accepted):
                    file.write(orjson.dumps(record) + b"\n")
                yield record

        def again() -> Iterator[Record]:
            file.seek(0)
            for line in file:
                held = orjson.loads(line)
                yield Accepted(held["line"], paper_from(held["paper"]))

        readings = iter((first, again))
        yield lambda: next(readings)()


def _records(engine: AttachingEngine, attachment: Attachment, query: QueryBody) -> Iterator[Record]:
    field_mappings = attachment.field_mappings
    body = {"query": query, **read_from(field_mappings)}
    for number, hit in enumerate(scan_hits(engine.cluster, attachment.target, body), start=1):
        record = record_of(number, hit, field_mappings)
        if isinstance(record, Accepted) and not attachment.beside:
            # Filters use the fields where they are, so only what is encoded counts.
            record = Accepted(number, Paper(record.paper.id, record.paper.title, record.paper.abstract))
        yield record
