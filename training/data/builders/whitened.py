"""Papers with the base's own vectors, whitened: linear models learn faster from vectors spread in all directions.

Whitening (Su et al. 2021, arXiv:2103.15316) takes out the mean and divides by the deviation along each principal axis.
Here the axes are rotated back (ZCA), and the divisor is raised to a power, so that 0.5 changes the vectors only a
little.
"""

from __future__ import annotations

from collections.abc import Iterator

from corpora.errors import InputError
from corpora.lazy import np
from encoders.models.formats import Format
from eval.embedder import Text, by_encoder
from training.data.builders.base import Builder, BuilderOptions, BuilderSource, Made, drawn_papers, identity_of

DIGITS = 5
"""Digits of a number in a record."""


def build(source: BuilderSource, options: BuilderOptions) -> Iterator[Made]:
    """Encode papers, and whiten their vectors; yield each paper with its vector in `label`.

    Options: `most` papers are drawn, 0 for all; `strength` is the power of whitening, from 0 (vectors as they are, less
    their mean) to 1 (the same variance in all directions). `InputError` if the strength is not from 0 to 1, or there
    are too few papers to tell the directions.
    """
    if not 0 <= options["strength"] <= 1:
        raise InputError(f"The builder whitened has the strength {options['strength']}; choose a number from 0 to 1.")
    drawn = drawn_papers(source, int(options["most"])).papers()
    papers = [(identity_of(paper), text) for paper in drawn if (text := source.text_of(paper))]
    encoder = source.model(precision="int8")
    if len(papers) <= encoder.card.dimension:
        raise InputError(
            f"The builder whitened has {len(papers)} papers, and whitening {encoder.card.dimension} directions takes "
            "more than as many; give more papers."
        )
    texts = [Text(key, str(text.get("title") or ""), str(text.get("abstract") or "")) for key, text in papers]
    made = whitened(by_encoder(encoder)(texts, Format.PRX).matrix, options["strength"])
    for (key, text), vector in zip(papers, made, strict=True):
        yield Made((key,), {**text, "label": [round(float(one), DIGITS) for one in vector]})


def whitened(vectors: np.ndarray, strength: float) -> np.ndarray:
    """Return vectors without their mean, each principal axis divided by its deviation to a power, of unit length.

    From (papers, dimension), with more papers than dimensions, to float64 of the same shape; the power is from 0 to 1.
    """
    centred = vectors.astype(np.float64) - vectors.mean(axis=0)
    variances, axes = np.linalg.eigh(centred.T @ centred / len(centred))
    # A direction without variance stays 0 instead of becoming noise.
    scales = variances.clip(variances.max() * 1e-6) ** (-strength / 2)
    turned = centred @ (axes * scales) @ axes.T
    found: np.ndarray = turned / np.linalg.norm(turned, axis=1, keepdims=True).clip(1e-12)
    return found


BUILDER = Builder("vectors", {"most": 0, "strength": 0.5}, build)
