"""Options of the commands that search, or find papers like one: what is searched, and how the hits are shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import rich_click as click

from search_plugin.pages.page import FORMATS
from search_plugin.request import SAME_WORK, PageOptions, RankingOptions, search_options
from ses.settings import Settings
from ses.terminal.options import described_options, given_of, index_option, option_from, together

F = TypeVar("F", bound=Callable[..., Any])

_output_options = together(
    click.option(
        "--format",
        "form",
        type=click.Choice(("text", "json", *FORMATS)),
        default="text",
        show_default=True,
        help="What to print; bibtex, ris and csl (CSL JSON) are for programs for references.",
    ),
    click.option("--json", "as_json", is_flag=True, help="The same as --format json."),
    click.option("--quiet", "-q", is_flag=True, help="Print the hits alone, without notes and summary."),
    click.option(
        "--verbose",
        "-v",
        "--explain",
        "explain",
        is_flag=True,
        help="Show each leg's rank, score and contribution, and each stage's time and requests.",
    ),
)


def page_options(*, search: bool) -> Callable[[F], F]:
    """Return a decorator that adds the options of a page of hits, and those of its printing; see `query_options`."""
    return together(query_options(search=search), _output_options)


def query_options(*, search: bool) -> Callable[[F], F]:
    """Return a decorator that adds the options of what is searched and shown, as `search_options` describes them.

    Without `search`, the command finds papers like one. What the user gave is read by `given_options`.
    """
    described = [one for one in search_options() if one.typed and (search or not one.search_only)]
    return together(index_option, *map(option_from, described), described_options(Settings, "tuned"))


def ranking_options(function: F) -> F:
    """Add the options that decide which papers come first, as `RankingOptions` describes them."""
    return together(*map(option_from, search_options(RankingOptions)))(function)


def given_options(options: Mapping[str, Any]) -> PageOptions:
    """Return the options of a page that the user gave to a command."""
    chosen: PageOptions = given_of(PageOptions, options)  # type: ignore[assignment]  # its own options
    return chosen


def given_page_options(options: Mapping[str, Any]) -> PageOptions:
    """Return the options of a page as `given_options` does; in text, versions of a work are one hit unless told."""
    given = given_options(options)
    if options["form"] == "text" and not options["as_json"]:
        given.setdefault("collapse", SAME_WORK)
    return given
