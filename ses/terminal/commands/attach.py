"""`ses attach`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import rich_click as click

import ses
from corpora.errors import InputError
from indexer.options import AttachedOptions, EncodingOptions
from ses.library import Library
from ses.terminal.options import described_options, engine_options, given_of, model_options, settings_of
from ses.terminal.progress import progress_on_stderr
from ses.terminal.results import say

if TYPE_CHECKING:
    from indexer.job import IndexReport


@click.command()
@click.argument("target", metavar="URL/NAME")
@described_options(Library.attach)
@click.option("--update", is_flag=True, help="Follow the changes of an attached index, with the fields it has.")
@described_options(AttachedOptions)
@model_options
@engine_options
@click.pass_context
def attach(context: click.RichContext, /, *, target: str, as_json: bool, update: bool, **options: Any) -> None:
    """Add vectors to an index that ses did not make, and search it there by words and by meaning.

    The index or alias NAME of an OpenSearch or Elasticsearch keeps its documents and its mapping. Vectors are written
    into the documents in one field of their own, named ses. Where that is impossible, an index beside it holds them.
    Searches name it with --index and use its own fields. `ses detach` removes all vectors. Vectors that its owner has
    made with a model that ses can load are searched too, or alone.

    A run that was stopped resumes with the same command. Documents that can't be papers are listed in a file, with the
    reason, and the exit code is 1.
    """
    library, index = open_target(target, options)
    name = options["name"] or index
    with progress_on_stderr() as progress:
        if update:
            if any(options[one] for one in ("title", "abstract", "fields", "vectors", "beside", "quantization")):
                raise InputError("An update keeps the fields and the vectors", "leave them or <update> out")
            report = library.follow(name, progress=progress, **given_of(EncodingOptions, options))
        else:
            given = given_of(Library.attach, options) | given_of(AttachedOptions, options)
            report = library.attach(index, progress=progress, **given)
    # Not all facts of it: who may attach an index may not see its size.
    attached: str = getattr(library[name].index, "attached_to", "")
    document: Mapping[str, Any] = {**report.to_dict(), "attached": attached}
    shown = _summary(report, attached)
    say(document, shown, as_json=as_json)
    context.exit(1 if report.rejected else 0)


def open_target(target: str, options: Mapping[str, Any]) -> tuple[Library, str]:
    """Return the library of a cluster and the name of an index in it, from URL/NAME or a name and --engine."""
    from search_plugin.engines.cluster.scan import split_index_url

    settings = settings_of(options)
    if "/" not in target:
        return ses.open(**settings), target
    if settings.get("engine"):
        raise InputError(f"{target.rpartition('@')[2]} names its cluster itself", "leave <engine> out")
    url, index = split_index_url(target)
    return ses.open(**settings | {"engine": url}), index


def _summary(report: IndexReport, attached: str) -> str:
    parts = [
        f"Index {report.index}, attached {attached}: {report.papers:,} papers",
        f"{report.new:,} new, {report.updated:,} changed, {report.unchanged:,} unchanged, {report.deleted:,} gone, "
        f"{report.rejected:,} rejected",
        f"{report.seconds:.1f} s, including {report.encoding_seconds:.1f} s of encoding by {report.model}",
    ]
    for one in report.vectors:
        compared = f"median cosine {one.cosine:.2f} to the model's vectors of {one.documents} documents, by {one.text}"
        shown = compared if one.cosine is not None else "not compared with the model's vectors"
        parts.append(f"Its own vectors {one.field}, of {one.model}: {shown}")
    if report.duplicates:
        parts.append(f"Ids that several documents behind {report.origin} have: {report.duplicates:,}")
    if report.dead_letter:
        parts.append(f"The rejected documents, with the reason: {report.dead_letter}")
    return "\n".join(parts)
