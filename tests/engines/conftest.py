"""Every engine runs the same suite: a new one is one more parameter here."""

from __future__ import annotations

import numpy as np
import pytest

from search_plugin.engines.base import Document
from search_plugin.engines.registry import connect
from search_plugin.schema import IndexSchema, VectorField
from tests.tiny import papers

DIMENSION = 16
SCHEMA = IndexSchema("tiny", "0123456789abcdef", (VectorField("prx", DIMENSION, "cosine"), VectorField("clf", 8, "l2")))


@pytest.fixture(params=["lance"])
def engine(request, tmp_path):
    return connect(f"lance:{tmp_path / 'indexes'}")


def documents(count, *, seed=0):
    draw = np.random.default_rng(seed)
    made = []
    for paper in papers(count, seed=seed):
        prx = draw.standard_normal(DIMENSION).astype(np.float32)
        clf = draw.standard_normal(8).astype(np.float32)
        made.append(Document(paper, paper.content_hash(), {"prx": prx / np.linalg.norm(prx), "clf": clf}))
    return made


@pytest.fixture
def filled(engine):
    index = engine.build("papers", SCHEMA, "source")
    index.upsert(documents(200))
    index.finish()
    engine.publish(index)
    return engine.open("papers")
