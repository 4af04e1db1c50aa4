"""How well a tagger tags papers that it was not trained on: F1, calibration and reliability, by label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corpora.lazy import np

BINS = 10
"""Bins of equal width, for reliability and calibration errors."""


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """The predictions within a range of probability: their mean probability, share of true ones, and count."""

    probability: float
    share: float
    count: int


@dataclass(frozen=True, slots=True)
class LabelMeasures:
    """How well a label is predicted.

    Attributes:
        label: The label.
        trained: Number of papers with it that the tagger was trained on.
        positives: Number of test papers with it.
        threshold: Probability from which on it is given; None if it is never given.
        precision: Share of the papers that got it which have it; 0 if none got it.
        recall: Share of the papers which have it that got it; 0 if there are none.
        f1: Harmonic mean of precision and recall.
        ece: Expected calibration error (Guo et al., "On calibration of modern neural networks", 2017, equation 3), over
            10 bins of equal width.
        bins: Reliability; without empty bins.
    """

    label: str
    trained: int
    positives: int
    threshold: float | None
    precision: float
    recall: float
    f1: float
    ece: float
    bins: tuple[ReliabilityBin, ...]


@dataclass(frozen=True, slots=True)
class TaggerMeasures:
    """How well a tagger tags.

    Attributes:
        papers: Number of test papers.
        how: Description of the papers.
        macro_f1: Mean F1 of the labels that some test paper has.
        micro_f1: F1 over all papers and labels.
        ece: Calibration error over all papers and labels at once.
        label_ece: Mean calibration error of the labels.
        untagged: Share of the test papers that get no label.
        labels: Measures of each label.
        bins: Reliability over all papers and labels.
    """

    papers: int
    how: str
    macro_f1: float
    micro_f1: float
    ece: float
    label_ece: float
    untagged: float
    labels: tuple[LabelMeasures, ...]
    bins: tuple[ReliabilityBin, ...]


def measured(
    probabilities: np.ndarray,
    given: np.ndarray,
    truth: np.ndarray,
    labels: Sequence[str],
    *,
    thresholds: np.ndarray,
    trained: Sequence[int],
    how: str,
) -> TaggerMeasures:
    """Measure a tagger on papers that `how` tells in words.

    Probabilities are (papers, labels), `given` is bool (papers, labels), what the tagger said, and `truth` int8
    (papers, labels), 1 for yes, 0 for no; others are left out. By label, in order, are the thresholds (labels,) and
    `trained`, the number of papers that the tagger was trained on.
    """
    known = truth >= 0
    hits = (given & (truth == 1)).sum(axis=0)
    said, true = (given & known).sum(axis=0), (truth == 1).sum(axis=0)
    each = []
    for number, label in enumerate(labels):
        rows = known[:, number]
        bins = reliability(probabilities[rows, number], truth[rows, number])
        threshold = float(thresholds[number])
        each.append(
            LabelMeasures(
                label,
                int(trained[number]),
                int(true[number]),
                threshold if np.isfinite(threshold) else None,
                _share(hits[number], said[number]),
                _share(hits[number], true[number]),
                _share(2 * hits[number], said[number] + true[number]),
                calibration_error(bins),
                bins,
            )
        )
    tested = [one for one in each if one.positives]
    bins = reliability(probabilities[known], truth[known])
    return TaggerMeasures(
        papers=len(truth),
        how=how,
        macro_f1=_share(sum(one.f1 for one in tested), len(tested)),
        micro_f1=_share(2 * hits.sum(), said.sum() + true.sum()),
        ece=calibration_error(bins),
        label_ece=_share(sum(one.ece for one in each), len(each)),
        untagged=_share((~given.any(axis=1)).sum(), len(given)),
        labels=tuple(each),
        bins=bins,
    )


def reliability(probabilities: np.ndarray, truth: np.ndarray) -> tuple[ReliabilityBin, ...]:
    """Return the bins that hold predictions, ascending; probabilities and truth have one shape, such as (papers,)."""
    place = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    counts = np.bincount(place, minlength=BINS)
    means = np.bincount(place, probabilities, BINS)
    shares = np.bincount(place, truth == 1, BINS)
    return tuple(
        ReliabilityBin(float(mean / count), float(share / count), int(count))
        for mean, share, count in zip(means, shares, counts, strict=True)
        if count
    )


def calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    """Return the mean distance between probability and share of truths, weighted by counts."""
    total = sum(one.count for one in bins)
    return _share(sum(one.count * abs(one.probability - one.share) for one in bins), total)


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0
