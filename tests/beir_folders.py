"""Folders in BEIR's form: papers, queries, and judgments by split."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from corpora.paper import Paper
from tests.tiny import write_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


def write_beir(
    folder: Path,
    papers: Iterable[Paper | Mapping[str, Any]],
    queries: Mapping[str, str],
    **splits: Mapping[str, Mapping[str, int]],
) -> Path:
    """Write a folder and return it; papers may be lines of its corpus, and a split has the gains of each query."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    lines = [
        {"_id": one.id, "title": one.title, "text": one.abstract} if isinstance(one, Paper) else one for one in papers
    ]
    write_rows(folder / "corpus.jsonl", lines)
    write_rows(folder / "queries.jsonl", [{"_id": name, "text": text} for name, text in queries.items()])
    for split, gains in splits.items():
        rows = [f"{query}\t{paper}\t{gain}\n" for query, held in gains.items() for paper, gain in held.items()]
        (folder / "qrels" / f"{split}.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows))
    return folder
