"""Collections for retrieval: options of commands, and the papers, queries and judgments that they name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click

from corpora.errors import InputError
from corpora.registry import CORPORA
from eval.trec.topics import DEFAULT_FIELDS, FIELDS
from search_plugin.contract.engine import EVALUATION

if TYPE_CHECKING:
    from corpora.paper import Record
    from encoders.text_encoder import TextEncoder
    from eval.embedder import Text
    from eval.retrieval.beir import JudgedQueries
    from search_plugin.contract.engine import Index
    from ses.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Collection:
    """Papers with judged queries.

    Attributes:
        name: For people and for the index.
        corpus: The reader of the papers.
        paths: Files that it reads, in order.
        judged: Queries and judgments.
        files: All files that were read, for a report.
        told: The options that chose it, for a report.
        seen: By query, documents judged in earlier rounds.
        unjudged: Topics without judgments, which aren't run.
    """

    name: str
    corpus: str
    paths: tuple[Path, ...]
    judged: JudgedQueries
    files: tuple[Path, ...]
    told: Mapping[str, str]
    seen: Mapping[str, frozenset[str]] = field(default_factory=dict)
    unjudged: int = 0

    def records(self) -> Iterator[Record]:
        """Read the papers."""
        from corpora.registry import get_corpus

        read = get_corpus(self.corpus).read
        for path in self.paths:
            yield from read(path, {})


def collection_options(function: F) -> F:
    """Add the options that name a collection."""
    options = (
        click.option("--data", metavar="DIR", help="A folder in BEIR's form, or irds:ID of ir_datasets."),
        click.option("--split", default="test", show_default=True, help="Which judgments of a BEIR folder."),
        click.option(
            "--topics",
            type=click.Path(path_type=Path),
            help="Instead of --data: queries as TREC's XML, JSON lines or TSV.",
        ),
        click.option(
            "--topic-field",
            "topic_fields",
            multiple=True,
            type=click.Choice(FIELDS),
            help=f"What of XML topics to search for; repeatable [default: {', '.join(DEFAULT_FIELDS)}].",
        ),
        click.option("--qrels", type=click.Path(path_type=Path), help="Their judgments, in TREC's or BEIR's form."),
        click.option("--corpus", metavar="NAME", help=f"What their papers are: {', '.join(CORPORA)}."),
        click.option(
            "--path", "paths", multiple=True, type=click.Path(path_type=Path), help="Where they are; repeatable."
        ),
        click.option(
            "--rounds",
            metavar="FIRST-LAST",
            help="Use the TREC judgments of these rounds only, without papers that were judged before: "
            "4.5-5 for TREC-COVID's Round 5.",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def open_collection(options: Mapping[str, Any], settings: Settings) -> Collection:
    """Read what a command's options name.

    Args:
        options: With those of `collection_options` among them.
        settings: Give the folder of data.

    Returns:
        The collection; its papers aren't read yet.

    Raises:
        InputError: If the options don't go together, or a file is malformed.
        UnavailableError: If ir_datasets is needed and missing.
    """
    topics = {name: options[name] for name in ("topics", "qrels", "corpus") if options[name]}
    if bool(options["data"]) == bool(topics):
        raise InputError("Say what to measure on: either --data, or --topics with --qrels and --corpus.")
    if options["data"]:
        if options["rounds"] or options["paths"] or options["topic_fields"]:
            raise InputError("--rounds, --path and --topic-field go with --topics; leave them out with --data.")
        return _folder(options, settings)
    if len(topics) < 3:
        raise InputError("With --topics, say --qrels FILE and --corpus NAME as well.")
    return _topics(options, settings)


def _folder(options: Mapping[str, Any], settings: Settings) -> Collection:
    from eval.retrieval.beir import BeirFolder
    from eval.retrieval.irds import PREFIX, SPLIT, irds_folder

    data, split = str(options["data"]), options["split"]
    if data.startswith(PREFIX):
        folder, split = irds_folder(data.removeprefix(PREFIX), settings.data_dir / "irds"), SPLIT
    else:
        folder = BeirFolder(Path(data))
    told = {"data": data, "split": split}
    judged = folder.judged(split)
    return Collection(folder.path.resolve().name, "beir", (folder.path,), judged, folder.files(split), told)


def _topics(options: Mapping[str, Any], settings: Settings) -> Collection:
    from corpora.registry import get_corpus
    from eval.retrieval.beir import join
    from eval.trec.judgments import read_qrels
    from eval.trec.residual import parse_rounds, residual
    from eval.trec.topics import read_topics
    from ses.papers import located

    qrels = read_qrels(options["qrels"])
    seen: dict[str, frozenset[str]] = {}
    if options["rounds"]:
        qrels, seen = residual(qrels, parse_rounds(options["rounds"]))
    texts = read_topics(options["topics"], options["topic_fields"] or DEFAULT_FIELDS)
    corpus = get_corpus(options["corpus"])
    paths = tuple(options["paths"]) or (located(corpus, settings.data_dir),)
    told = {"topics": str(options["topics"]), "rounds": options["rounds"] or "all"}
    return Collection(
        f"{corpus.name}-{paths[0].resolve().name}",
        corpus.name,
        paths,
        join(texts, qrels),
        (*paths, options["topics"], options["qrels"]),
        told,
        seen,
        len(texts.keys() - qrels.gains.keys()),
    )


def indexed(collection: Collection, settings: Settings) -> tuple[Index, TextEncoder, dict[str, int]]:
    """Bring a collection's index up to date; return it, its encoder and the counts."""
    from corpora.reading import source_of
    from encoders.registry import DEFAULT_MODEL, find_model
    from indexer.job import IndexJob
    from indexer.pipeline import index_corpus
    from search_plugin.engines.registry import connect
    from ses.loaded_model import make_encoder
    from ses.terminal.progress import progress_on_stderr

    engine = connect(settings.engine_url, settings.connection)
    model = find_model(settings.model or DEFAULT_MODEL)
    # The model is part of the name, so that models can be compared without indexing again each time.
    name = f"{EVALUATION}{_plain(collection.name)}-{model.card.fingerprint[:8]}"
    job = IndexJob(
        records=collection.records,
        source=" + ".join(source_of(collection.corpus, path.resolve(), None) for path in collection.paths),
        index=name,
        card=model.card,
        encoder=functools.cache(functools.partial(make_encoder, settings, model)),
        state_dir=settings.data_dir,
    )
    with progress_on_stderr() as progress:
        report = index_corpus(job, engine, progress)
    counts = {"documents_rejected": report.rejected, "documents_duplicated": report.duplicates}
    return engine.open(name), job.encoder(), counts


def in_memory(collection: Collection) -> tuple[list[Text], dict[str, int]]:
    """Read a collection's papers as texts to encode (the last copy of a repeated id), and the counts."""
    from corpora.paper import Deleted, Rejected
    from eval.embedder import Text

    papers: dict[str, Text] = {}
    rejected = accepted = 0
    for record in collection.records():
        if isinstance(record, Rejected):
            rejected += 1
            continue
        if isinstance(record, Deleted):
            papers.pop(record.id, None)
            continue
        accepted += 1
        papers[record.paper.id] = Text(record.paper.id, record.paper.title, record.paper.abstract)
    counts = {"documents_rejected": rejected, "documents_duplicated": accepted - len(papers)}
    return list(papers.values()), counts


def _plain(name: str) -> str:
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in name.lower())
    return kept.strip("-")[:40] or "data"
