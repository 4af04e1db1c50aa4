"""The report of an assignment: who reviews what and why, and how many submissions each reviewer has."""

from __future__ import annotations

from collections import Counter
from functools import partial

from eval.reports.plots import bars
from eval.reports.report import Plot, Provenance, Report, TextTable, counted
from products.reviewers.matching import Matched
from products.reviewers.venue import Venue


def assignment_report(venue: Venue, found: Matched, provenance: Provenance) -> Report:
    """Return the report of an assignment or a ranking; its plot shows how many reviewers have how many submissions."""
    titles = {paper.id: paper.title for paper in venue.submissions}
    names = {one.id: one.name for one in venue.people.values()}
    rows = [
        (
            f"{titles[one.submission]} ({one.submission})",
            f"{names.get(one.reviewer, '')} ({one.reviewer})".lstrip(),
            "; ".join(f"{near.paper.title} ({near.similarity:.2f})" for near in one.nearest),
            f"{one.score:.3f}",
            f"{one.rank:,}",
            *(["-" if one.bid is None else f"{one.bid:+g}"] if venue.bids else []),
        )
        for one in found.matches
    ]
    held = dict(zip(venue.pool.reviewers, venue.pool.papers, strict=True))
    loads = sorted(found.loads.items(), key=lambda one: (-one[1], one[0]))
    busy = [(reviewer, names.get(reviewer, ""), f"{load:,}", f"{len(held[reviewer]):,}") for reviewer, load in loads]
    counts = Counter(found.loads.values())
    by_load = {counted(load, "submissions"): {"reviewers": float(counts[load])} for load in sorted(counts)}
    notes = tuple(f"Conflicts left out: {count:,} {reason}" for reason, count in found.conflicts.items())
    head = ("submission", "reviewer", "nearest papers", "score", "rank", *(["bid"] if venue.bids else []))
    assignments = TextTable("Assignments", head, tuple(rows), 3, notes)
    table = TextTable("Loads", ("reviewer", "name", "submissions", "papers"), tuple(busy), 2)
    plot = Plot("How many submissions reviewers have", "Reviewers by their submissions.", partial(bars, by_load))
    return Report("Reviewers for submissions", provenance, (assignments, table), (plot,))
