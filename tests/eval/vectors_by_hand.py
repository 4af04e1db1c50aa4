"""Embedders with vectors a test chose, and the files that hold them."""

from __future__ import annotations

import json

import numpy as np

from encoders.files.embeddings import Embeddings
from eval.embedder import by_file


def embedder(vectors):
    """An embedder of the vectors given by id."""
    return by_file(Embeddings(list(vectors), np.array(list(vectors.values()), np.float32)))


def write_vectors(path, vectors):
    """Write them as SciDocs does."""
    return write_lines(path, [{"paper_id": name, "embedding": list(map(float, v))} for name, v in vectors.items()])


def write_lines(path, objects):
    """Write JSON lines."""
    path.write_text("".join(json.dumps(one) + "\n" for one in objects))
    return path
