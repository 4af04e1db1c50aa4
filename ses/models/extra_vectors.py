"""Vectors of an index beside those of its model: of words, and of formats with a model of their own."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from corpora.errors import InputError, require
from encoders.models.formats import Format, parse_format
from indexer.options import SPARSE, held_settings
from search_plugin.contract.schema import sparse_field

if TYPE_CHECKING:
    from indexer.job import OwnJob, SparseJob
    from indexer.options import VersionOptions
    from search_plugin.contract.schema import IndexSchema
    from ses.models.library_models import LibraryModels

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
