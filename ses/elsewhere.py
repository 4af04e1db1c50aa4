"""What encodes the papers of `Library.index` elsewhere: workers, or shards that were encoded before."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import require
from indexer.blocks import BlockEncoding
from indexer.shards import from_shards
from indexer.workers import WorkerEncoding, WorkerPool
from ses.ray_workers import ray_pool
from ses.workers import local_pool, running_of

if TYPE_CHECKING:
    from ses.settings import Settings

RAY = "ray"
"""Begins the workers of a Ray cluster: `ray`, or `ray:HOST:PORT`."""


@contextmanager
def encoding_elsewhere(
    settings: Settings, index: str, workers: int | str, shards: str | Path | None
) -> Iterator[BlockEncoding | None]:
    """Provide what encodes blocks by workers, or takes them from a folder of shards; None for this process.

    Args:
        settings: Settings of the library.
        index: Name of the index.
        workers: A number of processes, `ray` or `ray:ADDRESS`; empty or 0 for none.
        shards: The folder of block files; with workers, one in the data folder if None, removed when all is done.

    Yields:
        What encodes them.

    Raises:
        InputError: If the workers can't be understood.
    """
    kind = str(workers)
    if kind in ("", "0"):
        yield functools.partial(from_shards, Path(shards).resolve()) if shards else None
        return
    folder = Path(shards).resolve() if shards else settings.data_dir.resolve() / "shards" / index
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
    yield WorkerEncoding(opening, folder, running_of(settings))
    if not shards:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # those of other indexes are in it
            folder.parent.rmdir()
