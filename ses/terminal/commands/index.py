"""`ses index`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import rich_click as click

from corpora.errors import InputError, require
from corpora.registry import CORPORA, get_corpus
from search_plugin.contract.schema import Passages, Quantization
from search_plugin.words.languages import LANGUAGES
from ses.terminal.options import (
    PATH,
    engine_options,
    model_options,
    parse_bm25,
    parse_columns,
    parse_models,
    settings_of,
    workers_option,
)
from ses.terminal.results import say

if TYPE_CHECKING:
    from corpora.obtaining import Harvest
    from indexer.job import IndexReport


@click.command()
@click.option("--corpus", metavar="NAME", help=f"What to index: {', '.join(CORPORA)}.")
@click.option(
    "--path",
    metavar="PATH",
    help="File or folder of the corpus, for --corpus index http://HOST:PORT/NAME, for --corpus oai https://HOST/PATH "
    "[default: found or downloaded].",
)
@click.option("--encoding", metavar="NAME", help="Encoding of a text file, such as cp1252 or utf-16 [default: utf-8].")
@click.option(
    "--column", "columns", multiple=True, metavar="ATTRIBUTE=COLUMN", help="Column or key of an attribute; repeatable."
)
@click.option(
    "--field",
    "fields",
    multiple=True,
    metavar="NAME=KIND",
    help="A custom field to keep, such as collection=keyword, from the column of its name or of --column NAME=COLUMN; "
    "kinds are text, keyword, keywords, number, date and boolean; repeatable.",
)
@click.option(
    "--language",
    type=click.Choice(list(LANGUAGES)),
    help="Language of titles and abstracts, for word analysis in a new index [default: english].",
)
@click.option("--index", "name", metavar="NAME", help="Name of the index [default: the corpus's].")
@click.option(
    "--formats",
    metavar="LIST",
    help="Task formats to store vectors for, such as prx,clf [default: with --fresh, as before; else prx].",
)
@click.option(
    "--passages",
    type=click.Choice(get_args(Passages)),
    help="Passages to store vectors of in a new index, about nine a paper for sentences; searches then find a paper by "
    "its nearest sentence too, and show it [default: none].",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Index the first N papers only.")
@click.option("--fresh", is_flag=True, help="Build a new version beside the existing one, and swap at the end.")
@click.option(
    "--prune", is_flag=True, help="Delete papers that the corpus no longer holds; those of other corpora stay."
)
@click.option(
    "--origin",
    metavar="NAME",
    help="Name of the corpus within the index [default: that of --corpus; formats such as csv add the file's].",
)
@click.option(
    "--quantization",
    type=click.Choice(get_args(Quantization)),
    help="How a cluster stores vectors in memory, in a new index [default: none].",
)
@click.option(
    "--dimension",
    type=click.IntRange(min=1),
    metavar="N",
    help="Numbers of a vector in a new index, fewer than the model's; vectors are turned by principal components of "
    "the corpus, and cut [default: the model's].",
)
@click.option(
    "--bm25", metavar="K1,B", help="BM25's constants in a new index of a cluster, such as 0.9,0.4 [default: 1.2,0.75]."
)
@click.option("--tuned", type=PATH, metavar="FILE", help="BM25's constants fitted by `ses eval tune`.")
@click.option("--set", metavar="SET", help="With --corpus oai: harvest only this set of the server.")
@click.option("--from", "from_date", metavar="DATE", help="With --corpus oai: only what changed on this day or later.")
@click.option("--until", metavar="DATE", help="With --corpus oai: only what changed on this day or before.")
@click.option("--metadata-prefix", metavar="NAME", help="With --corpus oai: the form of the records [default: oai_dc].")
@click.option("--again", is_flag=True, help="Ask the server for everything again, not only for what is new.")
@click.option(
    "--sparse",
    metavar="MODEL",
    help="Model of learned sparse vectors for a new index, a leg of searches beside words and vectors; none for no "
    "such vectors.",
)
@click.option(
    "--sparse-tokens",
    type=int,
    metavar="N",
    help="How many tokens of its sparse vector a paper keeps in a new index, the heaviest [default: 256].",
)
@click.option(
    "--sparse-ratio",
    type=float,
    metavar="SHARE",
    help="Least weight of a kept token, as a share of the paper's heaviest, in a new index [default: 0].",
)
@click.option(
    "--own",
    multiple=True,
    metavar="FORMAT=MODEL",
    help="Model that makes the vectors of clf or rgn in place of the index's model, in a new index, such as "
    "clf=runs/journals/model; none for no such model; repeatable.",
)
@workers_option
@click.option(
    "--shards",
    metavar="FOLDER",
    help="Take the vectors from this folder or URL of `ses encode --shards`; with --workers, put them there too.",
)
@click.option("--tags", metavar="NAME", help="Tag the papers by this tagger when they are written; see `ses tags`.")
@click.option(
    "--rollback", is_flag=True, help="Go back to the version before the last --fresh, and index nothing; only once."
)
@model_options
@engine_options
@click.pass_context
def index(context: click.RichContext, /, rollback: bool, as_json: bool, **options: Any) -> None:  # noqa: FBT001 - click passes flags so
    """Index a corpus, or update its index.

    Papers that have not changed are skipped. A run that was stopped, even by kill -9, resumes with the same
    command. A record that marks a paper as deleted deletes it. Records that can't be indexed are listed in a file, with
    line and reason, and the exit code is 1.

    With --index and --fresh but without --corpus, an index is rebuilt from its own papers: for another --model or
    --language, other --formats, or with the schema of this version of ses. Custom fields, tags, forecasts and origins
    stay.
    """
    import ses
    from corpora.custom import parse_fields
    from corpora.sniffing import likely_corpus
    from ses.terminal.progress import progress_on_stderr

    library = ses.open(**settings_of(options))
    corpus = options["corpus"]
    name = options["name"] or (get_corpus(corpus).name if corpus and not rollback else corpus)
    if rollback:
        require(name, "Say which index to roll back, with --index NAME.")
        restored = library.rollback(name).index
        document = {"index": restored.name, "generation": restored.generation}
        shown = f"Searching version {restored.generation} of {restored.name} again; the newer one is not used any more."
        say(document, shown, as_json=as_json)
        return
    bm25 = parse_bm25(options["bm25"]) if options["bm25"] else None
    formats = [options["formats"]] if options["formats"] is not None else None
    names = ("quantization", "dimension", "language", "passages", "sparse_tokens", "sparse_ratio")
    own = parse_models(options["own"], "format", "own")
    in_new = {"sparse": options["sparse"] or "", "own": own, **{name: options[name] for name in names}}
    elsewhere = {"workers": options["workers"] or 0, "shards": options["shards"]}
    if name and options["fresh"] and not corpus:
        of_harvest = ("set", "from_date", "until", "metadata_prefix", "again")
        of_corpora = ("path", "columns", "fields", "limit", "prune", "origin", "encoding", "tags")
        if given := next((option for option in (*of_corpora, *of_harvest) if options[option]), ""):
            raise InputError("Without a corpus, an index is built again from its own papers", f"leave <{given}> out")
        with progress_on_stderr() as progress:
            report = library.rebuild(name, bm25=bm25, formats=formats, **in_new, **elsewhere, progress=progress)
        say(report.to_dict(), _summary(report), as_json=as_json)
        return
    if not corpus:
        likely = likely_corpus(Path(options["path"])) if options["path"] else ""
        hint = f"; {options['path']} looks like {likely}" if likely in CORPORA else ""
        if name and name in library:
            hint = f"; or build the index {name} again from its own papers, with --fresh"
        raise InputError(f"Say what to index, with --corpus NAME; choose one of: {', '.join(CORPORA)}{hint}.")
    with progress_on_stderr() as progress:
        report = library.index(
            name,
            options["path"],
            corpus=corpus,
            columns=parse_columns(options["columns"]),
            fields=parse_fields(options["fields"]),
            formats=formats,
            limit=options["limit"],
            fresh=options["fresh"],
            prune=options["prune"],
            origin=options["origin"],
            encoding=options["encoding"] or "",
            bm25=bm25,
            tags=options["tags"] or "",
            harvest=_harvest_of(options),
            **in_new,
            **elsewhere,
            progress=progress,
        )
    say(report.to_dict(), _summary(report), as_json=as_json)
    context.exit(1 if report.rejected else 0)


def _harvest_of(options: dict[str, Any]) -> Harvest | None:
    """Return which records of a server the user wants, None if the user says nothing of it."""
    from corpora.obtaining import Harvest

    names = ("set", "from_date", "until", "metadata_prefix")
    given = {name: options[name] for name in (*names, "again") if options[name]}
    return Harvest(**given) if given else None


def _summary(report: IndexReport) -> str:
    parts = [
        f"Index {report.index}, version {report.generation}: {report.papers:,} papers",
        f"From {report.origin or 'the index itself'}: {report.new:,} new, {report.updated:,} updated, "
        f"{report.unchanged:,} unchanged, {report.duplicates:,} duplicates, {report.deleted_by_corpus:,} deleted by "
        f"the corpus, {report.deleted:,} deleted by pruning, {report.rejected:,} rejected",
        f"{report.seconds:.1f} s, including {report.encoding_seconds:.1f} s of encoding by {report.model}",
    ]
    if report.harvest:
        got = report.harvest
        parts.insert(
            1,
            f"From the server: {got['requests']:,} answers with {got['records']:,} records, {got['deleted']:,} of them "
            f"deleted; {got['refused']:,} refused; {got['held']:,} records are here",
        )
        parts += got["notes"]
    for name, count in report.fields.items():
        parts.append(f"Field {name}: {count:,} records have a value")
    if report.revalued:
        parts.append(f"Unchanged except for custom fields, which were written: {report.revalued:,}")
    if report.kept:
        parts.append(f"No longer in this corpus, but kept since another corpus holds them: {report.kept:,}")
    if report.absent:
        parts.append(
            f"No longer in this corpus, and still in the index: {report.absent:,}; --prune deletes those that no other "
            "corpus holds."
        )
    if report.dead_letter:
        parts.append(f"The rejected records, with line and reason: {report.dead_letter}")
    return "\n".join(parts)
