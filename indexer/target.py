"""The generation of an index that a job writes to: chosen before the work, pruned and checked after it.

An index may hold several corpora. A paper's `origins` name all corpora that hold it. If one of them drops the paper, it
is deleted only if no other has it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import NamedTuple, cast

from corpora.errors import InputError, UnavailableError
from encoders.models.formats import Format
from encoders.projection import VectorProjection, projected_card
from indexer.job import IndexJob, SparseJob
from indexer.options import held_settings
from indexer.survey import Survey
from indexer.work import DeadLetter
from search_plugin.contract.engine import Engine, Index, check_model
from search_plugin.contract.schema import SENTENCES, IndexSchema, OwnField, paper_vector, sentence_vectors
from search_plugin.contract.tree import And, Compare, OneOf
from search_plugin.words.languages import DEFAULT_LANGUAGE
from search_plugin.words.space import WordSpace


def published_generation(job: IndexJob, engine: Engine) -> Index | None:
    """Return the published generation, or None if there is none that can or must be read."""
    try:
        return engine.open(job.index) if engine.schema(job.index) else None
    except UnavailableError as error:
        if not job.fresh:
            raise
        logging.getLogger("ses").warning("Nothing of the version before can be taken over: %s", error)
        return None


def generation_to_write(
    job: IndexJob,
    engine: Engine,
    before: Index | None,
    projection: Sequence[VectorProjection] = (),
    words: Sequence[WordSpace] = (),
) -> tuple[Index, bool]:
    """Return the generation to write to, and whether it is the published one, which is `before`.

    The projection is what its vectors have, and the words are what stands beside those of some formats.
    """
    own = tuple(field for one in job.own for field in one.fields())
    card = projected_card(job.card, projection)
    vectors = tuple(paper_vector(one.value, card.dimension, card.similarity) for one in formats_of_model(job))
    if job.fresh or before is None:
        kept = before.schema if before else None
        if job.settings.get("passages", kept.passages if kept else "none") == SENTENCES:
            vectors = (*vectors, sentence_vectors(card.dimension, card.similarity))
        schema = IndexSchema(
            card.name,
            card.fingerprint,
            vectors,
            sparse=(job.sparse.field,) if job.sparse else (),
            own=own,
            projection=tuple(projection),
            words=tuple(words),
            language=kept.language if kept else DEFAULT_LANGUAGE,
        ).with_fields(job.fields)
        if kept:
            given = {field.name for field in job.fields}
            schema = schema.with_fields(field for field in kept.added if field.name not in given)
        attributes = {one.name for one in fields(IndexSchema)}
        chosen = {name: value for name, value in job.settings.items() if name in attributes}
        return engine.build(job.index, replace(schema, **chosen), job.source), False
    index = before
    check_model(index, card.name, card.fingerprint)
    for task_format in job.formats:
        index.schema.vector(task_format.value)
    _check_sparse(index, job.sparse)
    _check_own(index, own)
    held = held_settings(index.schema)
    for name, wanted in job.settings.items():
        if wanted != held.get(name, wanted):
            raise InputError(
                f"The index {job.index} was made with {name.replace('_', ' ')} {held[name]}",
                f"leave <{name}> out, or index again with <fresh> to have {wanted}",
            )
    index.add_fields(job.fields)
    return index, True


def formats_of_model(job: IndexJob) -> list[Format]:
    """Return the formats that the job's model makes; `InputError` if it can't make one."""
    others = {*job.worded, *(name for one in job.own for name in one.formats)}
    made = [name for name in job.formats if name not in others]
    for task_format in made:
        job.card.head(task_format)
    return made


def _check_own(index: Index, own: Sequence[OwnField]) -> None:
    """Raise `InputError` if other models of their own make an index's formats."""
    wanted, there = ({(one.format, one.fingerprint) for one in fields} for fields in (own, index.schema.own))
    if wanted != there:
        held = ", ".join(f"{one.format} by {one.model}" for one in index.schema.own) or "none"
        raise InputError(
            f"The index {index.name} has other formats with models of their own: {held}",
            "leave <own> out, or index again with <fresh>",
        )


def _check_sparse(index: Index, job: SparseJob | None) -> None:
    """Raise `InputError` if an index has other sparse vectors than a job would write."""
    if job is None:
        if index.schema.sparse:
            raise InputError(f"The index {index.name} has sparse vectors", "leave <sparse> out, or add <fresh>")
        return
    name = job.card.name
    if not index.schema.sparse:
        raise InputError(
            f"The index {index.name} has no sparse vectors",
            f"leave <sparse> out, or index again with <fresh> and <sparse={name}>",
        )
    check_model(index, name, job.card.fingerprint, index.schema.sparse[0].format)


def check_papers(job: IndexJob, counts: Mapping[str, int], dead: DeadLetter) -> None:
    """Raise `InputError` if a corpus has no papers to build an index of; an index may be rebuilt empty."""
    if job.origin is None or counts["new"] + counts["updated"] + counts["unchanged"]:
        return
    if dead.count:
        raise InputError(f"None of the {dead.count:,} records of the corpus can be indexed; {dead.path} says why.")
    raise InputError("The corpus holds no papers", "look whether <path> and <corpus> are right")


def checked_count(index: Index, counts: Mapping[str, int], dead: DeadLetter, *, published: bool) -> int:
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
    for field in index.schema.dense:
        if (held := index.count(field.format)) != papers:
            raise UnavailableError(
                f"Only {held:,} of the {papers:,} papers in the index {index.name} have a {field.format} vector, "
                "so somebody else has written to it",
                "index again with <fresh>",
            )
    return papers


class OriginRemoval(NamedTuple):
    """How many papers were deleted, and how many stay because another corpus holds them."""

    deleted: int
    kept: int


def withdrawn_ids(index: Index, origin: str, survey: Survey) -> list[list[str]]:
    """Return the papers of an origin that the corpus marks as deleted."""
    mine = Compare("origins", "=", origin)
    return [list(index.ids(And((OneOf("id", tuple(ids)), mine)))) for ids in survey.deleted()]


def gone_ids(index: Index, origin: str, survey: Survey) -> list[list[str]]:
    """Return the papers of an origin that the corpus does not hold."""
    return list(survey.gone(index.ids(Compare("origins", "=", origin))))


def count_gone(index: Index, origin: str, survey: Survey) -> int:
    """Return how many papers of an origin the corpus does not hold, in an index that holds all of the corpus."""
    counts = survey.counts()
    if index.count() == counts["new"] + counts["updated"] + counts["unchanged"]:
        return 0
    return sum(map(len, gone_ids(index, origin, survey)))


def remove_origin(index: Index, origin: str, found: Iterable[Sequence[str]]) -> OriginRemoval:
    """Remove an origin from papers, given in batches of ids, and delete those that no other corpus holds."""
    deleted = kept = 0
    for ids in found:
        held = index.values(ids, ["origins"])
        others = {
            id_: tuple(o for o in cast("tuple[str, ...]", row.get("origins", ())) if o != origin)
            for id_, row in held.items()
        }
        shared = {id_: origins for id_, origins in others.items() if origins}
        alone = [id_ for id_ in ids if id_ not in shared]
        index.update({id_: {"origins": origins} for id_, origins in shared.items()})
        index.delete(alone)
        deleted += len(alone)
        kept += len(shared)
    return OriginRemoval(deleted, kept)
