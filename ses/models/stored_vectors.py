"""Which vectors an index stores: of the formats of its model, of formats with a model of their own, and of words.

A vector that the model makes for several formats is stored once.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpora.errors import InputError, SesError, require
from encoders.models.formats import Format, parse_format
from indexer.options import SPARSE, held_settings
from search_plugin.contract.schema import sparse_field

if TYPE_CHECKING:
    from encoders.models.card import ModelCard
    from encoders.models.known import KnownModel
    from indexer.job import OwnJob, SparseJob
    from indexer.options import VersionOptions
    from search_plugin.contract.engine import Index
    from search_plugin.contract.schema import IndexSchema
    from ses.models.library_models import LibraryModels


_READERS = {"clf": "tags", "rgn": "forecasts"}
"""What reads the vectors of a format, and those of prx where an index holds none."""

_PURPOSES = {"prx": "papers, and papers like a paper", "qry": "queries", **_READERS}


@dataclass(frozen=True, slots=True)
class FormatOfModel:
    """A format of a model.

    Attributes:
        format: Name of the format.
        purpose: What its vectors are for.
        made_by: Where they come from, in words.
    """

    format: str
    purpose: str
    made_by: str


def formats_of_model(card: ModelCard) -> tuple[FormatOfModel, ...]:
    """Return what each format of a model is for, and where its vectors come from."""
    return tuple(FormatOfModel(one.value, _PURPOSES[one.value], _made_by(card, one)) for one in _listed(card))


def _listed(card: ModelCard) -> list[Format]:
    return sorted(card.formats, key=list(_PURPOSES).index)


def _made_by(card: ModelCard, task_format: Format) -> str:
    from encoders.layouts.adapterhub import BASE

    head, prompt = card.origin(task_format)
    same = next((one for one in _listed(card) if card.origin(one) == (head, prompt)), task_format)
    if same is not task_format:
        words = task_format in formats_with_words(card, None, new=True)
        beside = f"; an index with the formats prx,{task_format} has the papers' words beside it" if words else ""
        return f"the same vector as {same}{beside}"
    if len({*card.heads.values()}) == 1 or head == BASE:
        return "the network, with a prompt of its own" if prompt else "the network itself"
    own = {"adapters": "an adapter", "fusion": "a fusion of adapters"}.get(card.architecture, "a vector")
    return f"{own} of its own"


def formats_with_words(
    card: ModelCard,
    before: IndexSchema | None,
    others: Iterable[Format] = (),
    needed: Iterable[Format] = (),
    *,
    new: bool,
) -> tuple[Format, ...]:
    """Return the formats that can have the papers' words beside the index's vectors for searches.

    Those are the formats for which the model has no vectors of their own. Arguments as of `formats_to_store`; those
    that are `needed` are needed without words.
    """
    from search_plugin.words.space import PARTS

    if not new:
        return tuple(Format(field.format) for field in before.worded) if before else ()
    if card.similarity != "cosine":
        return ()
    twice = [field.format for field in before.vectors] if before and _is_same(card, before) else []
    apart = {*others, *needed}
    return tuple(
        one
        for one in PARTS
        if one in card.heads
        and one not in card.distinct((Format.PRX, one))
        and one not in apart
        and one.value not in twice
    )


def formats_to_store(
    card: ModelCard,
    asked: Iterable[Format] | None,
    before: IndexSchema | None,
    others: Iterable[Format] = (),
    needed: Iterable[Format] = (),
    worded: Iterable[Format] = (),
    *,
    new: bool,
) -> tuple[Format, ...]:
    """Return the formats to store vectors for: prx, which searches use, and those that are asked for.

    A format with the same vector as an earlier one is left out, with a warning, unless it can have words beside it, or
    the index holds it already.

    Args:
        card: The index's model.
        asked: Formats that are asked for. If None, a new version has those of the version before, and a first one prx
            alone, with a warning if the model, which is new to the index, has other vectors of papers too.
        before: Schema of the published version, if there is one.
        others: Formats with models of their own.
        needed: Formats that are stored in any case, such as the one that a tagger reads.
        worded: Formats that can have words, of `formats_with_words`.
        new: Whether a new version is built.

    Returns:
        The formats, prx first.

    Raises:
        InputError: If no search could encode its query, or the model lacks a format of the version before.
    """
    from encoders.models.known import KNOWN_MODELS

    fields = (*before.vectors, *before.worded) if before else ()
    held = [Format(field.format) for field in fields if field.unit == "paper"]
    same = before is not None and _is_same(card, before)
    if not same and Format.QRY not in card.heads:
        raise InputError(
            f"The model {card.name} has no {Format.QRY} vectors, so no search of the index could be encoded",
            f"name what encodes queries in its ses_card.json, such as the adapter of {Format.PRX} (docs/encoders.md), "
            "or choose another <model>",
        )
    wanted = tuple(dict.fromkeys([Format.PRX, *(asked if asked is not None else held if new else ()), *needed]))
    kept = {*card.distinct(wanted), *others, *needed, *worded, *(held if same else ())}
    lacking = [one for one in wanted if one not in {*card.heads, *kept}]
    if asked is None and lacking:
        stays = [one for one in wanted if one not in lacking]
        raise InputError(
            f"The version before has {' and '.join(lacking)} vectors, and the model {card.name} has none",
            f"give <formats={','.join(stays)}> to have no such vectors, or choose another <model>",
        )
    # What the model lacks of those that are asked for is refused later.
    twins = [one for one in wanted if one in card.heads and one not in kept]
    stored = tuple(one for one in wanted if one not in twins)
    log = logging.getLogger("ses")
    if not new and (later := [one for one in twins if one in formats_with_words(card, None, new=True)]):
        log.warning(
            "The index gets vectors for %s, with its papers' words beside the %s vectors, when it is built again with "
            "the formats %s; until then, only its %s vectors are stored.",
            *(" and ".join(later), Format.PRX, ",".join(wanted), " and ".join(stored)),
        )
    elif twins:
        log.warning(
            "The model %s has no %s vectors of its own, so only its %s vectors are stored.",
            *(card.name, " and ".join(twins), " and ".join(stored)),
        )
    if new and not same and (whole := [name for name, one in KNOWN_MODELS.items() if _is_base(card, one)]):
        log.warning(
            "The model %s is a network without its adapters; the model %s has them, one for each format.",
            *(card.name, " or ".join(whole)),
        )
    more = [one for one in card.distinct((*stored, Format.CLF, Format.RGN)) if one not in (*stored, *others)]
    if new and asked is None and not same and more:
        log.warning(
            "The model %s has %s vectors too, which are not stored, so %s will use its %s vectors; to store them, "
            "index with the formats %s.",
            *(card.name, " and ".join(more), " and ".join(_READERS[one] for one in more), Format.PRX),
            ",".join((*stored, *more)),
        )
    return stored


def _is_same(card: ModelCard, before: IndexSchema) -> bool:
    return before.model_fingerprint == card.fingerprint


def _is_base(card: ModelCard, known: KnownModel) -> bool:
    return bool(known.adapters) and card.name.partition("@")[0] == known.hub_id


def note_of_format(index: Index, wanted: Format, used: Format, *, asked: bool) -> tuple[str, ...]:
    """Return a sentence for users if an index lacks vectors that its model makes, or that were asked for.

    `wanted` is the format of the vectors that are best, and `used` that of those which are used.
    """
    from encoders.registry import find_model

    if used is wanted:
        return ()
    schema, lacks = index.schema, f"The index {index.name} holds no {wanted} vectors, so its {used} vectors are used"
    try:
        card = find_model(schema.model).card
    except SesError:  # nothing is encoded, so its model need not be here
        card = None
    if card and card.fingerprint == schema.model_fingerprint and wanted in card.distinct((used, wanted)):
        held = [field.format for field in schema.vectors if field.unit == "paper"]
        how = (
            f"the own model {wanted}={schema.model}" if schema.projection else f"the formats {','.join(held)},{wanted}"
        )
        return (f"{lacks}, though its model makes them; to have them, build the index again with {how}.",)
    return (f"{lacks}.",) if asked else ()


_NONE = "none"
"""What users name where they want no model."""


def sparse_job(models: LibraryModels, schema: IndexSchema | None, options: VersionOptions) -> SparseJob | None:
    """Return what to write of sparse vectors, None if nothing.

    The schema is that of the published version, if there is one. Raises `InputError` if the model makes no sparse
    vectors, or a setting is out of bounds or has no use.
    """
    from encoders.registry import find_model
    from encoders.sparse import check_sparse_model
    from indexer.job import SparseJob

    held = schema.sparse[0] if schema and schema.sparse else None
    named = options.get("sparse") or ""
    chosen = {name: value for name in SPARSE if (value := options.get(name)) is not None}
    if named == _NONE or not (named or held):
        for unused in chosen:
            raise InputError("No sparse vectors are made", f"name a model by <sparse>, or leave <{unused}> out")
        return None
    model = check_sparse_model(find_model(named or (held.model if held else "")))
    before = held_settings(schema) if schema else {}
    settings = {SPARSE[name]: value for name, value in {**before, **chosen}.items() if name in SPARSE}
    # Made here, so that settings out of bounds are reported before any work.
    field = sparse_field(model.card.dimension, model.card.name, model.card.fingerprint, **settings)
    return SparseJob(model.card, functools.partial(models.sparse_encoder, model), field)


def own_jobs(models: LibraryModels, schema: IndexSchema | None, own: Mapping[str, str] | None) -> tuple[OwnJob, ...]:
    """Return which formats are made by models of their own.

    The schema is that of the published version, if there is one. Raises `InputError` if a model can't make a format, or
    the format is one of searches.
    """
    from encoders.registry import find_model
    from indexer.job import OwnJob

    chosen = {Format(field.format): field.model for field in schema.own} if schema else {}
    chosen |= {parse_format(name): model for name, model in (own or {}).items()}
    found = {one: find_model(name) for one, name in sorted(chosen.items()) if name != _NONE}
    for task_format, model in found.items():
        require(
            task_format in (Format.CLF, Format.RGN),
            f"Vectors for {task_format} are those of searches, which are made by the index's model",
            "give <own> for clf or rgn, or another <model>",
        )
        model.card.head(task_format)
    return tuple(
        OwnJob(model.card, functools.partial(models.encoder, model), (task_format,))
        for task_format, model in found.items()
    )
