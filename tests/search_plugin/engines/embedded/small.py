"""A small embedded index, whose thresholds are so low that few papers reach all its parts."""

from __future__ import annotations

import numpy as np

from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.schema import PAPER_FIELDS, Field, IndexSchema, VectorField, paper_vector
from search_plugin.engines.embedded import vectors, writing
from search_plugin.engines.embedded.engine import EmbeddedEngine

DIMENSION = 6
FIELDS = (
    *PAPER_FIELDS,
    Field("seen", "date"),
    Field("score", "number"),
    Field("tags", "keywords", origin="tag"),
    Field("shelf", "keyword"),
    Field("open", "boolean"),
)
VECTORS = (
    paper_vector("prx", DIMENSION, "cosine"),
    paper_vector("clf", 3, "l2"),
    VectorField("vector_rgn_passages", "rgn", 4, "cosine", "passage", "int8"),
)
SCHEMA = IndexSchema("tiny", "0123", VECTORS, fields=FIELDS)
WORDS = ("virus", "lung", "cell", "gene")


def lower(monkeypatch):
    """Have columns and vector indexes made of a handful of rows."""
    monkeypatch.setattr(writing, "UNCOLUMNED", 4)
    monkeypatch.setattr(writing, "_SAVED", 7)
    monkeypatch.setattr(writing, "_READ", 3)
    monkeypatch.setattr(vectors, "INDEXED_FROM", 8)
    monkeypatch.setattr(vectors, "LISTS", 1)
    monkeypatch.setattr(vectors, "SCANNED", 5)


def whole_numbers(vectors):
    """Vectors near to those given, in their directions, that 8 bits hold exactly."""
    return np.rint(127 * vectors / np.abs(vectors).max(axis=1, keepdims=True)).astype(np.float32)


def document(id_, seed=0, **values):
    draw = np.random.default_rng(seed)
    words = " ".join(draw.choice(WORDS, 3))
    given = {"year": int(draw.integers(2000, 2004)), "authors": tuple(draw.choice(["A", "B", "C"], 2).tolist())}
    extra = {"seen": ["2020", "2020-03", "2020-03-04", "2021-01-01"][seed % 4], "score": seed / 2, "open": True}
    extra = {name: value for name, value in extra.items() if value and (seed + len(name)) % 3}
    given["extra"] = extra
    paper = Paper(id_, words, "" if seed % 3 else "star", **{**given, **values})
    prx, clf = (draw.standard_normal(size).astype(np.float32) for size in (DIMENSION, 3))
    passages = whole_numbers(draw.standard_normal((1 + seed % 3, 4)))
    return Document(paper, f"h{seed}", {"prx": prx, "clf": clf, "rgn": passages})


def make(folder, count=0, name="papers"):
    engine = EmbeddedEngine(f"embedded:{folder}")
    built = engine.build(name, SCHEMA, "source")
    if count:
        built.upsert([document(f"p{number}", number) for number in range(count)])
        built.finish()
    engine.publish(built)
    return engine, engine.open(name)
