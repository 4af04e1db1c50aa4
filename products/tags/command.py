"""`ses tags`."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import rich_click as click

from corpora.errors import InputError, require
from corpora.outgoing import aligned, cell
from products.tags.api import Tags
from products.tags.tagger import Tagger
from products.tags.training import TaggerOptions
from ses.terminal.options import described_options, engine_options, given_of, html_option, open_library, together
from ses.terminal.progress import progress_on_stderr
from ses.terminal.results import say, tell, write_page

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_SHOWN = 15


_index_option = click.option("--index", metavar="NAME", help="The index [default: the default index].")
_label_options = together(
    click.option("--from", "field", metavar="FIELD", help="Field of the index whose values are the labels."),
    click.option("--labels", type=_FILE, metavar="FILE", help="Table of labels that a person gave: id, label, value."),
)


@click.group()
def tags() -> None:
    """Tag papers by linear models on their vectors and words: train, apply, measure (docs/tags.md)."""


@tags.command()
@click.argument("name")
@_index_option
@_label_options
@click.option(
    "--names", is_flag=True, help="Train on nothing: compare papers with the names of the labels in --hierarchy."
)
@click.option(
    "--hierarchy", type=_FILE, metavar="FILE", help="Labels and which are broader: SKOS, MeSH trees, CSV or JSON."
)
@described_options(Tags.train)
@described_options(TaggerOptions)
@engine_options
def train(*, name: str, index: str | None, as_json: bool, **options: Any) -> None:
    """Train a tagger on the vectors and words of an index's papers; nothing is encoded.

    NAME is that of the tagger and of the field of its tags. Labels come from a field of the index (--from), from a
    person (--labels), or are only named (--names).
    """
    library = open_library(options)
    opened = index or library.default().name
    if options["names"]:
        if not options["hierarchy"] or options["field"] or options["labels"] or options["format"]:
            raise InputError("To compare papers with the names of labels, give --names and --hierarchy alone.")
        tagger, notes = library.tags.from_names(name, opened, options["hierarchy"]), tuple[str, ...]()
    else:
        given = {name: options[name] for name in ("hierarchy", "format")} | given_of(TaggerOptions, options)
        with progress_on_stderr() as progress:
            tagger, notes = library.tags.train(name, opened, _labels(options), progress=progress, **given)
    for note in notes:
        tell(note, err=True)
    _show(tagger, as_json=as_json)


@tags.command(name="list")
@engine_options
def list_(*, as_json: bool, **options: Any) -> None:
    """List the taggers, own ones and those that come with ses."""
    library = open_library(options)
    found = [library.tags[name] for name in library.tags]
    lines = [f"{one.name}: {len(one.labels):,} labels, {one.source}{_f1(one)}" for one in found]
    document = [{"name": one.name, "labels": len(one.labels), "vectors": str(one.source)} for one in found]
    say({"taggers": document}, lines or ["No taggers yet; train one with `ses tags train`."], as_json=as_json)


@tags.command()
@click.argument("name")
@_index_option
@click.option("--filter", "filters", multiple=True, metavar="EXPR", help="Papers to tag [default: all]; repeatable.")
@engine_options
def apply(*, name: str, index: str | None, filters: Sequence[str], as_json: bool, **options: Any) -> None:
    """Tag the papers of an index; nothing is encoded.

    The tags are values of the field NAME, for filters and facets. Running it again replaces them.
    """
    library = open_library(options)
    with progress_on_stderr() as progress:
        done = library.tags.apply(name, index or library.default().name, filter=filters, progress=progress)
    counted = ", ".join(f"{tag} ({count:,})" for tag, count in list(done.counts.items())[:_SHOWN])
    more = len(done.counts) - _SHOWN
    lines = [
        f"Index {done.index}: {done.tagged:,} of {done.papers:,} papers have a tag in the field {name}; "
        f"{done.written:,} changed, in {done.seconds:.1f} s",
        f"{name}: {counted or 'no tags'}" + (f", and {more:,} more" if more > 0 else ""),
    ]
    say(done.to_dict(), lines, as_json=as_json)


@tags.command()
@click.argument("name")
@_index_option
@_label_options
@html_option
@engine_options
def report(*, name: str, index: str | None, html: Path | None, as_json: bool, **options: Any) -> None:
    """Show how well a tagger does for each label.

    It is measured on the papers that were held out in training, or on others (--from, --labels).
    """
    from eval.reports.report import gather_provenance
    from products.tags.report import tagger_report

    library = open_library(options)
    if options["field"] or options["labels"]:
        tagger = library.tags.measure(name, index or library.default().name, _labels(options))
    else:
        tagger = library.tags[name]
    if html:
        write_page(html, tagger_report(tagger, gather_provenance(settings={"vectors": str(tagger.source)})))
    _show(tagger, as_json=as_json)


@tags.command()
@click.argument("name")
@_index_option
@_label_options
@described_options(Tags.suggest)
@engine_options
def suggest(*, name: str, index: str | None, count: int, as_json: bool, **options: Any) -> None:
    """Suggest which papers a person should label next: those of most doubt that differ from each other.

    Prints a table. Write yes or no into its column value, and give it to `ses tags train --labels`. Papers that are
    labelled already (--from, --labels) are left out.
    """
    library = open_library(options)
    opened = index or library.default().name
    labelled = _labels(options) if options["field"] or options["labels"] else None
    found = library.tags.suggest(name, opened, count=count, labelled=labelled)
    papers = library[opened].index.papers([one.id for one in found])
    rows = [
        [one.id, one.label, "", f"{one.probability:.3f}", papers[one.id].title] for one in found if one.id in papers
    ]
    head = ["id", "label", "value", "probability", "title"]
    if as_json:
        say({"papers": [dict(zip(head, row, strict=True)) for row in rows]}, [], as_json=True)
        return
    csv.writer(sys.stdout, lineterminator="\n").writerows([head, *(map(cell, row) for row in rows)])


@tags.command()
@click.argument("name")
@click.argument("papers", nargs=-1, required=True, metavar="PAPER...")
@_index_option
@engine_options
def explain(*, name: str, papers: Sequence[str], index: str | None, as_json: bool, **options: Any) -> None:
    """Say why papers get their tags: how likely each is, and the words of the paper that speak most for it."""
    library = open_library(options)
    found = library.tags.explain(name, index or library.default().name, papers)
    lines = []
    for paper in papers:
        lines.append(paper if found.get(paper) else f"{paper}: {'no tags' if paper in found else 'not in the index'}")
        lines += [
            f"  {one.label} {one.probability:.3f}" + (f" ({', '.join(one.words)})" if one.words else "")
            for one in found.get(paper, ())
        ]
    say({"papers": {id_: [asdict(one) for one in tags] for id_, tags in found.items()}}, lines, as_json=as_json)


@tags.command()
@click.argument("name")
@_index_option
@click.option("--labels", type=_FILE, required=True, metavar="FILE", help="Table of labels that a person gave.")
@engine_options
def record(*, name: str, index: str | None, labels: Path, as_json: bool, **options: Any) -> None:
    """Write labels that a person gave into an index, in the field NAME_by_person, apart from those of the tagger."""
    library = open_library(options)
    opened = index or library.default().name
    missing = library.tags.record(name, opened, labels)
    lines = [f"Labels are written to the field {name}_by_person of the index {opened}."]
    if missing:
        lines.append(f"Papers that the index does not hold: {len(missing):,}, such as {missing[0]}")
    say({"index": opened, "missing": missing}, lines, as_json=as_json)


def _labels(options: Mapping[str, Any]) -> str | Path:
    given = [one for one in (options["field"], options["labels"]) if one]
    require(len(given) == 1, "Say where the labels come from, with one of --from FIELD and --labels FILE.")
    chosen: str | Path = given[0]
    return chosen


def _f1(tagger: Tagger) -> str:
    return f", macro F1 {tagger.measures.macro_f1:.3f}" if tagger.measures else ", not measured"


def _show(tagger: Tagger, *, as_json: bool) -> None:
    from products.tags.report import label_rows, summary_lines

    lines = list(summary_lines(tagger))
    if tagger.measures:
        lines += aligned(label_rows(tagger.measures), text_columns=1)
    measures = asdict(tagger.measures) if tagger.measures else None
    say(
        {"name": tagger.name, "labels": list(tagger.labels), "vectors": str(tagger.source), "measures": measures},
        lines,
        as_json=as_json,
    )
