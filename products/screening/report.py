"""The report of a review: what was decided, what is known of recall, and the included papers by those read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate

from eval.reports.plots import curves
from eval.reports.report import Plot, Provenance, Report, TextTable
from products.screening.screening import ReviewState, Status, read_in_order
from products.screening.simulation import Simulated
from products.screening.stopping import ASSUMPTION, METHOD


def status_lines(found: Status) -> Iterator[str]:
    """Yield how far a review is, and the recall that is reached, line by line."""
    recall = found.recall
    yield (
        f"{found.candidates:,} candidates: {found.included:,} included, {found.excluded:,} excluded, "
        f"{found.unread:,} unread" + (f" ({found.later:,} of them put off)" if found.later else "")
    )
    if found.reasons:
        yield _counted("Excluded by reason", found.reasons, found.excluded, "a reason")
    if found.screeners:
        yield _counted("Decisions by", found.screeners, found.included + found.excluded, "a name")
    if found.gone:
        yield f"{found.gone:,} labelled papers are not among the candidates any more."
    yield (
        f"Recall is at least {recall.at_least:.3f} with {recall.confidence:.0%} confidence; "
        f"up to {recall.missing_at_most:,} relevant papers may be unread."
    )
    yield f"Method: {METHOD}. It holds however often you look, if {ASSUMPTION}."
    reached = "reached: reading may stop" if recall.reached else "not reached yet"
    yield f"The target of {recall.target:.3f} is {reached}."


def _counted(what: str, counts: Mapping[str, int], total: int, part: str) -> str:
    listed = ", ".join(f"{text} ({count:,})" for text, count in counts.items())
    without = total - sum(counts.values())
    return f"{what}: {listed}" + (f"; without {part}: {without:,}." if without else ".")


def review_report(name: str, review: ReviewState, found: Status, provenance: Provenance) -> Report:
    """Return the report of a review; its plot shows the included papers by the papers read, once there are some."""
    read = read_in_order(review)
    known = sum(one.included for one in review.decisions if not one.offered)
    line = {0: float(known)} | {count: float(known + held) for count, held in enumerate(accumulate(read), start=1)}
    caption = (
        "A line that has become flat says that the last papers were read in vain. Papers known beforehand are at 0."
    )
    plot = Plot("Found so far", caption, partial(curves, {"included": line}, "papers read", "papers included"))
    missing = found.recall.missing_at_most
    counts = {"candidates": found.candidates, "included": found.included, "excluded": found.excluded}
    counts |= {"put off": found.later, "unread": found.unread, "unread and relevant at most": missing}
    rows = tuple((what, f"{count:,}") for what, count in counts.items())
    table = TextTable("Progress", ("papers", "number"), rows, notes=tuple(status_lines(found)))
    return Report(f"Review {name}", provenance, (table,), (plot,) if read else ())


def simulation_report(name: str, runs: Sequence[Simulated], lines: Sequence[str], provenance: Provenance) -> Report:
    """Return the report of simulations of a review; its plot shows the recall by the papers read.

    `lines` say how each simulation went.
    """
    drawn = {}
    for number, run in enumerate(runs, start=1):
        found = enumerate(accumulate(run.relevant), start=1)
        drawn[f"start {number}"] = {count: held / sum(run.relevant) for count, held in found}
    caption = "The earlier a line rises, the less is read. Each start is a pair of papers, one included, one excluded."
    plot = Plot("Recall", caption, partial(curves, drawn, "papers read", "recall"))
    table = TextTable("Simulations", ("start", "result"), tuple((str(at), line) for at, line in enumerate(lines, 1)), 2)
    return Report(f"Review {name}, simulated", provenance, (table,), (plot,))
