"""Rebuilds a published index from its own papers: for another model or language, or in this version's schema.

No corpus is read, so the papers of all corpora stay with their origins, custom fields, tags and forecasts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from corpora.errors import UnavailableError
from corpora.paper import Accepted
from encoders.formats import Format

if TYPE_CHECKING:
    from indexer.job import IndexJob
    from search_plugin.engines.base import Index

_PAGE = 1_000


def own_papers(index: Index) -> Iterator[Accepted]:
    """Yield the papers of an index in the order of their ids; the line of each is its number in that order."""
    number = 0
    with readable(index.name):
        every = sorted(index.ids())
    for start in range(0, len(every), _PAGE):
        ids = every[start : start + _PAGE]
        with readable(index.name):
            papers = index.papers(ids)
        for id_ in ids:
            if id_ in papers:
                number += 1
                yield Accepted(number, papers[id_])


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Say that an index whose own papers are damaged needs its corpus: the usual advice is to build it again."""
    try:
        yield
    except UnavailableError as error:
        if "<fresh>" not in error.hint:
            raise
        raise UnavailableError(
            f"The papers of the index {name} can't be read ({error.sentence})",
            "index its corpus again, with <corpus> and <fresh>",
        ) from error


def moved(job: IndexJob, index: Index) -> IndexJob:
    """Return the job that rebuilds an index from its own papers.

    Args:
        job: Names the model and other changes; its corpus is not read.
        index: The published generation.

    Returns:
        A job for `index_corpus`; formats, quantization and BM25's constants are those of the index if the job has none.
    """
    schema = index.schema
    told = f"{index.name} {index.generation} {schema.fingerprint}"
    return replace(
        job,
        records=lambda: own_papers(index),
        source=f"index {hashlib.blake2b(told.encode(), digest_size=16).hexdigest()}",
        formats=tuple(Format(vector.format) for vector in schema.vectors),
        fresh=True,
        origin=None,
        quantization=job.quantization or schema.quantization,
        bm25=job.bm25 or schema.bm25,
        fields=schema.added,
    )
