"""Rebuilds a published index from its own papers: for another model or language, or in this version's schema.

No corpus is read, so the papers of all corpora stay with their origins, custom fields, tags and forecasts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from corpora.errors import UnavailableError
from corpora.paper import Accepted
from encoders.models.card import ModelCard
from encoders.models.formats import Format
from encoders.text_encoder import TextEncoder
from indexer.job import IndexJob, OwnJob, SparseJob
from search_plugin.contract.engine import Index
from search_plugin.words.space import WordSpace

_PAGE = 1_000
_FROM_CORPUS = "index its corpus again, with <corpus> and <fresh>"


def own_papers(index: Index) -> Iterator[Accepted]:
    """Yield the papers of an index in the order of their ids; the line of each is its number in that order."""
    number, missing = 0, []
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
            else:
                missing.append(id_)
    # What was deleted meanwhile is listed no more; without the others, a part of the index would be published.
    lost = sorted(set(missing).intersection(index.ids())) if missing else []
    if lost:
        raise UnavailableError(
            f"The index {index.name} lists {len(lost):,} papers that it does not have, such as {lost[0]!r}",
            _FROM_CORPUS,
        )


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Say that an index whose own papers are damaged needs its corpus: the usual advice is to build it again."""
    try:
        yield
    except UnavailableError as error:
        if "<fresh>" not in error.hint:
            raise
        raise UnavailableError(
            f"The papers of the index {name} can't be read ({error.sentence})", _FROM_CORPUS
        ) from error


def rebuilding(
    index: Index,
    *,
    card: ModelCard,
    encoder: Callable[[], TextEncoder],
    state_dir: Path,
    settings: Mapping[str, Any],
    formats: tuple[Format, ...],
    cached: bool = True,
    sparse: SparseJob | None = None,
    own: tuple[OwnJob, ...] = (),
    worded: tuple[Format, ...] = (),
    words: tuple[WordSpace, ...] = (),
) -> IndexJob:
    """Return the job that rebuilds an index from its own papers, with the same custom fields.

    Settings that are not given stay as before. The arguments are those of `IndexJob`.
    """
    schema = index.schema
    identity = f"{index.name} {index.generation} {schema.fingerprint}"
    return IndexJob(
        records=lambda: own_papers(index),
        source=f"index {hashlib.blake2b(identity.encode(), digest_size=16).hexdigest()}",
        index=index.name,
        card=card,
        encoder=encoder,
        state_dir=state_dir,
        formats=formats,
        fresh=True,
        origin=None,
        settings={"quantization": schema.quantization, "bm25": schema.bm25, **settings},
        fields=(*schema.kept, *schema.added),
        cached=cached,
        sparse=sparse,
        own=own,
        worded=worded,
        words=words,
    )
