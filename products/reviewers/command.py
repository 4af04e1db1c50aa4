"""`ses reviewers`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import rich_click as click

from corpora.errors import short_list
from indexer.options import IndexOptions
from products.reviewers.matching import Explanation, Match, Matched, MatchingOptions
from products.reviewers.venue import notes_on
from ses.terminal.options import (
    PATH,
    described_options,
    engine_options,
    given_of,
    html_option,
    model_options,
    open_library,
    together,
)
from ses.terminal.results import say, tell, write_csv, write_page

_LISTED = 5

_column = described_options(IndexOptions, "columns")
_venue_options = together(
    click.option("--submissions", required=True, type=PATH, metavar="PATH", help="File of the submissions."),
    click.option(
        "--corpus", default="csv", show_default=True, metavar="NAME", help="How to read it: a corpus, or openreview."
    ),
    _column,
    click.option(
        "--index", default="reviewers", show_default=True, metavar="NAME", help="The index of the reviewers' papers."
    ),
    click.option(
        "--factor",
        "factors",
        multiple=True,
        type=click.Choice(("semantic", "topic", "words", "citation")),
        help="What to compare by: PRX vectors, CLF vectors, words (TF-IDF), or references; repeatable "
        "[default: semantic].",
    ),
    described_options(MatchingOptions, "aggregate"),
    click.option(
        "--people",
        type=PATH,
        metavar="FILE",
        help="CSV of the reviewers to choose from: reviewer, name, institution, capacity [default: all].",
    ),
    click.option("--conflicts", type=PATH, metavar="FILE", help="CSV of declared conflicts: paper, reviewer."),
    click.option(
        "--bids",
        type=PATH,
        metavar="FILE",
        help="CSV of what reviewers want to review: paper, reviewer, bid (a number from -1 to 1, or such as high).",
    ),
)


@click.group()
def reviewers() -> None:
    """Find reviewers for submissions, by the papers that the reviewers wrote."""


@reviewers.command()
@click.option("--path", required=True, type=PATH, metavar="PATH", help="File or folder of the reviewers' papers.")
@click.option(
    "--corpus",
    default="csv",
    show_default=True,
    metavar="NAME",
    help="How to read it: a corpus with a column reviewer, or openreview.",
)
@click.option("--index", "name", default="reviewers", show_default=True, metavar="NAME", help="Name of the index.")
@_column
@click.option(
    "--formats", default="prx", show_default=True, metavar="LIST", help="Task formats to store vectors for: prx,clf."
)
@model_options
@engine_options
@click.pass_context
def index(context: click.RichContext, /, *, path: Path, corpus: str, name: str, as_json: bool, **options: Any) -> None:
    """Index the papers of reviewers.

    A table has a row for each paper of each reviewer: reviewer, id, title, abstract, and any other attribute of
    papers. Papers that the file no longer holds are deleted from the index. OpenReview's form is a folder of
    NAME.jsonl, or a JSON file of notes by reviewer.
    """
    from ses.terminal.progress import progress_on_stderr

    with progress_on_stderr() as progress:
        done = open_library(options).reviewers.index(
            name,
            path,
            corpus=corpus,
            columns=given_of(IndexOptions, options).get("columns", {}),
            formats=[options["formats"]],
            progress=progress,
        )
    sizes, rejected, empty = done.profiles.sizes(), done.profiles.rejected, done.profiles.empty
    single = sorted(reviewer for reviewer, size in sizes.items() if size == 1)
    document = {
        "index": done.report.index,
        "reviewers": len(sizes),
        "papers": done.report.papers,
        "one_paper": single,
        "without_papers": list(empty),
        "rejected": [{"line": one.line, "id": one.id, "reason": one.reason} for one in rejected],
        "indexed": done.report.to_dict(),
    }
    lines = [
        f"Index {done.report.index}: {len(sizes):,} reviewers with {done.report.papers:,} papers "
        f"({done.report.new:,} new, {done.report.unchanged:,} unchanged, {done.report.deleted:,} deleted)"
    ]
    if empty:
        lines.append(f"Without any paper, and so not in the index: {short_list(empty)}")
    if single:
        lines.append(f"With one paper only, on which all their scores rest: {short_list(single)}")
    lines += [f"Rejected, line {one.line}: {one.reason}" for one in rejected[:_LISTED]]
    if len(rejected) > _LISTED:
        lines.append(f"Rejected in all: {len(rejected):,}")
    say(document, lines, as_json=as_json)
    context.exit(1 if rejected or done.report.rejected else 0)


@reviewers.command()
@_venue_options
@described_options(MatchingOptions, "per_paper", "capacity", "fair", "ranked", "combine", "bid_weight")
@click.option("--out", type=PATH, metavar="FILE", help="Write the result as CSV.")
@html_option
@model_options
@engine_options
def match(
    *, submissions: Path, people: Path | None, out: Path | None, html: Path | None, as_json: bool, **options: Any
) -> None:
    """Assign reviewers to submissions, or rank them, and say why: the nearest of each reviewer's papers.

    The assignment has the largest sum of scores that capacities and conflicts allow. Conflicts are declared pairs,
    authors of a submission and their co-authors, and people of the authors' institutions (--column
    institutions=COLUMN).
    """
    from eval.reports.report import gather_provenance
    from products.reviewers.report import assignment_report
    from products.trained import facts_of
    from ses.terminal.progress import progress_on_stderr

    with progress_on_stderr() as progress:
        finder = open_library(options).reviewers
        venue = finder.venue(submissions, people=people, **_given(options))
        found = finder.match_venue(
            venue, options["factors"] or ("semantic",), progress=progress, **given_of(MatchingOptions, options)
        )
    titles = {paper.id: paper.title for paper in venue.submissions}
    names = {one.id: one.name for one in venue.people.values()}
    notes, rows = notes_on(venue.pool, venue.people), [_row(one, titles, names) for one in found.matches]
    for note in notes:
        tell(f"Note: {note}", err=True)
    if out:
        head = list(rows[0]) if rows else ["paper", "reviewer", "score", "rank"]
        cells = (row | {"nearest": tuple(near["title"] for near in row["nearest"])} for row in rows)
        write_csv(out, head, (row.values() for row in cells))
    if html:
        write_page(html, assignment_report(venue, found, gather_provenance(settings=facts_of(venue.index))))
    document = {
        "notes": notes,
        "conflicts": dict(found.conflicts),
        "total": found.total,
        "worst": found.worst,
        "worst_submission": found.worst_submission,
        "matches": rows,
    }
    say(document, _shown(rows, found, out, ranked=options["ranked"]), as_json=as_json)


@reviewers.command()
@click.option("--paper", required=True, metavar="ID", help="Id of the submission.")
@click.option("--reviewer", required=True, metavar="ID", help="Id of the reviewer.")
@_venue_options
@model_options
@engine_options
def explain(*, submissions: Path, paper: str, reviewer: str, as_json: bool, **options: Any) -> None:
    """Say why a reviewer suits a submission: the nearest of their papers by each factor."""
    found = open_library(options).reviewers.explain(
        submissions,
        paper,
        reviewer,
        factors=options["factors"] or ("semantic",),
        aggregate=options["aggregate"] or "top3",
        people=options["people"],
        **_given(options),
    )
    say(found.to_dict(), _explained(found), as_json=as_json)


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: options[name] for name in ("index", "corpus", "conflicts", "bids")}
    return given | {"columns": given_of(IndexOptions, options).get("columns", {})}


def _shown(rows: Sequence[Mapping[str, Any]], found: Matched, out: Path | None, *, ranked: bool) -> Iterator[str]:
    if out:
        yield f"Wrote {len(rows):,} pairs to {out}"
    else:
        paper = ""
        for row, one in zip(rows, found.matches, strict=True):
            if one.submission != paper:
                yield f"{(paper := one.submission)}  {row['title']}"
            parts = [f"{name} {score:.3f}" for name, score in one.factors.items()]
            parts += [] if one.bid is None else [f"bid {one.bid:+g}"]
            name = f"{one.reviewer}  {row['name']}" if row["name"] else one.reviewer
            yield f"  {name}: score {one.score:.3f}, rank {one.rank} ({', '.join(parts)})"
            yield from (f"    {near.similarity:.3f}  {near.paper.title} ({near.paper.id})" for near in one.nearest)
    if found.conflicts:
        yield "Conflicts left out: " + ", ".join(f"{count:,} {reason}" for reason, count in found.conflicts.items())
    if bids := [one.bid for one in found.matches if one.bid is not None]:
        liked, disliked = sum(bid > 0 for bid in bids), sum(bid < 0 for bid in bids)
        yield f"Of {len(rows):,} reviews, {liked:,} have a bid above 0, and {disliked:,} one below 0"
    if not ranked:
        loads = found.loads.values()
        yield f"Total score {found.total:.3f}; the worst submission, {found.worst_submission}, has {found.worst:.3f}"
        yield f"Reviewers with submissions: {sum(map(bool, loads)):,} of {len(loads):,}, at most {max(loads):,} each"


def _explained(found: Explanation) -> Iterator[str]:
    yield f"{found.submission.title} ({found.submission.id}) and {found.reviewer}"
    if found.conflict:
        yield f"Conflict: {found.conflict}"
    if found.bid is not None:
        yield f"Bid: {found.bid:+g}"
    for name, one in found.factors.items():
        yield f"{name}: score {one.score:.3f}, rank {one.rank:,} of {found.reviewers:,}"
        for near in one.nearest:
            yield f"  {near.similarity:.3f}  {near.paper.title} ({near.paper.id})"


def _row(one: Match, titles: Mapping[str, str], names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "paper": one.submission,
        "title": titles[one.submission],
        "reviewer": one.reviewer,
        "name": names.get(one.reviewer, ""),
        "score": one.score,
        "rank": one.rank,
        **one.factors,
        "bid": one.bid,
        "nearest": [near.to_dict() for near in one.nearest],
    }
