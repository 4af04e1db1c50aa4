"""When to stop reading: a lower bound of recall, by the hypergeometric test of Callaghan & Müller-Hansen (2020).

"Statistical stopping criteria for automated screening in systematic reviews", Systematic Reviews 9:273, in its version
for rankings: the papers read since any moment are taken for a random sample of those that were unread then. A ranking
finds relevant papers sooner than a sample, which makes the test conservative. Like the paper, it does not correct for
being repeated after each batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpora.errors import require
from products.optional import optional

if TYPE_CHECKING:
    import numpy as np

TARGET, CONFIDENCE = 0.95, 0.95


@dataclass(frozen=True, slots=True)
class Recall:
    """What is known of recall.

    Attributes:
        at_least: The recall that is reached with the confidence; 0 if nothing relevant was found.
        missing_at_most: Relevant papers that may be unread still, with the same confidence.
        target: The recall to reach.
        confidence: Of both.
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

    Args:
        read: Whether each paper was relevant, in the order of reading, without those known before.
        unread: Papers not read yet.
        known: Relevant papers known before reading began.
        target: The recall to reach, above 0 and below or equal to 1.
        confidence: Of the estimate, between 0 and 1.

    Returns:
        The estimate.

    Raises:
        InputError: If target or confidence is out of range.
        UnavailableError: If scipy is not installed.
    """
    require(0 < target <= 1, f"A recall of {target:g} can't be a target", "give a <target> above 0 and up to 1")
    require(0 < confidence < 1, f"The confidence can't be {confidence:g}", "give a <confidence> between 0 and 1")
    found = known + sum(read)
    missing = _missing(read, unread, confidence)
    at_least = found / (found + missing) if found else 0.0
    return Recall(at_least, missing, target, confidence)


def may_stop(
    read: Sequence[bool], unread: int, *, known: int = 0, target: float = TARGET, confidence: float = CONFIDENCE
) -> bool:
    """Return whether the target is reached, by one test; arguments and errors as of `estimate_recall`."""
    import numpy as np

    found = known + sum(read)
    # One more than recall may miss; the ratio is rounded, because 19 / 0.95 is a little less than 20.
    missing = int(np.floor(np.round(found / target, 9))) + 1 - found
    return found > 0 and (missing > unread or p_value(_backwards(read), unread, missing) < 1 - confidence)


def _backwards(read: Sequence[bool]) -> np.ndarray:
    """Return how many relevant papers are among the last 1, 2, ... papers read."""
    import numpy as np

    return np.cumsum(np.asarray(read, bool)[::-1])


def _missing(read: Sequence[bool], unread: int, confidence: float) -> int:
    """Return the largest number of unread relevant papers that no test rejects, by bisection."""
    backwards = _backwards(read)
    low, high = 0, unread
    while low < high:
        middle = (low + high) // 2
        if p_value(backwards, unread, middle + 1) < 1 - confidence:
            high = middle
        else:
            low = middle + 1
    return low


def p_value(backwards: np.ndarray, unread: int, missing: int) -> float:
    """Return the smallest p-value of the hypothesis that so many relevant papers or more are unread.

    Args:
        backwards: Relevant papers among the last 1, 2, ... papers read.
        unread: Papers not read.
        missing: Relevant papers unread by the hypothesis.

    Returns:
        For each number n of last papers: the probability that n papers drawn from n + unread, of which those found and
        those missing are relevant, hold no more relevant ones than were found; the smallest of them, 1 without any.
    """
    if not len(backwards):
        return 1.0
    import numpy as np

    hypergeom = optional("scipy.stats", "Estimating recall needs scipy").hypergeom
    drawn = np.arange(1, len(backwards) + 1)
    chances = hypergeom.cdf(backwards, drawn + unread, backwards + missing, drawn)
    smallest = float(np.min(chances))
    return 1.0 if math.isnan(smallest) else smallest
