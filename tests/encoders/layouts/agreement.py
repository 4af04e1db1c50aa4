"""Vectors of an encoder against a paper's formula, text by text."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from encoders.encoder import Encoder
from encoders.models.formats import Format
from encoders.tokens.tokenizer import well_formed

TEXTS = (
    "virus lung cell, protein gene. [SEP] drug trial of a vaccine",
    "",
    "quantum",
    " ".join(["ocean climate water soil plant"] * 40),  # beyond the 128 tokens that tiny models take
    "heart \ud800 blood",
)
"""One batch, so all but the longest are padded."""

LIMITS = {"bert": 128, "modernbert": 128}
"""Of other families, the first two positions are kept for padding."""


def token_ids(encoder: Encoder, text: str) -> list[int]:
    """A text's tokens, cut as the papers cut them: the start, and the last special token."""
    ids = encoder.tokenizer.encode(well_formed(text)).ids
    limit = LIMITS.get(encoder.card.family, 126)
    return ids if len(ids) <= limit else [*ids[: limit - 1], ids[-1]]


def check_vectors(encoder: Encoder, formula: Callable[[Format, list[int]], np.ndarray]) -> None:
    """All formats at once, and each alone, give the formula's vectors."""
    formats = encoder.card.formats
    together = encoder.encode_formats(TEXTS, formats)
    for task_format in formats:
        expected = np.stack([formula(task_format, token_ids(encoder, text)) for text in TEXTS])
        np.testing.assert_allclose(together[task_format], expected, rtol=0, atol=1e-4)
        alone = encoder.encode(TEXTS, task_format)
        np.testing.assert_allclose(alone, together[task_format], rtol=0, atol=1e-5)
