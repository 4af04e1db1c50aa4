"""Few-shot training papers of SciRepEval: the same ones as its own code draws."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from itertools import islice

import numpy as np

from corpora.errors import InputError
from eval.optional import optional
from eval.probes.linear import SEED
from eval.scirepeval.task_file import FewShot


def few_shot_samples(labels: np.ndarray, few_shot: FewShot) -> Iterator[list[int]]:
    """Yield the training rows of each run.

    With one class per paper, they are the held-out parts of stratified folds of about the sample size, so that no two
    runs share a paper. With several labels per paper, the sample size is drawn from the papers of each label, with a
    different seed for each run.

    Args:
        labels: Of the training rows, (rows,) or (rows, labels).
        few_shot: Sample size and runs; with one class per paper, there are no more runs than folds.

    Yields:
        Rows.

    Raises:
        InputError: If there are too few rows.
        UnavailableError: If scikit-learn isn't installed.
    """
    yield from (_of_each_label if labels.ndim == 2 else _held_out_parts)(labels, few_shot)


def _held_out_parts(labels: np.ndarray, few_shot: FewShot) -> Iterator[list[int]]:
    stratified = optional("sklearn.model_selection", "Few-shot samples need scikit-learn").StratifiedKFold
    folds = math.ceil(len(labels) / few_shot.sample_size)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the protocol allows a class with fewer papers than folds
            parts = list(islice(stratified(folds).split(labels, labels), few_shot.iterations))
    except ValueError as error:
        raise InputError(
            f"{len(labels):,} training papers can't be divided into samples of {few_shot.sample_size}: take fewer."
        ) from error
    yield from (part.tolist() for _, part in parts)


def _of_each_label(labels: np.ndarray, few_shot: FewShot) -> Iterator[list[int]]:
    rarest = int(labels.sum(axis=0).min())
    if rarest < few_shot.sample_size:
        raise InputError(
            f"A label has {rarest} training papers, and {few_shot.sample_size} are to be drawn of each: take fewer."
        )
    holders = [np.flatnonzero(column == 1) for column in labels.T]
    for run in range(few_shot.iterations):
        # The generator that np.random.seed sets, not default_rng, and a set's order, since folds and liblinear's
        # coordinate descent depend on it.
        draw = np.random.RandomState(SEED + run)
        rows: set[int] = set()
        for holder in holders:
            rows.update(draw.choice(holder, few_shot.sample_size, replace=False).tolist())
        yield list(rows)
