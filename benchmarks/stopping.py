"""How often the estimate of recall is wrong, and how much later it stops than a test without correction.

Orders are drawn without replacement: a relevant paper is `odds` times as likely to be next as any other (1 is chance);
in "then chance" the second half is in random order. The estimate is wrong if it says more than the true recall at any
look, after each paper. Beside it is the smallest p-value of Callaghan & Müller-Hansen's test over all windows, at one
look in the middle and at ten looks. The cost is the number of papers read at the first look that says to stop at a
recall of 0.95; looks come after each twentieth of what was read.

Run: python -m benchmarks.stopping. With the argument `reviews` it measures the cost on 19 real reviews in the order of
ASReview's default learner; this needs SES_TEST_DATA and the extra eval.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np

from products.screening.simulation import draw_known, growing, papers_until, simulate
from products.screening.stopping import CONFIDENCE, TARGET, may_stop, p_value

SEED, ORDERS, ORDERS_AT_LOOKS, STOPS = 1, 1000, 200, 20


def main() -> None:
    if sys.argv[1:] == ["reviews"]:
        on_reviews()
        return
    print("| papers | relevant | order | wrong | uncorrected, one look | ten looks | found at | stops | uncorrected |")
    print("| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for papers, share, (odds, half) in product(
        (500, 2000), (0.02, 0.1), ((1, False), (5, False), (20, False), (20, True))
    ):
        chance, relevant = np.random.default_rng(SEED), round(papers * share)
        orders = [drawn(papers, relevant, odds, chance, half=half) for _ in range(ORDERS)]
        some, few = orders[:ORDERS_AT_LOOKS], orders[:STOPS]
        looks = [papers * look // 11 for look in range(1, 11)]
        wrong = statistics.mean(is_wrong(order) for order in orders)
        one = statistics.mean(uncorrected_wrong(order, [papers // 2]) for order in some)
        ten = statistics.mean(uncorrected_wrong(order, looks) for order in some)
        means = [statistics.mean(map(count, few)) for count in (found_at, stops, uncorrected_stops)]
        shown = "chance" if odds == 1 else f"odds {odds}{', then chance' if half else ''}"
        counts = " | ".join(f"{mean:,.0f}" for mean in means)
        print(f"| {papers:,} | {relevant} | {shown} | {wrong:.1%} | {one:.1%} | {ten:.1%} | {counts} |", flush=True)


def on_reviews() -> None:
    """Print the cost on real reviews, and the recall at the stop."""
    from benchmarks.screening import elas_u4, some_reviews

    print("| review | papers | included | found at | stops | recall | uncorrected | recall |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    later = []
    for review in some_reviews([]):
        learner = elas_u4([f"{text.title} {text.abstract or ''}" for text in review.papers])
        order = np.array(simulate(review.included, learner, draw_known(review.included, 0), whole=True).relevant)
        ours, plain = stops(order), uncorrected_stops(order)
        later.append((ours - plain) / len(order))
        recalls = [order[:at].sum() / order.sum() for at in (ours, plain)]
        print(
            f"| {review.name} | {len(review.papers):,} | {sum(review.included):,} | {found_at(order):,} | {ours:,} | "
            f"{recalls[0]:.3f} | {plain:,} | {recalls[1]:.3f} |",
            flush=True,
        )
    print(f"The correction takes {statistics.mean(later):.1%} of a review's papers more, on average.")


def drawn(papers: int, relevant: int, odds: float, chance: np.random.Generator, *, half: bool) -> np.ndarray:
    """Return whether each paper is relevant, in an order drawn at random."""
    rates = np.where(np.arange(papers) < relevant, odds, 1.0)
    order = np.argsort(chance.exponential(size=papers) / rates) < relevant
    if half:
        chance.shuffle(order[papers // 2 :])
    return order


def is_wrong(order: np.ndarray) -> bool:
    """Return whether the estimate rejects the truth at any look; what it has rejected once it rejects for good."""
    return p_value(order[:-1], 1, int(order[-1])) <= 1 - CONFIDENCE


def uncorrected_wrong(order: np.ndarray, looks: Sequence[int]) -> bool:
    """Return whether the smallest p-value of all windows rejects the truth at one of some looks."""
    return any(uncorrected(order[:at], order.size - at, int(order[at:].sum())) < 1 - CONFIDENCE for at in looks)


def uncorrected(read: np.ndarray, unread: int, missing: int) -> float:
    """Return the smallest p-value of Callaghan & Müller-Hansen's test over all windows."""
    from scipy.stats import hypergeom

    backwards, taken = np.cumsum(read[::-1]), np.arange(1, read.size + 1)
    return float(np.nanmin(hypergeom.cdf(backwards, taken + unread, backwards + missing, taken)))


def found_at(order: np.ndarray) -> int:
    """Return after how many papers the target is reached in truth."""
    return papers_until(TARGET, order)


def stops(order: np.ndarray) -> int:
    """Return after how many papers the estimate says to stop."""
    return _first(order, lambda read, unread: may_stop(read, unread))


def uncorrected_stops(order: np.ndarray) -> int:
    """Return after how many papers the test without correction says to stop."""

    def stop(read: np.ndarray, unread: int) -> bool:
        found = int(read.sum())
        missing = int(np.floor(np.round(found / TARGET, 9))) + 1 - found
        return found > 0 and (missing > unread or uncorrected(read, unread, missing) < 1 - CONFIDENCE)

    return _first(order, stop)


def _first(order: np.ndarray, stop: Callable[[np.ndarray, int], bool]) -> int:
    return next((at for at in _looks(order.size) if stop(order[:at], order.size - at)), order.size)


def _looks(papers: int) -> Iterator[int]:
    at = 0
    while (at := at + growing(at)) < papers:
        yield at


if __name__ == "__main__":
    main()
