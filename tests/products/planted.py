"""Papers whose labels and citations follow from their vectors, up to noise, and indexes of them."""

from __future__ import annotations

import numpy as np

import ses
from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.schema import Field, IndexSchema, paper_vector

DIMENSION = 12
LABELS = ("animals", "cats", "stones")
FIELDS = (Field("topics", "keywords"), Field("cited", "number"))


def schema(formats=("prx", "clf", "rgn"), fingerprint="f"):
    vectors = tuple(paper_vector(name, DIMENSION, "cosine") for name in formats)
    return IndexSchema("tiny", fingerprint, vectors).with_fields(FIELDS)


def vectors(count=400, seed=0):
    drawn = np.random.default_rng(seed).standard_normal((count, DIMENSION)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def labels_of(matrix, noise=0.1, seed=1):
    """The labels of each paper; cats are animals."""
    draw = np.random.default_rng(seed)
    noisy = matrix[:, :3] + noise * draw.standard_normal((len(matrix), 3))
    return [
        tuple(
            label
            for label, true in zip(LABELS, (row[0] > 0, row[0] > 0 and row[1] > 0.1, row[2] > 0.3), strict=True)
            if true
        )
        for row in noisy
    ]


def judgments(matrix):
    return {f"p{row:04}": dict.fromkeys(labels, True) for row, labels in enumerate(labels_of(matrix)) if labels}


def documents(matrix, formats=("prx", "clf", "rgn")):
    """Papers of ten years in two venues; the larger the last number of a vector, the more they are cited."""
    draw = np.random.default_rng(2)
    noise = draw.standard_normal(len(matrix))
    for row, labels in enumerate(labels_of(matrix)):
        cited = int(np.exp(3 + 3 * matrix[row, -1] + 0.5 * noise[row]))
        paper = Paper(
            f"p{row:04}",
            f"Paper {row} of a virus",
            year=2000 + row % 10,
            venue=("Nature", "Cell")[row // 10 % 2],
            extra={"cited": cited} | ({"topics": labels} if labels else {}),
        )
        held = {name: np.roll(matrix[row], place) for place, name in enumerate(reversed(formats))}
        yield Document(paper, paper.content_hash(), held)


def make_library(engine, folder, matrix, name="papers", formats=("prx", "clf", "rgn"), **kind):
    """Index papers without a model, and open the library."""
    index = engine.build(name, schema(formats, **kind), "planted")
    index.upsert(list(documents(matrix, formats)))
    index.finish()
    engine.publish(index)
    return ses.open(engine.url, data_dir=folder / "data", cache_dir=folder / "cache")
