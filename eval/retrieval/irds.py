"""Data sets by their ir_datasets id, laid out once as a folder in BEIR's form (MacAvaney et al., SIGIR 2021)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from corpora.errors import InputError, UnavailableError, require
from corpora.writing import replacing
from eval.files.text import write_json_lines, write_lines
from eval.optional import optional
from eval.retrieval.beir import BeirFolder

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
    library = optional("ir_datasets", f"Reading {PREFIX}{name} needs ir_datasets", "ir_datasets")
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
