"""Suites of protocols, run by several models and by BM25."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.errors import InputError
from encoders.models.card import ModelCard
from eval.embedder import by_encoder
from eval.outcome import Outcome
from eval.reports.report import gather_provenance
from eval.reports.results import Results, results_report
from eval.suites.base import WORDS, Bench, Entry, Found, run_suite
from ses.settings import Settings


@dataclass(frozen=True, slots=True)
class SuiteResults:
    """What a suite found.

    Attributes:
        name: Name of the suite.
        results: The table: a row for each entry, a column for each system.
        found: The results of entries, by system.
        cards: Cards of the models.
        data: Files and folders that were read.
        settings: Settings that the models ran with.
    """

    name: str
    results: Results
    found: Mapping[str, Sequence[Found]]
    cards: Sequence[ModelCard]
    data: Sequence[Path]
    settings: Settings

    @property
    def seconds(self) -> float:
        """How long the entries took that are not from the cache."""
        return sum(one.seconds for of_system in self.found.values() for one in of_system if not one.cached)

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain values, ready for JSON."""
        return {"suite": self.name, **self.results.as_dict()}

    def write_report(self, path: Path) -> None:
        """Write a report; errors as of `eval.reports.forms.write_report`."""
        from corpora.installed import installed_version
        from eval.reports.forms import write_report

        # The first entry makes the index and the vectors for all, so plots of quality over time would mislead.
        seconds = {
            f"seconds of {label}": f"{sum(one.seconds for one in part):,.0f}" for label, part in self.found.items()
        }
        provenance = gather_provenance(
            data=self.data,
            cards=self.cards,
            engine=f"tantivy {installed_version('tantivy')}, embedded",
            runtime=f"{self.settings.runtime or 'onnx'}-{self.settings.precision or 'int8'}",
            settings=seconds,
        )
        write_report(results_report(f"The suite {self.name}", self.results, provenance, by_system=True), path)


def choose_entries(entries: Sequence[Entry], parts: Sequence[str]) -> tuple[Entry, ...]:
    """Return the entries whose names contain any of the parts, all if there are none."""
    for part in parts:
        if not any(part.casefold() in entry.name.casefold() for entry in entries):
            names = "; ".join(entry.name for entry in entries)
            raise InputError(f"No entry of the suite has {part!r} in its name; its entries are: {names}.")
    return tuple(one for one in entries if not parts or any(part.casefold() in one.name.casefold() for part in parts))


def run_entries(
    name: str,
    entries: Sequence[Entry],
    data: Path | None,
    models: Sequence[str],
    settings: Settings,
    report: Callable[[str, Found], None],
) -> SuiteResults:
    """Run the entries of a suite by each model, and by BM25 wherever words alone can do the task.

    If no model is named, it is that of the settings, else the default one. `report` receives each result, with the name
    of its system. Earlier results of the same model on the same data are taken from the cache.
    """
    from encoders.encoder import Encoder
    from encoders.registry import find_model
    from ses.models.loaded_model import make_encoder

    found: dict[str, list[Found]] = {}
    cards = []

    def run(label: str, key: str, bench: Bench) -> None:
        found[label] = []
        for one in run_suite(entries, bench, key, settings.cache_dir / "eval"):
            report(label, one)
            found[label].append(one)

    for model in models or (settings.model_name,):
        encoder = make_encoder(settings, find_model(model))
        made_by = encoder.runtime if isinstance(encoder, Encoder) else f"{settings.runtime}-{settings.precision}"
        bench = Bench(data or settings.cache_dir, encoder, by_encoder(encoder), settings.data_dir / "suites")
        if not found:
            run(WORDS, WORDS, bench)
        run(encoder.card.name, f"{encoder.card.fingerprint} {made_by}", bench)
        cards.append(encoder.card)
    read = sorted({part for entry in entries for part in entry.files})
    return SuiteResults(
        name, _table(entries, found), found, cards, [data / part for part in read] if data else [], settings
    )


def _table(entries: Sequence[Entry], found: Mapping[str, Sequence[Found]]) -> Results:
    rows = {}
    for entry in entries:
        outcomes = {label: one.outcome for label, of_system in found.items() for one in of_system if one.entry is entry}
        cells = {label: outcome.cells[entry.measure] for label, outcome in outcomes.items()}
        units = {label: of for label, one in outcomes.items() if (of := one.per_unit.get(entry.measure))}
        counts = dict(next(iter(reversed(outcomes.values()))).counts) if outcomes else {}
        rows[f"{entry.name}: {entry.measure}"] = Outcome(cells, units, counts)
    return Results("entry", rows, unit="queries, papers, reviews or reviewers")
