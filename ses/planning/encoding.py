"""How long texts take to encode: measured on a core, and calculated for a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ses.planning.measured import MeasuredEncoder

LETTERS_A_TOKEN = 4.46
"""Letters of titles and abstracts of PubMed in a token of BERT's uncased vocabulary. All are counted, though models
cut long texts: the default model, at 256 tokens, reads three quarters of them."""

_LINEAR, _ATTENTION = 12 * 2, 2 * 2
_CONTEXT = 200

GPU_OPERATIONS = 121e12
"""Multiplications and additions of an NVIDIA L4 a second in 16 bits, by its data sheet."""

GPU_SHARE = 0.25
"""The share of them that is used. SURGE (arXiv:2605.01060) encoded 26,413 texts a second on four L4 with small models:
with the default model's 4.6e9 operations for 200 tokens, that is a share of 0.25. ses was not measured on a GPU."""


def core_seconds(points: Sequence[MeasuredEncoder], letters: float, layers: int, width: int, precision: str) -> float:
    """Return the seconds in which one core encodes some letters by a network of a size.

    Those of a token are fitted on measured networks, by least squares of relative errors: a term for the
    multiplications of the linear layers, and one for what is done to each number of a layer.

    Args:
        points: Measured networks.
        letters: Number of letters.
        layers: Layers of the network.
        width: Width of its hidden states.
        precision: Numeric precision of the runtime.

    Returns:
        Seconds.
    """
    import numpy as np

    own = [point for point in points if point.precision == precision]
    terms = np.array([[point.tokens * term for term in _terms(point.layers, point.width)] for point in own])
    factors = np.linalg.lstsq(terms, np.ones(len(own)), rcond=None)[0]
    return letters / LETTERS_A_TOKEN * float(factors @ _terms(layers, width))


def _terms(layers: int, width: int) -> tuple[float, float]:
    return layers * width**2, layers * width


def gpu_seconds(letters: float, layers: int, width: int) -> float:
    """Return the seconds in which one GPU does, calculated from the network's operations."""
    a_token = layers * (_LINEAR * width**2 + _ATTENTION * _CONTEXT * width)
    return letters / LETTERS_A_TOKEN * a_token / (GPU_SHARE * GPU_OPERATIONS)
