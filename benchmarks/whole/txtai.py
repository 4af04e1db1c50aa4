"""txtai with `hybrid` and content, as its documentation shows: its BM25, its faiss index, transformers for the model.

It takes ten times as many candidates from each leg as a search asks for, and adds their normalized scores. It reads
as many tokens as the tokenizer allows, 512, unless `maxlength` asks for the length that the model was made for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.whole.base import SIZE, Answer, Read, installed, model_folder


def versions() -> dict[str, str]:
    return installed("txtai", "transformers", "torch", "faiss-cpu")


def made(papers: Sequence[Read], folder: Path) -> Answer:
    from txtai import Embeddings

    embeddings = Embeddings(path=model_folder(), maxlength=True, hybrid=True, content=True)
    embeddings.index((paper.id, {**paper._asdict(), "text": paper.text}) for paper in papers)
    embeddings.save(str(folder / "papers"))
    return lambda question: [hit["id"] for hit in embeddings.search(question, SIZE)]
