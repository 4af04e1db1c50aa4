"""What an index holds beside the vectors of its model: what the user names, or else as before."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from corpora.errors import require

if TYPE_CHECKING:
    from indexer.job import OwnJob, SparseJob
    from search_plugin.contract.schema import IndexSchema
    from ses.library_models import LibraryModels

_NONE = "none"
"""What users name where they want no model."""


def sparse_job(
    models: LibraryModels, schema: IndexSchema | None, sparse: str, most: int | None, ratio: float | None
) -> SparseJob | None:
    """Return what to write of sparse vectors, None if nothing.

    The schema is that of the published version, if there is one. Raises `InputError` if the model makes no sparse
    vectors, or a setting is out of bounds or has no use.
    """
    from encoders.registry import find_model
    from encoders.sparse import check_sparse_model
    from indexer.job import SparseJob

    held = schema.sparse[0] if schema and schema.sparse else None
    if sparse == _NONE or not (sparse or held):
        unused = "sparse_tokens" if most is not None else "sparse_ratio" if ratio is not None else ""
        require(not unused, "No sparse vectors are made", f"name a model by <sparse>, or leave <{unused}> out")
        return None
    model = check_sparse_model(find_model(sparse or (held.model if held else "")))
    if held:
        most, ratio = held.most if most is None else most, held.ratio if ratio is None else ratio
    job = SparseJob(model.card, functools.partial(models.sparse_encoder, model), most, ratio)
    job.field()  # settings out of bounds are reported before any work
    return job


def own_jobs(models: LibraryModels, schema: IndexSchema | None, own: Mapping[str, str] | None) -> tuple[OwnJob, ...]:
    """Return which formats are made by models of their own.

    The schema is that of the published version, if there is one. Raises `InputError` if a model can't make a format, or
    the format is one of searches.
    """
    from encoders.models.formats import Format, parse_format
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
