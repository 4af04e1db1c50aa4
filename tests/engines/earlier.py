"""An index as the version before declared schemas made it, or the one before retractions and origins."""

from __future__ import annotations

from dataclasses import replace

from search_plugin.contract.engine import Document
from search_plugin.contract.fields import LATER_FIELDS
from search_plugin.contract.schema import from_stored
from search_plugin.engines.cluster.documents import batches
from search_plugin.engines.cluster.mapping import SERVING, body_of

SOURCE = "jsonl /home/somebody/library/papers.jsonl all 0123456789abcdef"
"""As that version stored it."""


def stored(schema):
    """What version 1 stored of a schema."""
    vectors = [
        {"name": field.format, "dimension": field.dimension, "similarity": field.similarity} for field in schema.vectors
    ]
    return {
        "model": schema.model,
        "fingerprint": schema.fingerprint,
        "vectors": vectors,
        "quantization": schema.quantization,
        "bm25": {"k1": schema.bm25.k1, "b": schema.bm25.b},
    }


def make_earlier(engine, name, lacking=LATER_FIELDS):
    """Put in place of a published index one of version 1 with the same papers, which lacks some fields."""
    index = engine.open(name)
    ids = sorted(index.ids())
    papers, hashes = index.papers(ids), index.hashes(ids)
    formats = [field.format for field in index.schema.vectors]
    vectors = {task_format: index.vectors(ids, task_format) for task_format in formats}
    if lacking:
        # What is missing was left out, so that papers without a mark or an origin are documents as they were.
        papers = {id_: replace(paper, origins=()) for id_, paper in papers.items()}
    documents = [
        Document(papers[id_], hashes[id_], {task_format: vectors[task_format][id_] for task_format in formats})
        for id_ in ids
    ]
    _in_a_cluster(engine, index, documents, lacking)


def _in_a_cluster(engine, index, documents, lacking):
    schema = from_stored(stored(index.schema))
    body = body_of(schema, SOURCE, engine.dialect, 1)
    body["mappings"]["_meta"] = {"ses": {"schema": stored(index.schema), "source": SOURCE, "published": 1.0}}
    for field in lacking:
        del body["mappings"]["properties"][field]
    body["settings"]["index"] |= SERVING
    body["aliases"] = engine.cluster.call("GET", f"/{index.physical}")[index.physical]["aliases"]
    engine.cluster.call("DELETE", f"/{index.physical}")
    engine.cluster.call("PUT", f"/{index.physical}", body)
    for batch in batches(documents, schema, 1 << 30, []):
        reply = engine.cluster.call(
            "POST", f"/{index.physical}/_bulk", b"\n".join([*batch.lines, b""]), params={"refresh": True}
        )
        assert not reply["errors"], reply
