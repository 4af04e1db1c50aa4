"""Prints a page of hits as text, or in a format for other programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from corpora.errors import InputError, require
from corpora.paper import is_empty
from search_plugin.contract.plan import LEXICAL
from search_plugin.contract.schema import SPARSE
from search_plugin.pages.hit import unshown_sentence
from search_plugin.pages.page import FORMATS
from search_plugin.request import MAX_WINDOW
from ses.terminal.results import linked, pass_on, say_json, show, styled, tell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from corpora.custom import FieldValue
    from corpora.paper import Paper
    from search_plugin.contract.legs import Facets
    from search_plugin.contract.schema import Field
    from search_plugin.pages.highlights import Snippet
    from search_plugin.pages.hit import Hit
    from search_plugin.pages.page import Page
    from search_plugin.ranking.tokens import TokenPart
    from search_plugin.request import PageOptions
    from search_plugin.understanding.queries import TranslatedQuery
    from ses.indexes.open_index import OpenIndex
    from ses.remote.index import RemoteIndex

_AUTHORS_SHOWN = 3
_LONGEST_VALUE = 200
_VERSIONS_SHOWN = 5


def show_page(
    page: Page,
    options: Mapping[str, Any],
    tokens: Mapping[str, Sequence[TokenPart]] | None = None,
    fields: Sequence[Field] = (),
) -> None:
    """Print a page on standard output; in another format than text, its notes on standard error.

    Args:
        page: The page.
        options: Options of `page_options`: `form` and `as_json`; `explain`, for each leg's rank, raw score and
            contribution, and each stage's time and requests; `quiet`, for no notes and no summary.
        tokens: Tokens of sparse vectors that explain the hits, by id; only text shows them.
        fields: Fields that the index adds to papers: text shows a forecast as a sentence, and no places on a map.
    """
    form = "json" if options["as_json"] else options["form"]
    notes = () if options["quiet"] else page.notes
    if form == "text":
        _show_text(page, notes, options, tokens or {}, fields)
        return
    if form != "json":  # which holds them
        for note in notes:
            tell(note, err=True)
    pass_on(page.format(form))


def added_fields(opened: OpenIndex | RemoteIndex) -> Sequence[Field]:
    """Return the fields that an index adds to papers, also that of a service."""
    local = getattr(opened, "index", None)
    schema = local.schema if local else cast("RemoteIndex", opened).entry().facts().schema
    return schema.added


def show_all(opened: OpenIndex, query: str, given: PageOptions, options: Mapping[str, Any]) -> None:
    """Print all papers that match by words, in a format for other programs, and their number on standard error.

    Papers near in meaning are among them only if the user names a mode. `given` are the options of the search that the
    user gave, and `options` those of `show_page`. Raises `InputError` if the format is for people, or more papers would
    be compared for `collapse` than are ranked.
    """
    form = options["form"]
    require(
        form in FORMATS and not options["as_json"],
        "All papers are printed for other programs",
        f"choose with --format one of {', '.join(FORMATS)}",
    )
    searched: PageOptions = {"mode": "lexical", **given} if query.strip() else given
    without_hits: PageOptions = {**searched, "size": 0, "window": MAX_WINDOW}
    large_pages: PageOptions = {"size": 1_000, **searched}
    head = opened.search(query, **without_hits)
    if searched.get("collapse") and max(head.found.values(), default=0) >= MAX_WINDOW:
        raise InputError(f"More than {MAX_WINDOW:,} papers match, too many to collapse", "leave out <collapse>")
    hits = list(opened.iterate(query, **large_pages))
    if not options["quiet"]:
        for note in head.notes:
            tell(note, err=True)
        tell(f"{len(hits):,} papers", err=True)
    pass_on(FORMATS[form](hits))


def show_translation(translated: TranslatedQuery, *, as_json: bool) -> None:
    """Print the condition that a query is, and what could not be read."""
    if as_json:
        say_json(asdict(translated))
        return
    for note in translated.notes:
        tell(note)
    show(translated.condition or "The query is plain words, which rank papers and restrict nothing.")


def _show_text(
    page: Page,
    notes: Sequence[str],
    options: Mapping[str, Any],
    tokens: Mapping[str, Sequence[TokenPart]],
    fields: Sequence[Field],
) -> None:
    for note in notes:
        show(styled(note, "yellow"))
    for hit in page.hits:
        _show_hit(hit, fields, explain=options["explain"])
        if parts := tokens.get(hit.id):
            listed = ", ".join(f"{part.token} {part.value:.4f}" for part in parts)
            show(styled(f"     tokens of {SPARSE}: {listed}", "cyan"))
    if page.facets:
        _show_facets(page.facets)
    if not options["quiet"]:
        if page.size and not page.hits:
            words = "other words, " if page.query else ""
            show(f"Nothing found here: try {words}a wider --filter, or a smaller --offset.")
        show(styled(_footer(page), dim=True))
    if options["explain"]:
        for stage, spent in page.milliseconds.items():
            show(styled(f"{stage}: {spent:.1f} ms", "cyan"))
            for request in page.requests.get(stage, ()):
                show(styled(f"  {request}", "cyan"))


def _show_hit(hit: Hit, fields: Sequence[Field], *, explain: bool) -> None:
    paper = hit.paper
    title = next((marked(snippet) for snippet in hit.snippets if snippet.field == "title"), paper.title)
    mark = styled("[retracted] ", "red", bold=True) if paper.retracted else ""
    show(f"{styled(f'{hit.rank:3}. ', bold=True)}{mark}{title}")
    authors = "; ".join(paper.authors[:_AUTHORS_SHOWN]) + (" et al." if len(paper.authors) > _AUTHORS_SHOWN else "")
    facts = [
        str(paper.year) if paper.year else "",
        paper.venue,
        authors,
        paper.id,
        linked(hit.link) if hit.link else "",
    ]
    show(styled("     " + " · ".join(fact for fact in facts if fact), dim=True))
    if hit.known_by:
        show(styled(f"     found by its {hit.known_by}", "green"))
    if added := " · ".join(_added(paper.extra, fields)):
        show(styled(f"     {added}", dim=True))
    for snippet in hit.snippets:
        if snippet.field == "abstract":
            show(f"     {marked(snippet)}")
    if nearest := unshown_sentence(hit):
        show(f"     {styled('nearest in meaning:', dim=True)} {nearest}")
    if hit.weak:
        show(styled("     weak match", "yellow"))
    if behind := _behind(hit):
        show(styled(f"     {behind}", dim=True))
    if explain:
        show(styled(f"     score {hit.score:.4f}", "cyan"))
        for leg, part in hit.legs.items():
            line = f"     {leg}: rank {part.rank}, raw score {part.raw:.4f}, gives {part.value:.4f}"
            show(styled(line, "cyan"))


def _behind(hit: Hit) -> str:
    """Return what a hit is shown for beside itself; empty if nothing."""
    if hit.versions:
        return f"{1 + len(hit.versions)} versions, also {'; '.join(_versions(hit))}"
    return f"and {hit.collapsed:,} more like it in that field" if hit.collapsed else ""


def _versions(hit: Hit) -> Iterator[str]:
    """Yield the other versions of a hit by id, with what tells them apart."""
    for version in hit.versions[:_VERSIONS_SHOWN]:
        facts = [str(version.year) if version.year else "", version.venue, "retracted" if version.retracted else ""]
        known = ", ".join(fact for fact in facts if fact)
        yield f"{version.id} ({known})" if known else version.id
    if (more := len(hit.versions) - _VERSIONS_SHOWN) > 0:
        retracted = any(version.retracted for version in hit.versions[_VERSIONS_SHOWN:])
        yield f"and {more} more{', with a retracted one' if retracted else ''}"


def _added(extra: Mapping[str, FieldValue], fields: Sequence[Field]) -> Iterator[str]:
    """Yield the added values of a paper as people read them: a forecast with its interval, no coordinates of topics."""
    kinds = {(field.name, field.kind, field.origin) for field in fields}
    forecast = {
        name: (extra.get(f"{name}_low"), extra.get(f"{name}_high"))
        for name, _, origin in kinds
        if origin == "forecast" and (f"{name}_low", "number", origin) in kinds
    }
    hidden = {f"{name}_{end}" for name in forecast for end in ("low", "high")}
    for name, kind, origin in kinds:
        places = (f"{name}_x", f"{name}_y")
        if kind == "keyword" and all((place, "number", origin) in kinds for place in places):
            hidden.update(places)
    for name, value in extra.items():
        low, high = forecast.get(name, (None, None))
        if isinstance(low, int | float) and isinstance(high, int | float):
            yield (
                f"{name}: forecast to be cited more than {value:.0f}% of papers of its field and year "
                f"({low:.0f} to {high:.0f})"
            )
        elif name not in hidden:
            yield f"{name}: {_value(value)}"


def _value(value: FieldValue) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    shown = "yes" if value is True else str(value)
    return shown if len(shown) <= _LONGEST_VALUE else f"{shown[: _LONGEST_VALUE - 1]}…"


def marked(snippet: Snippet) -> str:
    """Return a snippet with its matches in bold."""
    parts, done = [], 0
    for start, end in snippet.spans:
        parts += [snippet.text[done:start], styled(snippet.text[start:end], "yellow", bold=True)]
        done = end
    return "".join([*parts, snippet.text[done:]])


def _show_facets(facets: Facets) -> None:
    for field, counts in facets.counts.items():
        listed = ", ".join(f"{value} ({count:,})" for value, count in counts) or "no values"
        show(f"{styled(f'{field}: ', bold=True)}{listed}")
    show(styled(f"counted over {_counted(facets.matches, 'paper')}: {facets.counted}", dim=True))


def _footer(page: Page) -> str:
    unranked = "joined by engine" if page.joined_by == "engine" else "looked up"
    legs = ", ".join(_found_by(page.found)) or unranked
    if LEXICAL in page.found and page.matches is not None and page.mode == "hybrid":
        legs = f"{page.matches:,} by words, {page.near:,} near in meaning"
    listing = page.mode == "listing"
    # One that stands for several, as where they are collapsed, is one candidate.
    papers = (page.matches or 0) + page.near
    behind = f" for {_counted(papers, 'paper')}" if papers > page.candidates else ""
    found = _counted(page.candidates, "paper" if listing else "candidate") + ("" if listing else f"{behind} ({legs})")
    order = f", sorted by {page.sort.removeprefix('-')}, {_direction(page.sort)} first," if page.sort else ""
    spent = sum(page.milliseconds.values())
    shown = f"{page.hits[0].rank} to {page.hits[-1].rank} of " if page.hits else ""
    return f"{shown}{found}{order} in index {page.index}, {spent:.0f} ms"


def _found_by(found: Mapping[str, int]) -> Iterator[str]:
    """Yield how many papers each leg found; several vector legs are named by their task formats."""
    for leg, count in found.items():
        if leg == LEXICAL:
            yield f"{count:,} by words"
        else:
            yield f"{count:,} by meaning" + (f" ({leg})" if len(found.keys() - {LEXICAL}) > 1 else "")


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _direction(sort: str) -> str:
    return "the largest" if sort.startswith("-") else "the smallest"


def show_papers(papers: Sequence[Paper], *, as_json: bool) -> None:
    """Print whole papers on standard output, every attribute that has a value, or all as one JSON list."""
    if as_json:
        say_json([asdict(paper) for paper in papers])
        return
    for place, paper in enumerate(papers):
        if place:
            show()
        own = {name: value for name, value in asdict(paper).items() if name not in ("extra", "publication")}
        held = {**own, **(asdict(paper.publication) if paper.publication else {}), **paper.extra}
        for name, value in held.items():
            if not is_empty(value):
                text = "; ".join(value) if isinstance(value, tuple) else "yes" if value is True else str(value)
                show(f"{styled(f'{name}: ', bold=True)}{text}")
