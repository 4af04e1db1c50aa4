"""`ses support`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

from search_plugin.pages.page import FORMATS
from ses.indexes.open_index import OpenIndex
from ses.terminal.options import described_options, engine_option, given_of, index_option, model_options, open_index
from ses.terminal.results import linked, pass_on, say_json, show, styled, tell

if TYPE_CHECKING:
    from products.support.support import Support, SupportingPaper


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="SENTENCE")
@index_option
@described_options(OpenIndex.support, "size", "sentences", "filter", "mode")
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json", *FORMATS)),
    default="text",
    show_default=True,
    help="What to print; bibtex, ris and csl (CSL JSON) are for programs for references.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@model_options
@engine_option
def support(words: tuple[str, ...], index: str | None, *, form: str, as_json: bool, **options: Any) -> None:
    """Find papers with sentences near in meaning to SENTENCE, and show these sentences.

    They may support it, so that it can cite them; they may also contradict it, which only a reader sees.
    """
    found = open_index(options, index).support(" ".join(words), **given_of(OpenIndex.support, options))
    if as_json or form == "json":
        say_json(found.to_dict())
    elif form == "text":
        _show(found)
    else:
        for note in found.notes:
            tell(note, err=True)
        pass_on(found.format(form))


def _show(found: Support) -> None:
    for note in found.notes:
        show(styled(note, "yellow"))
    for paper in found.papers:
        _show_paper(paper)
    if not found.papers:
        show("No paper has a sentence to compare: try other words, or a wider --filter.")
        return
    papers = f"{found.read:,} paper" + ("" if found.read == 1 else "s")
    sentences = f"{found.compared:,} sentence" + ("" if found.compared == 1 else "s")
    show(styled(f"the nearest of {sentences} of {papers} in index {found.index}", dim=True))


def _show_paper(found: SupportingPaper) -> None:
    paper = found.hit.paper
    mark = styled("[retracted] ", "red", bold=True) if paper.retracted else ""
    show(f"{styled(f'{found.rank:3}. ', bold=True)}{mark}{paper.title}")
    link = linked(found.hit.link) if found.hit.link else ""
    facts = [str(paper.year) if paper.year else "", paper.venue, paper.id, link]
    show(styled("     " + " · ".join(fact for fact in facts if fact), dim=True))
    for one in found.sentences:
        where = "title: " if one.field == "title" else ""
        show(f"     {styled(f'{one.score:.3f}', 'cyan')} {where}{one.text}")
