"""Collections for retrieval: papers with judged queries, and bringing an index of them up to date.

Queries made of a user's own papers are for those who have no judged ones: a sentence or title, and its paper. The text
of the query is taken out of its paper, and the same part out of every other paper: of conclusions each paper's last
sentence, of titles each paper's title. So the paper holds no copy of the query, and no model can recognize it by a
missing part. Other papers may answer the query too; they count as wrong. So the figures are too low, for all models
alike.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from corpora.errors import require
from corpora.paper import Deleted, Rejected
from corpora.registry import get_corpus
from search_plugin.contract.engine import EVALUATION

if TYPE_CHECKING:
    from corpora.paper import Record
    from corpora.progress import Progress
    from encoders.text_encoder import TextEncoder
    from eval.embedder import Text
    from eval.retrieval.beir import JudgedQueries
    from search_plugin.contract.engine import Index
    from ses.models.library_models import LibraryModels
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
        read = get_corpus(self.corpus).read
        for path in self.paths:
            yield from read(path, {})


@dataclass(frozen=True, slots=True)
class IndexedCollection:
    """An index of a collection.

    Attributes:
        index: The index.
        models: Loads the model that made it, once, and the others that its searches need.
        counts: Number of documents that were rejected, and of those that came twice.
    """

    index: Index
    models: LibraryModels
    counts: Mapping[str, int]

    def load(self) -> TextEncoder:
        """Load the model that made it."""
        return self.models.of_leg(self.index, by="model")


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
    from ses.models.library_models import LibraryModels

    engine = connect(settings.engine_url, settings.connection)
    model = find_model(settings.model_name)
    # The model is part of the name, so that models can be compared without indexing again each time.
    name = f"{EVALUATION}{_plain(collection.name)}-{model.card.fingerprint[:8]}"
    models = LibraryModels(settings)
    job = IndexJob(
        records=collection.records,
        source=" + ".join(source_of(collection.corpus, path.resolve(), None) for path in collection.paths),
        index=name,
        card=model.card,
        encoder=functools.partial(models.encoder, model),
        state_dir=settings.data_dir,
    )
    report = index_corpus(job, engine, progress or Silent())
    counts = {"documents_rejected": report.rejected, "documents_duplicated": report.duplicates}
    return IndexedCollection(engine.open(name), models, counts)


def in_memory(collection: Collection) -> tuple[list[Text], dict[str, int]]:
    """Read a collection's papers as texts to encode (the last copy of a repeated id), and the counts."""
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


Pseudo = Literal["pseudo", "titles"]

_PARTS = {"pseudo": "conclusions", "titles": "titles"}
"""The kind of `training.data.queries` that each is."""

PSEUDO_SPLIT = "pseudo"
"""Name of the one split of such a folder."""

MOST_QUERIES = 300
MOST_PAPERS = 5_000


def pseudo_collection(
    corpus: str,
    paths: Sequence[Path],
    kind: Pseudo,
    settings: Settings,
    *,
    queries: int = MOST_QUERIES,
    papers: int = MOST_PAPERS,
    seed: int = 0,
) -> Collection:
    """Return a collection of papers with queries made of them, as a folder in BEIR's form in the data folder.

    Args:
        corpus: Name of the papers' reader.
        paths: Files or folders that it reads.
        kind: The part of a paper that is its query.
        settings: Settings that name the data folder.
        queries: Most queries; which papers give one is drawn.
        papers: Most papers; they are drawn, the papers of the queries first.
        seed: Seed of the draws.

    Returns:
        The collection; an older folder of the same papers and draws is replaced.

    Raises:
        InputError: If the papers can't be read, or fewer than two of them give a query.
        UnavailableError: If the folder can't be written.
    """
    from eval.files.text import write_json_lines, write_lines
    from eval.retrieval.beir import JudgedQueries
    from eval.trec.judgments import Qrels

    require(paths[0].exists(), f"There is no file or folder {paths[0]}", "give the place of the papers")
    name = paths[0].resolve().name
    read = Collection(name, corpus, tuple(paths), JudgedQueries({}, Qrels({}), ()), tuple(paths), {})
    every, _ = in_memory(read)
    asked = dict(islice(_queries(every, kind, seed), queries))
    require(
        len(asked) >= 2,
        f"Only {len(asked)} of {len(every):,} papers give a query of their {_PARTS[kind]}",
        "give papers with abstracts of several sentences, or judged queries",
    )
    kept = sorted(every, key=lambda paper: (paper.id not in asked, _drawn(seed, paper.id)))[:papers]
    facts = f"{corpus} {kind} {queries} {papers} {seed} " + " ".join(str(path.resolve()) for path in paths)
    key = hashlib.sha256(facts.encode()).hexdigest()[:8]
    folder = settings.data_dir / "pseudo-queries" / f"{kind}-{key}-{name}"
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    rest = ({"_id": one.id, **without(one, kind)} for one in sorted(kept, key=lambda paper: paper.id))
    write_json_lines(folder / "corpus.jsonl", rest)
    write_json_lines(folder / "queries.jsonl", ({"_id": f"q-{key}", "text": text} for key, text in asked.items()))
    rows = (f"q-{key}\t{key}\t1" for key in asked)
    write_lines(folder / "qrels" / f"{PSEUDO_SPLIT}.tsv", ["query-id\tcorpus-id\tscore", *rows])
    return beir_collection(str(folder), PSEUDO_SPLIT, settings)


def without(paper: Text, kind: Pseudo) -> dict[str, str]:
    """Return title and text of a paper without the part that is a query; unchanged if it has no such part."""
    from training.data.queries import shown

    found = shown(_PARTS[kind], {"title": paper.title, "abstract": paper.abstract or ""})
    return {"title": str(found.get("title", "")), "text": str(found.get("abstract", ""))}


def _queries(papers: Sequence[Text], kind: Pseudo, seed: int) -> Iterator[tuple[str, str]]:
    """Yield the id and the query of each paper that gives one, in the order in which they are drawn; no query twice."""
    from training.data.queries import KINDS, OPTIONS, folded, query_of

    options = {**OPTIONS, **dict.fromkeys(KINDS, 0.0), _PARTS[kind]: 1.0}
    seen = set()
    for paper in sorted(papers, key=lambda paper: _drawn(seed, paper.id)):
        text = {"title": paper.title, "abstract": paper.abstract or ""}
        made = query_of({"id": paper.id, **text}, text, options, seed)
        if made and (words := folded(str(made.content))) not in seen:
            seen.add(words)
            yield paper.id, str(made.content)


def _drawn(seed: int, key: str) -> float:
    from training.data.builders.base import drawn

    return drawn(seed, f"pseudo\t{key}")
