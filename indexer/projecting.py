"""What an index keeps for its vectors that is fitted on papers drawn from the corpus: a projection, and words."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator, Sequence

from corpora.errors import require
from corpora.lazy import np
from corpora.paper import Accepted, Paper
from encoders.models.card import ModelCard
from encoders.models.formats import Format
from encoders.projection import VectorProjection, check_projectable
from indexer.blocks import BLOCK
from indexer.job import IndexJob
from indexer.target import formats_of_model
from indexer.work import Work
from search_plugin.contract.engine import Index
from search_plugin.contract.schema import SEARCHED, IndexSchema
from search_plugin.words.languages import DEFAULT_LANGUAGE
from search_plugin.words.space import FEWEST_PAPERS, WordSpace, words_text

SAMPLE = 20_000
"""Papers that a projection or words are fitted on, if there are so many."""


def kept_projection(card: ModelCard, before: IndexSchema | None, dimension: int | None) -> tuple[VectorProjection, ...]:
    """Return the projection that a fresh build keeps: that of the same model, unless a dimension is asked for."""
    held = before.projection if before and dimension is None else ()
    return tuple(one for one in held if one.fingerprint == card.fingerprint)


def projection_of(job: IndexJob, before: Index | None, work: Work) -> tuple[VectorProjection, ...]:
    """Return the projection of the generation that a job writes; none if its vectors are whole.

    It is that of an existing index, or what a fresh build keeps of the generation `before`, or one that is fitted on
    papers of the corpus, with its progress in `work`. Raises `InputError` if the vectors can't be so short, or there
    are fewer papers than numbers to keep, and `StoppedError` if the user stopped it.
    """
    schema = before.schema if before else None
    if schema and not job.fresh:
        return schema.projection
    wanted = job.settings.get("dimension")
    if wanted is None and schema and schema.projection:
        wanted = schema.projection[0].dimension
    if wanted in (None, job.card.dimension):
        return ()
    check_projectable(job.card, wanted)
    others = ", ".join(one for one in formats_of_model(job) if one.value != SEARCHED)
    require(
        not others,
        f"Only the vectors that are searched can be shorter, not those for {others}",
        "leave these <formats> out, or have them whole by <own>, such as clf=MODEL with the same model",
    )
    return kept_projection(job.card, schema, job.settings.get("dimension")) or (_fitted(job, wanted, work),)


def kept_words(before: IndexSchema | None, language: str | None) -> tuple[WordSpace, ...]:
    """Return the words that a fresh build keeps, if its formats are the same: those of the same language."""
    return before.words if before and language in (None, before.language) else ()


def words_of(job: IndexJob, before: Index | None, work: Work) -> tuple[WordSpace, ...]:
    """Return the words beside vectors of the generation that a job writes; none if no format has them.

    They are those of an existing index, or what a fresh build keeps of the generation `before`, or what is fitted on
    papers of the corpus, with its progress in `work`. If these are too few, there are none, with a warning. Raises
    `StoppedError` if the user stopped it.
    """
    schema = before.schema if before else None
    if schema and not job.fresh:
        return schema.words
    kept = tuple(one for one in job.words if {Format(part.format) for part in one.parts} == {*job.worded})
    if kept or not job.worded:
        return kept
    try:
        work.progress.stage("drawing papers", None)
        papers = _drawn(job)
        if len(papers) < FEWEST_PAPERS:
            logging.getLogger("ses").warning(
                "Words beside the vectors for %s need %s papers, and there are %s, so those are not stored; build the "
                "index again when it has more.",
                *(" and ".join(job.worded), FEWEST_PAPERS, len(papers)),
            )
            return ()
        work.progress.stage("fitting words", None)
        language = job.settings.get("language") or (schema.language if schema else DEFAULT_LANGUAGE)
        return (WordSpace.fitted(map(words_text, papers), language, job.worded),)
    except KeyboardInterrupt:
        raise work.stop(job.index, published=False) from None


def _fitted(job: IndexJob, dimension: int, work: Work) -> VectorProjection:
    try:
        work.progress.stage("drawing papers", None)
        papers = _drawn(job)
        work.progress.stage("fitting shorter vectors", len(papers))
        with work.timed():
            vectors = _vectors(job, papers, work)
    except KeyboardInterrupt:
        raise work.stop(job.index, published=False) from None
    work.encoded = 0.0  # they are still to be written
    return VectorProjection.fitted(vectors, dimension, job.card.fingerprint)


def _vectors(job: IndexJob, papers: Sequence[Paper], work: Work) -> np.ndarray:
    """Return the vectors of papers by a job's model, float32 (papers, numbers)."""
    encoder, searched = job.encoder(), Format(SEARCHED)
    made = [np.empty((0, job.card.dimension), np.float32)]
    for start in range(0, len(papers), BLOCK):
        texts = [encoder.card.text(paper.title, paper.abstract) for paper in papers[start : start + BLOCK]]
        made.append(encoder.encode_formats(texts, [searched], work.done)[searched])
    return np.concatenate(made)


def _drawn(job: IndexJob) -> list[Paper]:
    """Return papers of the corpus, each with the same chance (Vitter, "Random sampling with a reservoir", 1985).

    They are the same in every run, so that a run that was stopped finds its unfinished index again.
    """
    draw = random.Random(0)  # noqa: S311 - nobody has to be unable to guess it
    kept: list[tuple[int, Paper]] = []
    for number, paper in enumerate(_papers(job)):
        if number < SAMPLE:
            kept.append((number, paper))
        elif (place := draw.randrange(number + 1)) < SAMPLE:
            kept[place] = number, paper
    return [paper for _, paper in kept]


def _papers(job: IndexJob) -> Iterator[Paper]:
    return (record.paper for record in job.records() if isinstance(record, Accepted))
