"""`ses encode`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from corpora.errors import InputError, require
from encoders.files.embeddings import LAYOUTS, JsonLines, layout_of, open_writer
from encoders.models.formats import Format, parse_formats
from indexer.options import IndexOptions
from ses.models.loaded_model import make_encoder
from ses.models.stored_vectors import formats_to_store
from ses.settings import load_settings
from ses.terminal.options import PATH, described_options, first_given, given_of, model_options, settings_of
from ses.terminal.progress import progress_on_stderr
from ses.terminal.results import say, say_json, tell

if TYPE_CHECKING:
    from corpora.paper import Rejected
    from encoders.files.embeddings import FileLayout
    from encoders.files.encoding import EncodeReport
    from encoders.files.texts import TextRecord
    from encoders.models.model import Model
    from indexer.shards import ShardReport
    from ses.settings import Settings

_STANDARD_INPUT = Path("/dev/stdin")


@click.command()
@click.argument("input", required=False, type=click.Path(path_type=Path, exists=True, allow_dash=True))
@click.option(
    "--format",
    "formats",
    multiple=True,
    default=("prx",),
    show_default=True,
    metavar="LIST",
    help="Task formats: prx, qry, clf or rgn; several separated by commas, each written to its own file.",
)
@click.option("--text", "plain", is_flag=True, help="The input has one text per line, not JSON; .txt files always do.")
@described_options(IndexOptions, "corpus")
@click.option("--path", type=PATH, help="File or folder of the corpus [default: found or downloaded].")
@described_options(IndexOptions, "columns", "limit")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Output file. The ids of papers.npy are in papers.ids.txt; each of several formats has a file "
    "such as papers.clf.npy [default: standard output].",
)
@click.option(
    "--layout",
    type=click.Choice(LAYOUTS),
    help="JSON lines of doc_id or of paper_id, or a float32 matrix [default: by FILE's ending, else scirepeval].",
)
@click.option(
    "--shards",
    metavar="FOLDER",
    help="Encode a --corpus into a folder of shards instead, for `ses index --shards`; or into a URL such as "
    "s3://BUCKET/FOLDER.",
)
@click.option(
    "--shard",
    metavar="I/N",
    help="The part of the corpus to encode into the folder of shards; I counts from 1 to N [default: that of this task "
    "of a Slurm array, whose lowest number is part 1; else 1/1].",
)
@model_options
@click.option(
    "--json", "as_json", is_flag=True, help="Print what was done as one JSON document; needs --output or --shards."
)
@click.pass_context
def encode(context: click.RichContext, /, as_json: bool, **options: Any) -> None:  # noqa: FBT001 - click passes flags so
    """Encode papers, queries or texts into an embedding file that SciRepEval, SciDocs or numpy reads.

    INPUT is a file; without it, standard input is read: JSON lines of papers (id, title, abstract), of queries (id,
    query) or of both, in the shapes of SPECTER, SciRepEval, BEIR or your own. The "format" of a record overrides
    --format. The output file appears when it is complete. If a run was stopped, run the same command again: it takes
    finished vectors from the cache.

    With --shards, a corpus is encoded in parts that need not run at the same time or on the same machine. A part that
    is repeated encodes only what is missing, damaged or changed; `ses shards status` lists it.

    Records that can't be encoded are listed in a file, with line and reason, and the exit code is 1. If records share
    an id, the first is encoded; with --shards the last, as when they are indexed.
    """
    from encoders.registry import find_model

    formats = parse_formats(*options["formats"])
    if options["shards"]:
        done = _encode_shard(load_settings(**settings_of(options)), formats, options)
        say(done.to_dict(), _summary_of_shard(done), as_json=as_json)
        context.exit(1 if done.rejected else 0)
    require(not options["shard"], "A part of a corpus needs a folder", "name it with <shards>")
    output = None if options["output"] in (None, Path("-")) else options["output"]
    layout = _layout(output, options["layout"])
    if output is None and (as_json or len(formats) > 1):
        raise InputError("Standard output takes the vectors of one format and nothing else; name a file with --output.")
    settings = load_settings(**settings_of(options))
    model = find_model(settings.model_name)
    files = _files(output, formats)
    begun = time.perf_counter()
    dead_letter = output.with_suffix(".rejected.jsonl") if output else settings.data_dir / "rejected" / "encode.jsonl"
    report = _encode(settings, model, _records(settings, files, options), files, layout, dead_letter)
    seconds = time.perf_counter() - begun
    facts = {
        "model": model.card.name,
        "fingerprint": model.card.fingerprint,
        "dimension": model.card.dimension,
        "files": {name.value: str(path) for name, path in files.items() if path},
        "encoded": report.encoded,
        "duplicates": report.duplicates,
        "rejected": report.rejected,
        "dead_letter": str(dead_letter) if report.rejected else None,
        "seconds": seconds,
    }
    if as_json:
        say_json(facts)
    else:
        tell(_summary(facts), err=output is None)
    context.exit(1 if report.rejected else 0)


def _encode(
    settings: Settings,
    model: Model,
    records: Iterator[TextRecord | Rejected],
    files: Mapping[Format, Path | None],
    layout: FileLayout,
    dead_letter: Path,
) -> EncodeReport:
    from encoders.files.encoding import encode_texts
    from indexer.work import DeadLetter

    # Problems of input and output are found before a model is loaded.
    first = list(islice(records, 1))
    with ExitStack() as stack:
        writers = {
            name: stack.enter_context(open_writer(path, layout)) if path else JsonLines(sys.stdout.buffer, layout)
            for name, path in files.items()
        }
        dead = stack.enter_context(closing(DeadLetter(dead_letter)))
        progress = stack.enter_context(progress_on_stderr())
        progress.stage("encoding", None)
        report = encode_texts(chain(first, records), make_encoder(settings, model), writers, dead.add, progress)
        if not report.encoded:
            # Raised here, so that an existing file stays.
            why = f"; {dead_letter} says why, for all {report.rejected:,} records" if report.rejected else ""
            raise InputError(f"The input has no records that can be encoded{why}.")
    return report


def _encode_shard(settings: Settings, formats: tuple[Format, ...], options: Mapping[str, Any]) -> ShardReport:
    from dataclasses import replace

    from encoders.registry import find_model
    from indexer.blocks import VectorPlan
    from indexer.shards import Shard, ShardJob, encode_shard
    from indexer.storage import storage_at
    from ses.models.workers import running_of
    from ses.papers import of_corpus

    require(options["corpus"], "Shards are parts of a corpus", "name it with --corpus, and its file with --path")
    if unused := first_given({name: options[name] for name in ("input", "plain", "output", "layout")}):
        raise InputError("Shards take a corpus and go into their folder", f"leave <{unused}> out")
    source = of_corpus(
        options["corpus"],
        options["path"],
        settings.data_dir,
        columns=given_of(IndexOptions, options).get("columns", {}),
        limit=options["limit"],
    )
    model = find_model(settings.model_name)
    for name in formats:
        model.card.head(name)
    in_force = replace(settings, embedding_cache=False)  # the folder keeps the vectors
    job = ShardJob(
        records=source.records,
        storage=storage_at(options["shards"]),
        shard=Shard.parse(options["shard"]) if options["shard"] else Shard.here(),
        plan=VectorPlan(
            model.card.name,
            model.card.fingerprint,
            tuple(name.value for name in formats_to_store(model.card, formats, None, new=True)),
            running=running_of(settings),
        ),
        encoder=lambda: make_encoder(in_force, model),
        state_dir=settings.data_dir,
    )
    with progress_on_stderr() as progress:
        return encode_shard(job, progress)


def _summary_of_shard(report: ShardReport) -> list[str]:
    from eval.reports.report import counted

    parts = [
        f"Shard {report.shard}: {counted(report.papers, 'papers')} in {counted(report.blocks, 'blocks')}, "
        f"{report.encoded:,} encoded now; rejected records: {report.rejected:,}"
    ]
    if report.dead_letter:
        parts.append(f"The rejected records, with line and reason: {report.dead_letter}")
    return parts


def _layout(output: Path | None, wanted: FileLayout | None) -> FileLayout:
    if output is None and wanted == "npy":
        raise InputError("A matrix and its ids are two files: name the first with --output, such as papers.npy.")
    return wanted or (layout_of(output) if output else "scirepeval")


def _files(output: Path | None, formats: tuple[Format, ...]) -> dict[Format, Path | None]:
    if output is None or len(formats) == 1:
        return dict.fromkeys(formats, output)
    return {name: output.with_suffix(f".{name}{output.suffix}") for name in formats}


def _records(
    settings: Settings, files: Mapping[Format, Path | None], options: Mapping[str, Any]
) -> Iterator[TextRecord | Rejected]:
    from corpora.registry import get_corpus
    from encoders.files.texts import papers_as_texts, read_json_texts, read_plain_texts
    from ses.papers import check_columns, located

    source: Path | None = options["input"]
    if options["corpus"]:
        if source or options["plain"]:
            raise InputError("Give either the input or --corpus; the file of a corpus is named with --path.")
        corpus = get_corpus(options["corpus"])
        columns = given_of(IndexOptions, options).get("columns", {})
        check_columns(corpus, columns)
        source = options["path"] or located(corpus, settings.data_dir)
        records = papers_as_texts(corpus.read(source, columns))
    elif options["path"]:
        raise InputError("--path is the place of a --corpus; name the input itself without it.")
    else:
        columns = given_of(IndexOptions, options).get("columns", {})
        if source is None and sys.stdin.isatty():
            raise InputError("Name the file to encode, or pipe JSON lines in; `ses encode --help` shows how.")
        source = _STANDARD_INPUT if source in (None, Path("-")) else source
        plain = options["plain"] or ".txt" in source.suffixes[-2:]
        records = read_plain_texts(source) if plain else read_json_texts(source, columns)
    if any(path and path.exists() and source.exists() and path.samefile(source) for path in files.values()):
        raise InputError(f"{source} is the input, and would be replaced: give another file with --output.")
    return islice(records, options["limit"])


def _summary(facts: Mapping[str, Any]) -> str:
    where = ", ".join(facts["files"].values()) or "standard output"
    parts = [
        f"{facts['encoded']:,} texts encoded by {facts['model']} ({facts['dimension']} values each) into {where}",
        f"{facts['duplicates']:,} duplicates left out, {facts['rejected']:,} rejected, {facts['seconds']:.1f} s",
    ]
    if facts["dead_letter"]:
        parts.append(f"The rejected records, with line and reason: {facts['dead_letter']}")
    return "\n".join(parts)
