"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import rich_click as click

from encoders.models.formats import Precision
from encoders.runtimes.registry import RUNTIMES
from encoders.tokens.batching import LongText
from search_plugin.contract.legs import Join
from search_plugin.fusion.fusions import FUSIONS
from search_plugin.pages.page import FORMATS
from search_plugin.ranking.rerankers import RERANKERS
from search_plugin.request import DEFAULTS, Mode

if TYPE_CHECKING:
    from ses.library import Library

F = TypeVar("F", bound=Callable[..., Any])


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return a decorator that adds several options to a command."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


engine_option = click.option(
    "--engine",
    metavar="URL",
    help="Where indexes are kept: embedded:DIR or http://HOST:PORT [default: in the data folder].",
)
engine_options = together(
    engine_option,
    click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else."),
)
runtime_options = together(
    click.option(
        "--runtime",
        metavar="NAME",
        help=f"What runs the model: {', '.join(RUNTIMES)} (whichever is fastest here) [default: onnx].",
    ),
    click.option(
        "--precision",
        type=click.Choice(get_args(Precision)),
        help="Numeric precision; int8 is the fastest on processors with VNNI, and hardly faster than fp32 on others "
        "[default: int8; fp32 or bf16 where a runtime has no int8].",
    ),
    click.option(
        "--long-text",
        type=click.Choice(get_args(LongText)),
        help="The part of a too long text that is encoded: start, both ends, or the mean of its passages "
        "[default: start].",
    ),
)
model_options = together(
    click.option("--model", metavar="NAME", help="Known name, folder or hub id of a BERT-family model."),
    runtime_options,
)


_EXECUTORS = {"client": "ses", "opensearch-pipeline": "engine", "es-retriever": "engine"}
"""The old form of `--join`, which still works."""

page_options = together(
    click.option("--index", metavar="NAME",
                 help="The index to search [default: that of `ses indexes use`, or the only one]."),
    click.option("--mode", type=click.Choice(get_args(Mode)),
                 help="What to search by [default: hybrid; for similar, vector]."),
    click.option("--fusion", metavar="NAME", help=f"{', '.join(FUSIONS)} [default: {DEFAULTS['fusion']}]."),
    click.option("--weight", "weights", multiple=True, metavar="LEG=NUMBER", help="Such as lexical=0.7; repeatable."),
    click.option("--title-boost", type=float, metavar="NUMBER",
                 help="Weight of the title's BM25 beside that of the whole text "
                 f"[default: {DEFAULTS['title_boost']}]."),
    click.option("--tuned", type=click.Path(path_type=Path), metavar="FILE",
                 help="File of settings fitted by `ses eval tune`; other options override it."),
    click.option("--filter", "filters", multiple=True, metavar="EXPR",
                 help="Such as 'year>=2020 and not journal=Nature'; repeatable."),
    click.option("--facet", "facets", multiple=True, metavar="FIELD", help="Count the matches by a field; repeatable."),
    click.option("--sort", metavar="FIELD",
                 help="title, year, or a custom field of numbers or dates; -year for the largest first "
                 "[default: the best first; without words, -year]."),
    click.option("--boost", metavar="FIELD",
                 help="Move papers with a higher forecast a little up, such as impact, or impact=0.1 with a strength "
                 "[default: no boost]."),
    click.option("--size", default=DEFAULTS["size"], show_default=True, metavar="N",
                 help="Hits on the page; 0 for facets alone."),
    click.option("--offset", default=DEFAULTS["offset"], show_default=True, metavar="N", help="Hits before the page."),
    click.option("--window", default=DEFAULTS["window"], show_default=True, metavar="N",
                 help="Candidates per leg; paging ends there."),
    click.option("--exact", is_flag=True, help="Compare with every vector, without an approximate index."),
    click.option("--collapse", default="", metavar="FIELD",
                 help="Show only the best paper for each value of a field, such as journal."),
    click.option("--rerank", default="", metavar="NAME",
                 help=f"Reranker: {', '.join(RERANKERS)} (every leg scores every paper found)."),
    click.option("--join", type=click.Choice(get_args(Join)), default=DEFAULTS["join"], show_default=True,
                 help="Who joins the legs of a hybrid search: ses, or the search engine itself."),
    click.option("--executor", type=click.Choice(tuple(_EXECUTORS)), hidden=True,
                 callback=lambda _context, _option, name: _EXECUTORS.get(name)),
    click.option("--format", "form", type=click.Choice(("text", "json", *FORMATS)), default="text", show_default=True,
                 help="What to print; bibtex and ris are for programs for references."),
    click.option("--json", "as_json", is_flag=True, help="The same as --format json."),
    click.option("--quiet", "-q", is_flag=True, help="Print the hits alone, without notes and summary."),
    click.option("--verbose", "-v", "--explain", "explain", is_flag=True,
                 help="Show each leg's rank, score and contribution, and each stage's time and requests."),
)  # fmt: skip


def open_library(options: Mapping[str, Any]) -> Library:
    """Open the library that the options of a command name."""
    import ses
    from ses.terminal.arguments import settings_of

    return ses.open(**settings_of(options))
