"""`ses index`."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

import ses
from corpora.errors import InputError, require
from corpora.outgoing import in_a_line
from corpora.registry import CORPORA, get_corpus
from indexer.options import IndexOptions, RebuildOptions
from ses.terminal.accounts import account_summary
from ses.terminal.options import (
    PATH,
    described_options,
    engine_options,
    first_given,
    given_of,
    model_options,
    settings_of,
)
from ses.terminal.results import say

if TYPE_CHECKING:
    from corpora.obtaining import Harvest
    from indexer.job import IndexReport


_OF_REBUILDS = tuple(RebuildOptions.__annotations__)
_OF_CORPORA = tuple(one for one in IndexOptions.__annotations__ if one not in (*_OF_REBUILDS, "corpus"))


@click.command()
@described_options(IndexOptions, "corpus")
@click.option(
    "--path",
    metavar="PATH",
    help="File or folder of the corpus, for --corpus index http://HOST:PORT/NAME, for --corpus oai https://HOST/PATH "
    "[default: found or downloaded].",
)
@click.option("--index", "name", metavar="NAME", help="Name of the index [default: the corpus's].")
@described_options(IndexOptions, *_OF_CORPORA)
@described_options(RebuildOptions)
@click.option("--tuned", type=PATH, metavar="FILE", help="BM25's constants fitted by `ses eval tune`.")
@click.option("--set", metavar="SET", help="With --corpus oai: harvest only this set of the server.")
@click.option("--from", "from_date", metavar="DATE", help="With --corpus oai: only what changed on this day or later.")
@click.option("--until", metavar="DATE", help="With --corpus oai: only what changed on this day or before.")
@click.option("--metadata-prefix", metavar="NAME", help="With --corpus oai: the form of the records [default: oai_dc].")
@click.option("--again", is_flag=True, help="Ask the server for everything again, not only for what is new.")
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
    given = given_of(IndexOptions, options)
    harvest = _harvest_of(options)
    if name and options["fresh"] and not corpus:
        of_corpus = {**given, "path": options["path"], **(asdict(harvest) if harvest else {})}
        others = {one: value for one, value in of_corpus.items() if one not in (*_OF_REBUILDS, "fresh")}
        if unused := first_given(others):
            raise InputError("Without a corpus, an index is built again from its own papers", f"leave <{unused}> out")
        with progress_on_stderr() as progress:
            report = library.rebuild(name, progress=progress, **given_of(RebuildOptions, options))
        say(report.to_dict(), _summary(report), as_json=as_json)
        return
    if not corpus:
        likely = likely_corpus(Path(options["path"])) if options["path"] else ""
        hint = f"; {options['path']} looks like {likely}" if likely in CORPORA else ""
        if name and name in library:
            hint = f"; or build the index {name} again from its own papers, with --fresh"
        raise InputError(f"Say what to index, with --corpus NAME; choose one of: {', '.join(CORPORA)}{hint}.")
    with progress_on_stderr() as progress:
        report = library.index(name, options["path"], harvest=harvest, progress=progress, **given)
    say(report.to_dict(), _summary(report, corpus, options["path"] or ""), as_json=as_json)
    context.exit(1 if report.rejected else 0)


def _harvest_of(options: dict[str, Any]) -> Harvest | None:
    """Return which records of a server the user wants, None if the user says nothing of it."""
    from corpora.obtaining import Harvest

    names = ("set", "from_date", "until", "metadata_prefix")
    given = {name: options[name] for name in (*names, "again") if options[name]}
    return Harvest(**given) if given else None


def _summary(report: IndexReport, corpus: str = "", path: str = "") -> str:
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
        parts.append(
            f"Unchanged except for custom fields, or volume, pages and so on, which were written: {report.revalued:,}"
        )
    if report.kept:
        parts.append(f"No longer in this corpus, but kept since another corpus holds them: {report.kept:,}")
    if report.absent:
        parts.append(
            f"No longer in this corpus, and still in the index: {report.absent:,}; --prune deletes those that no other "
            "corpus holds."
        )
    if report.account:
        place = f"{shlex.quote(path)} --corpus {corpus}" if path and "://" not in path else ""
        takes_columns = get_corpus(corpus).takes_columns
        parts += map(in_a_line, account_summary(report.account, takes_columns=takes_columns, place=place))
    if report.dead_letter:
        parts.append(f"The rejected records, with line and reason: {report.dead_letter}")
    return "\n".join(parts)
