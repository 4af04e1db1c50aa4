"""`ses screen`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any, Literal

import rich_click as click

from corpora.errors import require
from corpora.outgoing import in_a_line
from corpora.paper import Paper
from products.screening.api import BATCH, LabelReport, Screening
from products.screening.reading import ReadingCounts, ReviewReading
from products.screening.stopping import METHOD
from search_plugin.pages.highlights import whole
from ses.terminal.options import PATH, described_options, engine_options, html_option, open_library
from ses.terminal.printing import marked
from ses.terminal.results import say, say_json, show, styled, tell, write_page

_KEYS: Mapping[str, tuple[bool | None, str]] = {
    "y": (True, "Included."),
    "n": (False, "Excluded."),
    "r": (False, "Excluded."),
    "l": (None, "Later."),
}
_INDENT = " " * 5
_WIDEST = 100
"""Columns: longer lines are hard to read."""

_by = click.option("--by", default="", metavar="NAME", help="Who decides [default: the screener of the review].")
_recall = described_options(Screening.status)


@click.group()
def screen() -> None:
    """Screen the papers of a systematic review, the most relevant first.

    A review ranks its unread papers by a model of the vectors and words of those that were included and excluded.
    Nothing is encoded.
    """


@screen.command()
@click.argument("name")
@click.option("--index", default="", metavar="NAME", help="The index of the candidates [default: the default index].")
@click.option("--filter", default="", metavar="EXPR", help="What the candidates match [default: all papers].")
@click.option(
    "--criteria",
    default="",
    metavar="TEXT",
    help="What is included, in words: they are marked in papers, and rank until a paper is included.",
)
@click.option("--screener", default="", metavar="NAME", help="Who decides, unless --by names another one.")
@engine_options
def create(
    *,
    name: str,
    index: str,
    filter: str,  # noqa: A002
    criteria: str,
    screener: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Create a review of the papers of an index."""
    screening = open_library(options).screening
    screening.create(name, index=index, filter=filter, criteria=criteria, screener=screener)
    count = screening.status(name).candidates
    say({"name": name, "candidates": count}, f"The review {name} has {count:,} candidates.", as_json=as_json)


