"""Shared-trunk codes, an architecture of this project: every format's vector from one pass over the text.

The control codes of SciRepEval (section 4.1) with the asymmetric attention of UniPR (equations 6 and 7): the text's
states are the base model's, untouched. A format's code has an embedding of its own, at the first position and in the
first segment; in every layer it asks the text's keys and values, never its own nor another code's, and goes on as any
token does. Its last state is the vector.
"""

from __future__ import annotations

import numpy as np

from tests.encoders.oracle import Oracle


def code_vector(base: Oracle, embedding: np.ndarray, ids: list[int]) -> np.ndarray:
    """The vector of the code with that word embedding."""
    code = base.embed(np.asarray(embedding, dtype=float)[None])
    for i, text in enumerate(base.states(ids)[:-1]):
        code = base.finish(i, base.attend(i, code, text))
    return code[0]
