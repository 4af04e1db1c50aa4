"""`ses authors`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from ses.options import model_options

if TYPE_CHECKING:
    from ses.authors import AuthorClusters


@click.group()
def authors() -> None:
    """Group papers under one name by author."""


@authors.command()
@click.option(
    "--path",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="CSV or JSON lines: id, title, abstract, name or block, and author where it is known.",
)
@click.option(
    "--threshold",
    default=0.72,
    show_default=True,
    metavar="NUMBER",
    help="Distance by cosine up to which clusters are joined; a smaller one makes more authors.",
)
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write id, block and cluster as CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
@model_options
def cluster(*, path: Path, threshold: float, out: Path | None, as_json: bool, **options: Any) -> None:
    """Group the papers under each author's name by person, from the papers' vectors and the names themselves.

    Rows are compared within a block: the family name with the first initial, unless the file has blocks. Papers whose
    names contradict each other are kept apart. Where all true authors are given, B-cubed is measured.
    """
    import ses

    given = {name: options[name] for name in ("model", "runtime", "precision", "long_text") if options[name]}
    found = ses.cluster_authors(path, threshold=threshold, **given)
    if out:
        _write(out, found)
    if as_json:
        import orjson

        score = found.score
        told = {
            "clusters": {name: {"block": block, "cluster": number} for name, (block, number) in found.clusters.items()},
            "b_cubed": {"precision": score.precision, "recall": score.recall, "f1": score.f1} if score else None,
            "best_threshold": found.fitted,
        }
        click.echo(orjson.dumps(told, option=orjson.OPT_INDENT_2))
        return
    if not out:
        for name, (block, number) in found.clusters.items():
            click.echo(f"{block}\t{number}\t{name}")
    people = len(set(found.clusters.values()))
    click.echo(f"{len(found.clusters):,} papers in {found.blocks:,} blocks: {people:,} authors")
    if found.score:
        told_score = f"precision {found.score.precision:.3f}, recall {found.score.recall:.3f}, F1 {found.score.f1:.3f}"
        click.echo(f"B-cubed: {told_score}; on these papers F1 is largest at --threshold {found.fitted:g}")


def _write(path: Path, found: AuthorClusters) -> None:
    import csv

    from corpora.errors import UnavailableError

    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "block", "cluster"])
            writer.writerows((name, block, number) for name, (block, number) in found.clusters.items())
    except OSError as error:
        raise UnavailableError(f"{path} can't be written: {error.strerror}.") from error
