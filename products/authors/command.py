"""`ses authors`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rich_click as click

import ses
from corpora.outgoing import in_a_line
from ses.terminal.options import PATH, described_options, json_option, model_options
from ses.terminal.results import say, write_csv


@click.group()
def authors() -> None:
    """Group papers under one name by author."""


@authors.command()
@click.option(
    "--path",
    required=True,
    type=PATH,
    metavar="FILE",
    help="CSV or JSON lines: id, title, abstract, name or block, and author where it is known.",
)
@described_options(ses.cluster_authors)
@click.option("--out", type=PATH, metavar="FILE", help="Write id, block, cluster and title as CSV.")
@json_option
@model_options
def cluster(*, path: Path, threshold: float, out: Path | None, as_json: bool, **options: Any) -> None:
    """Group the papers under each author's name by person, from the papers' vectors and the names themselves.

    Rows are compared within a block: the family name with the first initial, unless the file has blocks. Papers whose
    names contradict each other are kept apart. Where all true authors are given, B-cubed is measured.
    """
    from eval.reports.report import counted

    given = {name: options[name] for name in ("model", "runtime", "precision", "long_text") if options[name]}
    found = ses.cluster_authors(path, threshold=threshold, **given)
    if out:
        rows = ((name, block, number, found.titles[name]) for name, (block, number) in found.clusters.items())
        write_csv(out, ("id", "block", "cluster", "title"), rows)
    score, people = found.score, len(set(found.clusters.values()))
    document = {
        "clusters": {
            name: {"block": block, "cluster": number, "title": found.titles[name]}
            for name, (block, number) in found.clusters.items()
        },
        "b_cubed": {"precision": score.precision, "recall": score.recall, "f1": score.f1} if score else None,
        "best_threshold": found.fitted,
    }
    # Tabs, which `say` takes out of lines, stand between the columns.
    clusters = [] if out else sorted(found.clusters.items(), key=lambda one: one[1])
    lines = [
        f"{in_a_line(block)}\t{number}\t{in_a_line(name)}\t{in_a_line(found.titles[name])}"
        for name, (block, number) in clusters
    ]
    counts = counted(len(found.clusters), "papers"), counted(found.blocks, "blocks"), counted(people, "authors")
    lines.append("{} in {}: {}".format(*counts))
    if score:
        measured = f"precision {score.precision:.3f}, recall {score.recall:.3f}, F1 {score.f1:.3f}"
        lines.append(f"B-cubed: {measured}; on these papers F1 is largest at --threshold {found.fitted:g}")
    say(document, "\n".join(lines), as_json=as_json)
