"""`ses show`."""

from __future__ import annotations

import rich_click as click

from ses.terminal.options import engine_options, open_index
from ses.terminal.printing import show_papers


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="ID...")
@click.option(
    "--index", metavar="NAME", help="The index that holds them [default: that of `ses indexes use`, or the only one]."
)
@engine_options
def show(names: tuple[str, ...], index: str | None, engine: str | None, as_json: bool) -> None:  # noqa: FBT001 - click passes flags so
    """Show whole records of papers, by id, DOI, PMID, PMCID, arXiv id or any other identifier."""
    opened = open_index({"engine": engine}, index)
    papers = {paper.id: paper for name in names for paper in opened.find(name)}
    show_papers(list(papers.values()), as_json=as_json)