@screen.command()
@click.argument("name")
@click.option("--include", multiple=True, metavar="ID", help="Paper that is included; repeatable.")
@click.option("--exclude", multiple=True, metavar="ID", help="Paper that is excluded; repeatable.")
@click.option("--reason", default="", metavar="TEXT", help="Why these papers are excluded.")
@_by
@click.option("--path", type=PATH, metavar="FILE", help="Labels in .csv, .ris or .asreview.")
@click.option("--change", is_flag=True, help="Replace labels that differ.")
@engine_options
def label(
    *,
    name: str,
    include: Sequence[str],
    exclude: Sequence[str],
    reason: str,
    by: str,
    path: Path | None,
    change: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Label papers as included or excluded, one by one or by a file."""
    if path and (include or exclude or reason):
        raise click.UsageError("Give --path, or --include and --exclude, not both.")
    screening = open_library(options).screening
    if path:
        done = screening.read(name, path, by=by, change=change)
    else:
        done = screening.label(name, include=include, exclude=exclude, reason=reason, by=by, change=change)
    say({"name": name, **asdict(done)}, _summary(done), as_json=as_json)


@screen.command(name="next")
@click.argument("name")
@click.option("--size", metavar="N", type=int, help="Papers [default: 20 in a list, and no end in a terminal].")
@_by
@engine_options
def next_(*, name: str, size: int | None, by: str, as_json: bool, **options: Any) -> None:
    """Show the papers to read next, the most relevant first, with the words of the criteria marked.

    In a terminal, one paper is shown at a time and a key decides: y includes it, n excludes it, r excludes it for a
    reason that you type, l puts it off, u takes the last decision back, q quits. Each decision is stored at once.
    Elsewhere, a list is printed.
    """
    screening = open_library(options).screening
    if sys.stdin.isatty() and sys.stdout.isatty() and not as_json:
        require(size is None or size > 0, f"A batch of {size} papers can't be read", "give a <size> of 1 or more")
        _read_on(screening.reading(name, by=by), size)
        return
    found = screening.next(name, size=BATCH if size is None else size)
    if as_json:
        say_json({"name": name, "papers": [asdict(one) for one in found]})
        return
    review = screening.get(name)
    language = screening.opened(review.index).index.schema.language
    for rank, one in enumerate(found, start=1):
        for line in _shown(one.paper, review.criteria, language, f"{rank}. ", 0):
            show(line)
    if not found:
        tell("All papers are labelled.")


def _shown(paper: Paper, criteria: str, language: str, number: str, width: int) -> Iterator[str]:
    """Yield a paper's title, facts and abstract, the words of the criteria marked; a width of 0 is for no line ends."""

    def lines(part: Literal["title", "abstract"], text: str) -> str:
        text = in_a_line(text)
        wrapped = "\n".join(wrap(text, width - len(_INDENT))) if width else text
        return marked(whole(part, wrapped, criteria, language)).replace("\n", f"\n{_INDENT}")

    yield f"{styled(number.rjust(len(_INDENT)), bold=True)}{lines('title', paper.title)}"
    yield styled(_INDENT + " · ".join(filter(None, (str(paper.year or ""), paper.venue, f"id {paper.id}"))), dim=True)
    if paper.abstract:
        yield f"{_INDENT}{lines('abstract', paper.abstract)}"


def _read_on(reading: ReviewReading, size: int | None) -> None:
    """Show one paper after the other, and store what the reader's keys decide."""
    width = max(40, min(_WIDEST, get_terminal_size().columns))
    criteria, read, reason = reading.review.criteria, 0, ""
    while (one := reading.next()) and (size is None or read < size):
        for line in _shown(one.paper, criteria, reading.language, f"{read + 1}. ", width):
            show(line)
        counts = reading.counts()
        show(styled(f"{_INDENT}{_told(counts)}", "cyan"))
        key = _pressed()
        if key == "q":
            break
        if key == "u":
            undone = reading.undo()
            read -= undone
            show(f"{_INDENT}{'The last decision is taken back.' if undone else 'There is nothing to take back.'}")
        else:
            if key == "r":
                reason = in_a_line(click.prompt(f"{_INDENT}Reason", default=reason or None))
            reading.decide(one.paper.id, included=_KEYS[key][0], reason=reason if key == "r" else "")
            show(styled(f"{_INDENT}{_KEYS[key][1]}", bold=True))
            read += 1
        show()
    counts = reading.counts()
    show(("" if counts.left else "All papers are labelled. ") + f"Stored: {_told(counts)}.")


def _pressed() -> str:
    """Return the next key that means something; Ctrl-C and Ctrl-D quit."""
    key = ""
    while key not in {*_KEYS, "u", "q"}:
        show(f"{_INDENT}y yes · n no · r no, for a reason · l later · u undo · q quit")
        try:
            key = click.getchar().lower()
        except (KeyboardInterrupt, EOFError):
            return "q"
    return key


def _told(counts: ReadingCounts) -> str:
    later = f" ({counts.later:,} put off)" if counts.later else ""
    return f"{counts.included:,} included, {counts.excluded:,} excluded, {counts.left:,} left{later}"


@screen.command()
@click.argument("name")
@_recall
@html_option
@engine_options
def status(*, name: str, target: float, confidence: float, html: Path | None, as_json: bool, **options: Any) -> None:
    """Show how many papers are read, the recall that is reached, and whether reading may stop."""
    from eval.reports.report import gather_provenance
    from products.screening.report import review_report, status_lines
    from products.trained import facts_of

    screening = open_library(options).screening
    found = screening.status(name, target=target, confidence=confidence)
    if html:
        review = screening.get(name)
        index = screening.opened(review.index).index
        write_page(html, review_report(name, review, found, gather_provenance(settings=facts_of(index))))
    recall = found.recall
    document = {"name": name, **asdict(found), "unread": found.unread, "reached": recall.reached, "method": METHOD}
    say(document, "\n".join(status_lines(found)), as_json=as_json)


@screen.command()
@click.argument("name")
@click.argument("other")
@engine_options
def compare(*, name: str, other: str, as_json: bool, **options: Any) -> None:
    """Compare the labels of two screeners, each with a review of the same index: Cohen's kappa, and conflicts."""
    found = open_library(options).screening.compare(name, other)
    kappa = "undefined, since all labels are the same" if found.kappa is None else f"{found.kappa:.3f}"
    lines = [
        f"Papers labelled in both: {found.both:,}; included by both: {found.included:,}, excluded by both: "
        f"{found.excluded:,}, in conflict: {len(found.conflicts):,}. Cohen's kappa: {kappa}."
    ]
    for one in found.conflicts:
        sides = [f"{review} by {by}" if by else review for review, by in ((name, one.by), (other, one.other_by))]
        included, excluded = sides if one.included else reversed(sides)
        lines.append(f"{one.id}: included in {included}, excluded in {excluded}  {in_a_line(one.title)}".rstrip())
    say({"name": name, "other": other, **asdict(found)}, "\n".join(lines), as_json=as_json)


@screen.command()
@click.argument("name")
@click.option("--output", required=True, type=PATH, metavar="FILE", help="Ends in .csv, .ris or .asreview.")
@engine_options
def export(*, name: str, output: Path, as_json: bool, **options: Any) -> None:
    """Write all candidates with the decisions on them as CSV, RIS or an ASReview project."""
    count = open_library(options).screening.export(name, output)
    say({"name": name, "papers": count, "file": str(output)}, f"{count:,} papers are in {output}.", as_json=as_json)


@screen.command()
@click.argument("name")
@described_options(Screening.simulate)
@html_option
@engine_options
def simulate(
    *, name: str, draws: int, target: float, confidence: float, html: Path | None, as_json: bool, **options: Any
) -> None:
    """Screen the labelled papers again, to see how much reading the review saves."""
    from eval.reports.report import gather_provenance
    from products.screening.report import simulation_report
    from products.trained import facts_of

    screening = open_library(options).screening
    runs = screening.simulate(name, draws=draws, target=target, confidence=confidence)
    rows = [
        {
            "papers": run.papers,
            "relevant": sum(run.relevant),
            "read": run.read_until(target),
            "stopped": run.stopped,
            "recall": run.recall_after(run.stopped) if run.stopped else None,
        }
        for run in runs
    ]
    lines = [
        f"{row['read']:,} of {row['papers']:,} papers read for {target:.0%} of {row['relevant']:,} relevant ones; "
        + (f"stopped after {row['stopped']:,} at recall {row['recall']:.3f}" if row["stopped"] else "never stopped")
        for row in rows
    ]
    if html:
        index = screening.opened(screening.get(name).index).index
        write_page(html, simulation_report(name, runs, lines, gather_provenance(settings=facts_of(index))))
    say({"name": name, "draws": rows}, "\n".join(lines), as_json=as_json)


@screen.command(name="list")
@engine_options
def list_(*, as_json: bool, **options: Any) -> None:
    """List the reviews."""
    screening = open_library(options).screening
    held = {name: screening.get(name) for name in screening.names()}
    lines = [f"{name}: {len(one.decisions):,} labels, index {one.index}" for name, one in held.items()]
    document = {"reviews": [{"name": n, "index": one.index, "labels": len(one.decisions)} for n, one in held.items()]}
    shown = "\n".join(lines) or "No reviews yet; make one with `ses screen create NAME --index INDEX`."
    say(document, shown, as_json=as_json)


@screen.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Delete it without asking.")
@engine_options
def delete(*, name: str, yes: bool, as_json: bool, **options: Any) -> None:
    """Delete a review with its labels; the index stays."""
    screening = open_library(options).screening
    labels = len(screening.get(name).decisions)
    if not yes and not click.confirm(f"Delete the review {name} with its {labels:,} labels?", err=True):
        tell("Nothing was deleted.")
        return
    screening.delete(name)
    say({"name": name, "deleted": True}, f"The review {name} is deleted.", as_json=as_json)


def _summary(done: LabelReport) -> str:
    parts = [f"Papers labelled: {done.labels:,}"]
    if done.unknown:
        shown = ", ".join(map(str, done.unknown[:5])) + (", ..." if len(done.unknown) > 5 else "")
        parts.append(f"records that are no candidates of the review: {len(done.unknown):,} (line {shown})")
    if done.undecided:
        parts.append(f"records without a decision: {done.undecided:,}")
    if done.rejected:
        parts.append(f"records that can't be read: {done.rejected:,}")
    return "; ".join(parts) + "."
