"""Encoding of the papers of a library outside of this process: by workers, or as shards that were encoded before."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from corpora.errors import require

if TYPE_CHECKING:
    from indexer.job import IndexJob
    from indexer.options import EncodingOptions
    from indexer.workers import WorkerPool
    from ses.settings import Settings

RAY = "ray"
"""Begins the workers of a Ray cluster: `ray`, or `ray:HOST:PORT`."""


@contextmanager
def remotely_encoded(settings: Settings, job: IndexJob, options: EncodingOptions) -> Iterator[IndexJob]:
    """Provide a job whose blocks are encoded by workers, or taken from a folder of shards; as it is without both.

    Workers without a place for shards put them into a folder in the data folder, which is removed when all is done.
    Raises `InputError` if the workers or the URL can't be understood, and `UnavailableError` if the URL can't be
    opened.
    """
    kind, shards = _workers(options), options.get("shards")
    if not (kind or shards):
        yield job
        return

    from indexer.shards import from_shards
    from indexer.storage import storage_at
    from indexer.workers import WorkerEncoding

    if shards and not kind:
        yield replace(job, encoding=functools.partial(from_shards, storage_at(shards)), cached=False)
        return

    from ses.models.ray_workers import ray_pool
    from ses.models.workers import local_pool, running_of

    folder = settings.data_dir / "shards" / job.index
    storage = storage_at(shards or folder)
    opening: Callable[[], AbstractContextManager[WorkerPool]]
    if kind == RAY or kind.startswith(f"{RAY}:"):
        opening = functools.partial(ray_pool, kind.partition(":")[2] or "auto", settings)
    else:
        require(
            kind.isascii() and kind.isdigit() and int(kind) > 0,
            f"The workers can't be {kind!r}",
            "give a number of processes, <workers=ray> or <workers=ray:HOST:PORT>",
        )
        opening = functools.partial(local_pool, int(kind), settings)
    yield replace(job, encoding=WorkerEncoding(opening, storage, running_of(settings)), cached=False)
    if not shards:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # those of other indexes are in it
            folder.parent.rmdir()


def _workers(options: EncodingOptions) -> str:
    """Return the workers as text; empty for none."""
    kind = str(options.get("workers") or "")
    return "" if kind == "0" else kind


def check_own_papers(options: EncodingOptions) -> None:
    """Raise `InputError` if vectors of shards are to be used where no corpus is read."""
    require(
        bool(not options.get("shards") or _workers(options)),
        "Shards are parts of a corpus, and here the papers of an index are encoded",
        "give <workers> too, or leave <shards> out",
    )
