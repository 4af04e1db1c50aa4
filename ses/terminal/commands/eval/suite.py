"""`ses eval suite`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from corpora.errors import InputError
from ses.terminal.options import runtime_options
from ses.terminal.results import say_json, tell

if TYPE_CHECKING:
    from encoders.models.card import ModelCard
    from eval.reports.results import Results
    from eval.suites.base import Bench, Entry, Found
    from ses.settings import Settings


@dataclass(frozen=True, slots=True)
class _System:
    """The system that runs entries: a model, or BM25."""

    label: str
    key: str
    bench: Bench


@click.command()
@click.argument("name")
@click.option("--data", type=click.Path(path_type=Path), help="The folder of the suite's data; smoke needs none.")
@click.option(
    "--manifest",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A TOML file of entries for the suite offline, in place of its own.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME",
    help="A model to measure; repeatable [default: the default model].",
)
@click.option(
    "--entry",
    "parts",
    multiple=True,
    metavar="TEXT",
    help="Run only the entries whose name contains this text; repeatable [default: all].",
)
@runtime_options
@click.option("--report", "file", type=click.Path(path_type=Path), help="Write a report: .md, .html, .tex or .json.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def suite(
    *,
    name: str,
    data: Path | None,
    manifest: Path | None,
    models: Sequence[str],
    parts: Sequence[str],
    file: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Run a suite of protocols: offline, on a folder of real data, or smoke, on a few made-up papers.

    Earlier results of the same model on the same data are taken from the cache. A row is an entry with its measure, a
    column is a system; BM25 has a result wherever words alone can do the task.
    """
    from rich.console import Console

    from eval.reports.registry import check_report
    from eval.reports.tables import print_table
    from eval.suites.manifest import get_suite
    from ses.settings import load_settings

    entries = _chosen(get_suite(name, manifest), parts)
    if data is None and any(entry.files for entry in entries):
        raise InputError(f"Say where the data of the suite {name} is, with --data FOLDER.")
    if file:
        check_report(file)
    settings = load_settings(**flags)
    systems, cards = _systems(settings, models, data or settings.cache_dir)
    found = {system.label: _run(entries, system, settings) for system in systems}
    results = _table(entries, found)
    if file:
        read = sorted({part for entry in entries for part in entry.files})
        _write(name, results, found, cards, [data / part for part in read] if data else [], file, settings)
    if as_json:
        say_json({"suite": name, **results.as_dict()})
        return
    print_table(results.table(), Console())
    took = sum(one.seconds for of_system in found.values() for one in of_system if not one.cached)
    tell(f"{took:,.0f} s, without what was in the cache")


def _chosen(entries: Sequence[Entry], parts: Sequence[str]) -> tuple[Entry, ...]:
    """Return the entries whose names contain any of the parts, all if there are none."""
    for part in parts:
        if not any(part.casefold() in entry.name.casefold() for entry in entries):
            told = "; ".join(entry.name for entry in entries)
            raise InputError(f"No entry of the suite has {part!r} in its name; its entries are: {told}.")
    return tuple(one for one in entries if not parts or any(part.casefold() in one.name.casefold() for part in parts))


def _systems(settings: Settings, models: Sequence[str], data: Path) -> tuple[list[_System], list[ModelCard]]:
    from encoders.encoder import Encoder
    from encoders.registry import DEFAULT_MODEL, find_model
    from eval.embedder import by_encoder
    from eval.suites.base import WORDS, Bench
    from ses.loaded_model import make_encoder

    systems, cards = [], []
    for model in models or (settings.model or DEFAULT_MODEL,):
        encoder = make_encoder(settings, find_model(model))
        made_by = encoder.runtime if isinstance(encoder, Encoder) else f"{settings.runtime}-{settings.precision}"
        bench = Bench(data, encoder, by_encoder(encoder), settings.data_dir / "suites")
        systems.append(_System(encoder.card.name, f"{encoder.card.fingerprint} {made_by}", bench))
        cards.append(encoder.card)
    return [_System(WORDS, WORDS, systems[0].bench), *systems], cards


def _run(entries: Sequence[Entry], system: _System, settings: Settings) -> list[Found]:
    from eval.suites.base import run_suite

    found = []
    for one in run_suite(entries, system.bench, system.key, settings.cache_dir / "eval"):
        told = "from the cache" if one.cached else f"{one.seconds:,.0f} s"
        tell(f"{system.label}: {one.entry.name}, {told}", err=True)
        found.append(one)
    return found


def _table(entries: Sequence[Entry], found: Mapping[str, Sequence[Found]]) -> Results:
    from eval.outcome import Outcome
    from eval.reports.results import Results

    rows = {}
    for entry in entries:
        outcomes = {label: one.outcome for label, of_system in found.items() for one in of_system if one.entry is entry}
        cells = {label: outcome.cells[entry.measure] for label, outcome in outcomes.items()}
        units = {label: of for label, one in outcomes.items() if (of := one.per_unit.get(entry.measure))}
        counts = dict(next(iter(reversed(outcomes.values()))).counts) if outcomes else {}
        rows[f"{entry.name}: {entry.measure}"] = Outcome(cells, units, counts)
    return Results("entry", rows, unit="queries, papers, reviews or reviewers")


def _write(
    name: str,
    results: Results,
    found: Mapping[str, Sequence[Found]],
    cards: Sequence[ModelCard],
    data: Sequence[Path],
    file: Path,
    settings: Settings,
) -> None:
    from corpora.installed import installed_version
    from eval.reports.provenance import gather_provenance
    from eval.reports.registry import write_report
    from eval.reports.results import results_report

    provenance = gather_provenance(
        data=data,
        cards=cards,
        engine=f"tantivy {installed_version('tantivy')}, embedded",
        runtime=f"{settings.runtime or 'onnx'}-{settings.precision or 'int8'}",
        # The first entry makes the index and the vectors for all, so plots of quality over time would mislead.
        settings={f"seconds of {label}": f"{sum(one.seconds for one in part):,.0f}" for label, part in found.items()},
    )
    write_report(results_report(f"The suite {name}", results, provenance, by_system=True), file)
