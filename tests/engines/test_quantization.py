"""Vectors kept in fewer bits: nearly the same papers are found, and scored by their whole vectors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import InputError
from search_plugin.contract.engine import Document
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.schema import IndexSchema, paper_vector
from tests.conftest import SERVERS
from tests.tiny import papers

FIELDS = (paper_vector("prx", 64, "cosine"), paper_vector("clf", 128, "l2"))
SCHEMA = IndexSchema("tiny", "0123456789abcdef", FIELDS)
COUNT, DEPTH = 800, 10


def lane(name, quantization):
    return pytest.param(name, quantization, marks=getattr(pytest.mark, name), id=f"{name}-{quantization}")


RUNNABLE = [
    *(lane(name, "int8") for name in SERVERS),
    *(lane(name, bits) for name in SERVERS if name.startswith("elastic") for bits in ("int4", "1bit")),
]
"""What the servers of the tests have the code for: faiss, which OpenSearch needs for fewer bits, they lack."""


def clustered(width, seed):
    """Vectors in 30 heaps, as those of papers are."""
    draw = np.random.default_rng(seed)
    centres = draw.standard_normal((30, width))
    return (centres[draw.integers(30, size=COUNT)] + 0.5 * draw.standard_normal((COUNT, width))).astype(np.float32)


def closeness(similarity, rows, query):
    if similarity == "l2":
        return -np.linalg.norm(rows - query, axis=1)
    return rows @ query / np.linalg.norm(rows, axis=1) / np.linalg.norm(query)


@pytest.mark.parametrize(("engine", "quantization"), RUNNABLE, indirect=["engine"])
def test_rescored_searches_find_what_exact_ones_do(engine, quantization):
    rows = {field.format: clustered(field.dimension, seed) for seed, field in enumerate(FIELDS)}
    written = papers(COUNT)
    index = engine.build("quantized", replace(SCHEMA, quantization=quantization), "source")
    refused = index.upsert(
        [
            Document(paper, paper.content_hash(), {name: matrix[i] for name, matrix in rows.items()})
            for i, paper in enumerate(written)
        ]
    )
    index.finish()
    assert refused == []
    queries = np.random.default_rng(9).integers(COUNT, size=15)
    for field in FIELDS:
        matrix = rows[field.format]
        recalls = []
        for row in queries:
            query = matrix[row] + 0.3 * matrix[row - 1]
            expected = closeness(field.similarity, matrix, query)
            best = [written[i].id for i in np.argsort(-expected)[:DEPTH]]
            clause = (VectorClause(field.format, query),)
            assert [hit.id for hit in index.search(Plan("", clause, None, DEPTH, exact=True))[field.format]] == best
            hits = index.search(Plan("", clause, None, DEPTH))[field.format]
            recalls.append(len({hit.id for hit in hits} & set(best)) / DEPTH)
            # Were they not scored anew, they would be off by hundredths.
            assert [hit.score for hit in hits] == pytest.approx(
                [expected[int(hit.id[1:])] for hit in hits], rel=1e-4, abs=1e-4
            )
        assert np.mean(recalls) >= 0.9, field
    assert engine.build("quantized", replace(SCHEMA, quantization=quantization), "source").generation == 1


@pytest.mark.parametrize("quantization", ["int4", "1bit"])
@pytest.mark.parametrize("engine", ["embedded"], indirect=True)
def test_the_embedded_engine_keeps_vectors_whole(engine, quantization):
    with pytest.raises(InputError, match="keeps vectors whole; leave quantization out, or use a cluster"):
        engine.build("papers", replace(SCHEMA, quantization=quantization), "source")


@pytest.mark.parametrize("quantization", ["int4", "1bit"])
@pytest.mark.parametrize(
    "engine", [pytest.param(n, marks=getattr(pytest.mark, n)) for n in ("opensearch", "opensearch2")], indirect=True
)
def test_opensearch_takes_the_mappings_that_faiss_is_needed_for(engine, quantization):
    schema = replace(SCHEMA, quantization=quantization)
    index = engine.build("quantized", schema, "source")
    # Read back from the server, and found as it was asked for.
    again = engine.build("quantized", schema, "source")
    assert (again.generation, again.schema) == (index.generation, schema)
