"""When to stop reading: a lower bound of recall that holds with the confidence at all looks together.

A window is what was read since some moment. If none of its papers was relevant, the hypergeometric test of Callaghan &
Müller-Hansen (2020, Systematic Reviews 9:273) says how improbable that is, if its papers were drawn at random from
those unread when it began. But the smallest of these probabilities over all windows is below 0.05 by chance far more
often than in one of 20 orders.

So each window is a bet at fair odds instead. A unit is staked when it begins. A paper that is not relevant divides it
by the probability of that; a relevant paper loses it. One bet begins at each paper of the review. In random order, the
mean of all bets is a martingale; where each paper is at least as likely to be relevant as a random unread one, it can
only be smaller. So it reaches 20 at any time with a probability of at most 0.05 (Ville's inequality), however often one
looks. Waudby-Smith & Ramdas (2020, arXiv:2006.04347) bound means of samples without replacement by such bets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from corpora.errors import require
from corpora.lazy import np

TARGET, CONFIDENCE = 0.95, 0.95

METHOD = "sequential hypergeometric test"
ASSUMPTION = "each paper that was read was at least as likely to be relevant as a random unread one"


@dataclass(frozen=True, slots=True)
class Recall:
    """What is known of recall.

    Attributes:
        at_least: The recall that is reached with the confidence; 0 if nothing relevant was found.
        missing_at_most: Relevant papers that may be unread still, with the same confidence.
        target: The recall to reach.
        confidence: Confidence of both.
    """

    at_least: float
    missing_at_most: int
    target: float
    confidence: float

    @property
    def reached(self) -> bool:
        """Whether reading can stop."""
        return self.at_least >= self.target - 1e-9  # 19 of 20 are 0.95


def estimate_recall(
    read: Sequence[bool], unread: int, *, known: int = 0, target: float = TARGET, confidence: float = CONFIDENCE
) -> Recall:
    """Estimate recall from the order in which papers were read.

    `read` says whether each paper was relevant, in the order of reading, without those known before; `known` is the
    number of relevant papers known before reading began. The target is above 0 and below or equal to 1, the confidence
    between 0 and 1; `InputError` otherwise.
    """
    require(0 < target <= 1, f"A recall of {target:g} can't be a target", "give a <target> above 0 and up to 1")
    require(0 < confidence < 1, f"The confidence can't be {confidence:g}", "give a <confidence> between 0 and 1")
    found = known + sum(read)
    missing = _missing(read, unread, confidence)
    at_least = found / (found + missing) if found else 0.0
    return Recall(at_least, missing, target, confidence)


def may_stop(
    read: Sequence[bool] | np.ndarray,
    unread: int,
    *,
    known: int = 0,
    target: float = TARGET,
    confidence: float = CONFIDENCE,
) -> bool:
    """Return whether the target is reached; arguments and errors as of `estimate_recall`."""
    found = known + int(sum(read))
    # One more than recall may miss; the ratio is rounded, because 19 / 0.95 is a little less than 20.
    missing = math.floor(round(found / target, 9)) + 1 - found
    return found > 0 and (missing > unread or p_value(read, unread, missing) <= 1 - confidence)


def _missing(read: Sequence[bool], unread: int, confidence: float) -> int:
    """Return the largest number of unread relevant papers that is not rejected, by bisection."""
    low, high = 0, unread
    while low < high:
        middle = (low + high) // 2
        if p_value(read, unread, middle + 1) <= 1 - confidence:
            high = middle
        else:
            low = middle + 1
    return low


def p_value(read: Sequence[bool] | np.ndarray, unread: int, missing: int) -> float:
    """Return the p-value of the hypothesis that so many relevant papers or more are missing, that is unread.

    `read` says whether each paper was relevant, in the order of reading. The value is one over the largest mean that
    the bets have had; larger numbers of missing papers have smaller values. They are at most as many as are unread.
    """
    if not len(read):
        return 1.0
    relevant = np.asarray(read, bool)
    count = relevant.size
    begun = np.arange(1, count + 1)
    before = unread + count + 1 - begun
    # Among those unread before each paper: relevant ones by the hypothesis, found later or missing.
    chances = (missing + relevant[::-1].cumsum()[::-1]) / before
    growth = np.where(relevant, 0.0, -np.log1p(-np.where(relevant, 0.0, chances)))
    summed = growth.cumsum()
    # A relevant paper loses all bets before it: sums since the last one are differences, as both sums only grow.
    since = summed - np.maximum.accumulate(np.where(relevant, summed, 0.0))
    stakes = np.where(relevant, 0.0, np.exp(growth - since)).cumsum()
    stakes -= np.maximum.accumulate(np.where(relevant, stakes, 0.0))
    with np.errstate(divide="ignore"):
        bets = np.logaddexp(np.log(stakes) + since, np.log(before - 1.0))
    return math.exp(min(0.0, math.log(unread + count) - float(bets.max())))
