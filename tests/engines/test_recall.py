"""Large indexes find the nearest, though they don't look at every vector."""

from __future__ import annotations

import numpy as np
import pytest

from corpora.paper import Paper
from search_plugin.engines.base import Document
from search_plugin.plan import Plan, VectorClause
from search_plugin.schema import IndexSchema, VectorField
from tests.conftest import SERVERS

COUNT, DIMENSION = 40_000, 8
SCHEMA = IndexSchema("tiny", "0123456789abcdef", (VectorField("prx", DIMENSION, "cosine"),))
LANES = [pytest.param(lane, marks=[getattr(pytest.mark, lane), pytest.mark.long]) for lane in SERVERS]


@pytest.mark.parametrize("engine", ["lance", *LANES], indirect=True)
def test_nearly_all_of_the_nearest_are_found_among_very_many(engine):
    draw = np.random.default_rng(5)
    matrix = draw.standard_normal((COUNT, DIMENSION)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    index = engine.build("large", SCHEMA, "source")
    for start in range(0, COUNT, 10_000):
        rows = range(start, start + 10_000)
        assert index.upsert([Document(Paper(f"{row:05d}", "virus"), "h", {"prx": matrix[row]}) for row in rows]) == []
    index.finish()
    recalls = []
    for query in draw.standard_normal((20, DIMENSION)).astype(np.float32):
        nearest = {f"{row:05d}" for row in np.argsort(-(matrix @ query))[:50]}
        hits = index.search(Plan("", (VectorClause("prx", query),), None, 50))["prx"]
        recalls.append(len(nearest & {hit.id for hit in hits}) / 50)
    assert np.mean(recalls) > 0.97
