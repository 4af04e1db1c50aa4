"""The embedded engine of ses with its defaults: int8 on onnxruntime, hybrid pages whose matches are marked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.whole.base import Answer, Read, installed

MODEL = "all-MiniLM-L6-v2"
"""Not the default model, whose vectors for searching are the same."""


def versions() -> dict[str, str]:
    return installed("ses", "onnxruntime", "tantivy", "faiss-cpu")


def made(papers: Sequence[Read], folder: Path) -> Answer:
    import ses

    library = ses.open(folder / "indexes", model=MODEL, data_dir=folder / "data", cache_dir=folder / "cache")
    report = library.index("papers", [ses.Paper(*paper) for paper in papers])
    if report.rejected:
        raise SystemExit(f"{report.rejected} papers were rejected: see {report.dead_letter}.")
    index = library["papers"]
    return lambda question: [hit.id for hit in index.search(question)]
