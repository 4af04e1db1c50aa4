"""Haystack with its own document store: BM25L and all vectors, in memory, joined by reciprocal rank fusion.

It is the store that Haystack's documentation starts with. It compares all papers, and is kept on disk as JSON.
Legs have its default of ten candidates: with 100, a page takes longer, and ranks worse, since its words have no stems.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.whole.base import SIZE, Answer, Read, installed, model_folder


def versions() -> dict[str, str]:
    return installed("haystack-ai", "sentence-transformers-haystack", "sentence-transformers", "torch")


def made(papers: Sequence[Read], folder: Path) -> Answer:
    from haystack import Document, Pipeline
    from haystack.components.joiners import DocumentJoiner
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
    from haystack.components.writers import DocumentWriter
    from haystack.document_stores.in_memory import InMemoryDocumentStore
    from haystack_integrations.components.embedders.sentence_transformers import (
        SentenceTransformersDocumentEmbedder,
        SentenceTransformersTextEmbedder,
    )

    store = InMemoryDocumentStore(return_embedding=False)
    indexing = Pipeline()
    indexing.add_component("embedder", SentenceTransformersDocumentEmbedder(model=model_folder(), progress_bar=False))
    indexing.add_component("writer", DocumentWriter(store))
    indexing.connect("embedder", "writer")
    documents = [Document(id=paper.id, content=paper.text, meta={"title": paper.title}) for paper in papers]
    indexing.run({"embedder": {"documents": documents}})
    store.save_to_disk(str(folder / "papers.json"))

    searching = Pipeline()
    searching.add_component("embedder", SentenceTransformersTextEmbedder(model=model_folder(), progress_bar=False))
    searching.add_component("meaning", InMemoryEmbeddingRetriever(store))
    searching.add_component("words", InMemoryBM25Retriever(store))
    searching.add_component("joined", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=SIZE))
    searching.connect("embedder.embedding", "meaning.query_embedding")
    searching.connect("meaning", "joined")
    searching.connect("words", "joined")

    def answer(question: str) -> list[str]:
        found = searching.run({"embedder": {"text": question}, "words": {"query": question}})
        return [document.id for document in found["joined"]["documents"]]

    return answer
