"""A data set in BEIR's form: a folder of `corpus.jsonl`, `queries.jsonl` and `qrels/SPLIT.tsv`, plain or packed.

Data sets of ir_datasets, by their id, are laid out once as such a folder (MacAvaney et al., SIGIR 2021).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.errors import InputError, UnavailableError, require
from corpora.installed import needing
from corpora.opening import COMPRESSED_SUFFIXES, find_compressed
from corpora.writing import replacing
from eval.files.text import (
    bad_line,
    file_in,
    is_id,
    json_of,
    numbered_lines,
    require_line,
    write_json_lines,
    write_lines,
)
from eval.trec.judgments import Qrels, read_qrels

_QUERIES = "queries.jsonl"


@dataclass(frozen=True, slots=True)
class JudgedQueries:
    """The queries of one split.

    Attributes:
        texts: Query id to text, for the queries to run.
        qrels: All judgments of the split.
        without_text: Judged queries that can't be run because they have no text; they count as queries without results.
    """

    texts: Mapping[str, str]
    qrels: Qrels
    without_text: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BeirFolder:
    """A folder checked to be in BEIR's form; `corpora.beir` reads the papers of its `corpus`."""

    path: Path

    def __post_init__(self) -> None:
        require(self.path.is_dir(), f"{self.path} is not a folder; give one that holds a BEIR data set.")
        missing = [name for name in ("corpus.jsonl", _QUERIES) if not find_compressed(self.path, name)]
        if not self.splits:
            missing.append("qrels/*.tsv")
        require(not missing, f"{self.path} is not a BEIR folder: it lacks {', '.join(missing)}.")

    @property
    def corpus(self) -> Path:
        """The file of the papers."""
        return file_in(self.path, "corpus.jsonl")

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits that have judgments."""
        endings = [f".tsv{packed}" for packed in COMPRESSED_SUFFIXES]
        found = [(file, end) for end in endings for file in self.path.glob(f"qrels/*{end}")]
        return tuple(sorted({file.name.removesuffix(end) for file, end in found if file.is_file()}))

    def files(self, split: str) -> tuple[Path, Path, Path]:
        """Return the files of papers, queries and a split's judgments, or raise `InputError` where it has none."""
        require(split in self.splits, f"{self.path} has no split {split!r}; it has: {', '.join(self.splits)}.")
        return self.corpus, file_in(self.path, _QUERIES), file_in(self.path, f"qrels/{split}.tsv")

    def queries(self) -> dict[str, str]:
        """Return the text of every query by its id, in any split; `InputError` if a line is no query."""
        texts: dict[str, str] = {}
        path = file_in(self.path, _QUERIES)
        for number, line in numbered_lines(path):
            query, text = read_query(line, path, number, "query")
            require_line(query not in texts, path, number, f"the query id {query} came before; keep one line of it")
            texts[query] = text
        return texts

    def qrels(self, split: str = "test") -> Qrels:
        """Return the judgments of a split, or raise `InputError` that lists the existing splits."""
        return read_qrels(self.files(split)[-1])

    def judged(self, split: str = "test") -> JudgedQueries:
        """Return the queries of a split with their judgments; `InputError` if there is no such split."""
        return join(self.queries(), self.qrels(split))


def join(texts: Mapping[str, str], qrels: Qrels) -> JudgedQueries:
    """Return the queries that have judgments and a text, to run; raise `InputError` if none has both."""
    runnable = {query: texts[query] for query in qrels.gains if texts.get(query, "").strip()}
    require(runnable, "No query has both a text and judgments: the queries and the judgments don't belong together.")
    return JudgedQueries(runnable, qrels, tuple(query for query in qrels.gains if query not in runnable))


def read_query(line: bytes, path: Path, number: int, what: str) -> tuple[str, str]:
    """Return a line's id and text, or raise `InputError`, which calls it `what`, where it has none."""
    match json_of(line, path, number):
        case {"_id": query, "text": str(text)} if is_id(query):
            return str(query), text
    raise bad_line(path, number, f'a {what} is an object with an "_id" and a string "text"')


PREFIX = "irds:"
SPLIT = "judged"
"""Name of the one split such a folder has: an id of ir_datasets names a split already."""

_ID = re.compile(r"[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*")


def irds_folder(name: str, parent: Path) -> BeirFolder:
    """Return a data set of ir_datasets, such as `beir/scifact/test`, as a folder in BEIR's form.

    Its one split is `judged`. Such folders are kept in `parent`; an existing one is used unchanged. Raises `InputError`
    if there is no such data set, or it lacks documents, queries or judgments, and `UnavailableError` if ir_datasets
    isn't installed, or the data can't be fetched or written.
    """
    require(_ID.fullmatch(name), f"{name!r} is no id of ir_datasets; give one such as irds:beir/scifact/test.")
    target = parent / name.replace("/", "-")
    if not target.exists():
        dataset = _loaded(name)
        try:
            parent.mkdir(parents=True, exist_ok=True)
            with replacing(target) as part:
                _write(dataset, part)
        except (OSError, RuntimeError) as error:
            raise UnavailableError(f"The data set {name} can't be fetched or written ({error}); try again.") from error
    return BeirFolder(target)


def _loaded(name: str) -> Any:
    with needing(f"Reading {PREFIX}{name} needs ir_datasets", "ir_datasets"):
        import ir_datasets as library
    try:
        dataset = library.load(name)
    except KeyError:
        raise InputError(f"ir_datasets has no data set {name!r}; choose one from ir-datasets.com.") from None
    require(
        dataset.has_docs() and dataset.has_queries() and dataset.has_qrels(),
        f"The data set {name} lacks documents, queries or judgments; name a judged part of it.",
    )
    return dataset


def _write(dataset: Any, folder: Path) -> None:
    (folder / "qrels").mkdir(parents=True)
    write_json_lines(folder / "corpus.jsonl", map(_paper, dataset.docs_iter()))
    queries = ({"_id": query.query_id, "text": query.default_text()} for query in dataset.queries_iter())
    write_json_lines(folder / "queries.jsonl", queries)
    write_lines(
        folder / "qrels" / f"{SPLIT}.tsv",
        (
            f"{judgment.query_id} {getattr(judgment, 'iteration', 0) or 0} {judgment.doc_id} {judgment.relevance}"
            for judgment in dataset.qrels_iter()
        ),
    )


def _paper(document: Any) -> dict[str, str]:
    text = getattr(document, "abstract", "") or getattr(document, "text", "") or document.default_text()
    return {"_id": document.doc_id, "title": getattr(document, "title", "") or "", "text": text}
