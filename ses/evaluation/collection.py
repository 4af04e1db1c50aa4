"""Collections for retrieval: papers with judged queries, and bringing an index of them up to date."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from search_plugin.contract.engine import EVALUATION

if TYPE_CHECKING:
    from collections.abc import Callable

    from corpora.paper import Record
    from corpora.progress import Progress
    from encoders.text_encoder import TextEncoder
    from eval.embedder import Text
    from eval.retrieval.beir import JudgedQueries
    from search_plugin.contract.engine import Index
    from ses.settings import Settings


@dataclass(frozen=True, slots=True)
class Collection:
    """Papers with judged queries.

    Attributes:
        name: Name for people and for the index.
        corpus: Name of the papers' reader.
        paths: Files that it reads, in order.
        judged: Queries and judgments.
        files: All files that were read, for a report.
        facts: Options that the user chose it by, for a report.
        seen: Documents judged in earlier rounds, by query.
        unjudged: Number of topics without judgments, which aren't run.
    """

    name: str
    corpus: str
    paths: tuple[Path, ...]
    judged: JudgedQueries
    files: tuple[Path, ...]
    facts: Mapping[str, str]
    seen: Mapping[str, frozenset[str]] = field(default_factory=dict)
    unjudged: int = 0

    def records(self) -> Iterator[Record]:
        """Read the papers."""
        from corpora.registry import get_corpus

        read = get_corpus(self.corpus).read
        for path in self.paths:
            yield from read(path, {})


@dataclass(frozen=True, slots=True)
class IndexedCollection:
    """An index of a collection.

    Attributes:
        index: The index.
        load: Function that loads the model that made it, once.
        counts: Number of documents that were rejected, and of those that came twice.
    """

    index: Index
    load: Callable[[], TextEncoder]
    counts: Mapping[str, int]


def beir_collection(data: str, split: str, settings: Settings) -> Collection:
    """Return a split of a folder in BEIR's form, or of `irds:ID` of ir_datasets; its papers aren't read yet.

    Raises `InputError` if there is no such split, or a file is malformed.
    """
    from eval.retrieval.beir import PREFIX, SPLIT, BeirFolder, irds_folder

    used = split
    if data.startswith(PREFIX):
        folder, used = irds_folder(data.removeprefix(PREFIX), settings.data_dir / "irds"), SPLIT
    else:
        folder = BeirFolder(Path(data))
    judged = folder.judged(used)
    facts = {"data": data, "split": used}
    return Collection(folder.path.resolve().name, "beir", (folder.path,), judged, folder.files(used), facts)


def topics_collection(
    topics: Path,
    qrels: Path,
    corpus: str,
    settings: Settings,
    *,
    paths: Sequence[Path] = (),
    fields: Sequence[str] = (),
    rounds: str = "",
) -> Collection:
    """Return a collection of topics, judgments and papers that are kept apart; its papers aren't read yet.

    Raises `InputError` if a file is malformed, or nothing was judged in the rounds, such as `4.5-5`; empty for all.
    """
    from corpora.registry import get_corpus
    from eval.retrieval.beir import join
    from eval.trec.judgments import parse_rounds, read_qrels, residual
    from eval.trec.topics import DEFAULT_FIELDS, read_topics
    from ses.papers import located

    judgments = read_qrels(qrels)
    seen: dict[str, frozenset[str]] = {}
    if rounds:
        judgments, seen = residual(judgments, parse_rounds(rounds))
    texts = read_topics(topics, fields or DEFAULT_FIELDS)
    reader = get_corpus(corpus)
    places = tuple(paths) or (located(reader, settings.data_dir),)
    return Collection(
        f"{reader.name}-{places[0].resolve().name}",
        reader.name,
        places,
        join(texts, judgments),
        (*places, topics, qrels),
        {"topics": str(topics), "rounds": rounds or "all"},
        seen,
        len(texts.keys() - judgments.gains.keys()),
    )


def index_collection(collection: Collection, settings: Settings, progress: Progress | None = None) -> IndexedCollection:
    """Bring the index of a collection up to date; it is never the default one."""
    from corpora.progress import Silent
    from corpora.reading import source_of
    from encoders.registry import find_model
    from indexer.job import IndexJob
    from indexer.pipeline import index_corpus
    from search_plugin.engines.registry import connect
    from ses.models.loaded_model import make_encoder

    engine = connect(settings.engine_url, settings.connection)
    model = find_model(settings.model_name)
    # The model is part of the name, so that models can be compared without indexing again each time.
    name = f"{EVALUATION}{_plain(collection.name)}-{model.card.fingerprint[:8]}"
    load = functools.cache(functools.partial(make_encoder, settings, model))
    job = IndexJob(
        records=collection.records,
        source=" + ".join(source_of(collection.corpus, path.resolve(), None) for path in collection.paths),
        index=name,
        card=model.card,
        encoder=load,
        state_dir=settings.data_dir,
    )
    report = index_corpus(job, engine, progress or Silent())
    counts = {"documents_rejected": report.rejected, "documents_duplicated": report.duplicates}
    return IndexedCollection(engine.open(name), load, counts)


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
