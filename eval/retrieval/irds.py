"""Data sets by their ir_datasets id, laid out once as a folder in BEIR's form (MacAvaney et al., SIGIR 2021)."""

from __future__ import annotations

import importlib
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from corpora.errors import InputError, UnavailableError
from eval.files.text import write_lines
from eval.retrieval.beir import BeirFolder

PREFIX = "irds:"
SPLIT = "judged"
"""Name of the one split such a folder has: an id of ir_datasets names a split already."""

_ID = re.compile(r"[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*")


def irds_folder(name: str, parent: Path) -> BeirFolder:
    """Return a data set of ir_datasets as a folder in BEIR's form.

    Args:
        name: Such as `beir/scifact/test`; it must have documents, queries and judgments.
        parent: Where such folders are kept; an existing one is used unchanged.

    Returns:
        The folder, with the one split `judged`.

    Raises:
        InputError: If there is no such data set, or it lacks one of the three.
        UnavailableError: If ir_datasets isn't installed, or the data can't be fetched or written.
    """
    if not _ID.fullmatch(name):
        raise InputError(f"{name!r} is no id of ir_datasets; give one such as irds:beir/scifact/test.")
    target = parent / name.replace("/", "-")
    if not target.exists():
        dataset = _loaded(name)
        try:
            parent.mkdir(parents=True, exist_ok=True)
            scratch = Path(tempfile.mkdtemp(dir=parent, prefix=".irds-"))
            try:
                _write(dataset, scratch)
                scratch.rename(target)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
        except (OSError, RuntimeError) as error:
            raise UnavailableError(f"The data set {name} can't be fetched or written ({error}); try again.") from error
    return BeirFolder(target)


def _loaded(name: str) -> Any:
    try:
        ir_datasets: Any = importlib.import_module("ir_datasets")
    except ImportError:
        raise UnavailableError(f"Reading {PREFIX}{name} needs ir_datasets: run pip install ir_datasets.") from None
    try:
        dataset = ir_datasets.load(name)
    except KeyError:
        raise InputError(f"ir_datasets has no data set {name!r}; choose one from ir-datasets.com.") from None
    if not (dataset.has_docs() and dataset.has_queries() and dataset.has_qrels()):
        raise InputError(f"The data set {name} lacks documents, queries or judgments; name a judged part of it.")
    return dataset


def _write(dataset: Any, folder: Path) -> None:
    (folder / "qrels").mkdir()
    write_lines(folder / "corpus.jsonl", _documents(dataset))
    write_lines(
        folder / "queries.jsonl",
        (_line({"_id": query.query_id, "text": query.default_text()}) for query in dataset.queries_iter()),
    )
    write_lines(
        folder / "qrels" / f"{SPLIT}.tsv",
        (
            f"{judgment.query_id} {getattr(judgment, 'iteration', 0) or 0} {judgment.doc_id} {judgment.relevance}"
            for judgment in dataset.qrels_iter()
        ),
    )


def _documents(dataset: Any) -> Iterator[str]:
    for document in dataset.docs_iter():
        title = getattr(document, "title", "") or ""
        text = getattr(document, "abstract", "") or getattr(document, "text", "") or document.default_text()
        yield _line({"_id": document.doc_id, "title": title, "text": text})


def _line(record: dict[str, str]) -> str:
    return orjson.dumps(record).decode()
