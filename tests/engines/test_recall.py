"""Large indexes find the nearest, though they don't look at every vector.

Random vectors are the hardest case: they form no groups, unlike those of papers (docs/benchmarks.md).
"""

from __future__ import annotations

import numpy as np
import pytest

from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.schema import IndexSchema, paper_vector
from tests.conftest import SERVERS

DIMENSION, DEPTH = 24, 100
SCHEMA = IndexSchema("tiny", "0123456789abcdef", (paper_vector("prx", DIMENSION, "cosine"),))
LANES = [pytest.param(lane, 60_000, 0.9, marks=[getattr(pytest.mark, lane), pytest.mark.long]) for lane in SERVERS]
LARGEST = pytest.param("embedded", 160_000, 0.85, marks=pytest.mark.long)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "count", "least"), [("embedded", 60_000, 0.92), LARGEST, *LANES], indirect=["engine"]
)
def test_the_nearest_are_found_among_very_many(engine, count, least):
    draw = np.random.default_rng(5)
    matrix = draw.standard_normal((count, DIMENSION)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    index = engine.build("large", SCHEMA, "source")
    for start in range(0, count, 10_000):
        rows = range(start, start + 10_000)
        assert index.upsert([Document(Paper(f"{row:05d}", "virus"), "h", {"prx": matrix[row]}) for row in rows]) == []
    index.finish()
    found = 0
    for query in draw.standard_normal((12, DIMENSION)).astype(np.float32):
        nearest = {f"{row:05d}" for row in np.argsort(-(matrix @ query))[:DEPTH]}
        hits = index.search(Plan("", (VectorClause("prx", query),), None, DEPTH))["prx"]
        found += len(nearest & {hit.id for hit in hits})
    assert found / (12 * DEPTH) >= least
