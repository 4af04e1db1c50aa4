"""`ses eval tune`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from corpora.errors import InputError
from ses.commands.eval.collection import collection_options, indexed, open_collection
from ses.options import engine_options, model_options

if TYPE_CHECKING:
    from eval.reports.report import Report
    from eval.retrieval.tuning import Fit


@click.command()
@collection_options
@click.option(
    "--output",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="File for the settings, which `ses search --tuned` takes.",
)
@click.option("--test-split", metavar="NAME", help="Also measure the settings on this split, which has no say in them.")
@click.option("--measure", default="nDCG@10", show_default=True, metavar="NAME", help="What to maximize.")
@click.option("--folds", default=5, show_default=True, type=click.IntRange(2, 50), help="Inner and outer.")
@click.option("--seed", default=0, show_default=True, help="Of the folds.")
@model_options
@engine_options
def tune(
    output: Path,
    test_split: str | None,
    measure: str,
    folds: int,
    seed: int,
    as_json: bool,  # noqa: FBT001 - click passes flags so
    **options: Any,
) -> None:
    """Fit fusion, weights and rank constant of hybrid search on judged queries (give --split train or dev).

    The estimate is by nested cross-validation: each query is measured by settings in which it had no say. BM25's own
    constants and the title's boost belong to the engines and aren't fitted.
    """
    import orjson
    from rich.console import Console

    from eval.files.text import write_lines
    from eval.measures.metrics import parse_measure
    from eval.reports.report import print_report
    from eval.retrieval.protocol import collect_legs
    from eval.retrieval.tuning import Folds, fit, grid, measure_grid, measure_point
    from search_plugin.tuned import tuned_json
    from ses.settings import load_settings
    from ses.wiring import settings_of

    settings = load_settings(**settings_of(options))
    parse_measure(measure)
    if not output.resolve().parent.is_dir():
        raise InputError(f"There is no folder for {output}; make it, or give another --output.")
    collection = open_collection(options, settings)
    test = _test_collection(options, settings, test_split)
    index, encoder, counts = indexed(collection, settings)
    qrels = collection.judged.qrels
    legs = collect_legs(collection.judged.texts, index, encoder, seen=collection.seen)
    points = grid(list(next(iter(legs.values()))))
    click.echo(f"trying {len(points)} settings on {len(legs):,} queries", err=True)
    values = measure_grid(points, legs, qrels, measure)
    fitted = fit(points, values, list(qrels.gains), Folds(folds, folds, seed))
    columns = {"default": fitted.default, "tuned, by nested cross-validation": fitted.estimate}
    if test:
        unseen = collect_legs(test.judged.texts, index, encoder)
        for label, point in (("default on", points[0]), ("tuned on", fitted.chosen)):
            columns[f"{label} {test_split}"] = measure_point(point, unseen, test.judged.qrels, measure)
    report = _report(columns, measure)
    facts = {
        **collection.told,
        "model": index.schema.model,
        "fingerprint": index.schema.fingerprint,
        "measure": measure,
        "queries": len(qrels.gains),
        "grid": len(points),
        "folds": folds,
        "seed": seed,
        "results": report.as_dict()["rows"],
    }
    tuned = replace(fitted.chosen, fitted=facts)
    write_lines(output, [tuned_json(tuned)])
    if as_json:
        told = {**facts, "output": str(output), "fusion": tuned.name, "weights": dict(tuned.weights)}
        click.echo(orjson.dumps({**told, "left_out": counts, "by_fold": _by_fold(fitted)}, option=orjson.OPT_INDENT_2))
        return
    print_report(report, Console())
    weights = ", ".join(f"{leg}={weight:g}" for leg, weight in tuned.weights.items())
    click.echo(f"Chosen of {len(points)}: {tuned.name} with {weights}; written to {output}")
    click.echo(f"Chosen in the outer folds: {'; '.join(_by_fold(fitted))}")
    for what, count in counts.items():
        if count:
            click.echo(f"{count:,} {what.replace('_', ' ')}")


def _test_collection(options: Mapping[str, Any], settings: Any, split: str | None) -> Any:
    if split is None:
        return None
    if not options["data"] or split == options["split"]:
        raise InputError("--test-split names another split of the BEIR folder of --data than --split does.")
    return open_collection({**options, "split": split}, settings)


def _report(columns: Mapping[str, Mapping[str, float]], measure: str) -> Report:
    from eval.reports.report import Report, Row
    from eval.statistics.bootstrap import bootstrap_interval

    rows = [
        Row(label, {measure: bootstrap_interval(tuple(values.values()))}, {"queries": len(values)})
        for label, values in columns.items()
    ]
    return Report("settings", tuple(rows))


def _by_fold(fitted: Fit) -> list[str]:
    return [
        f"{point.name} {' '.join(f'{leg}={weight:g}' for leg, weight in point.weights.items())}"
        for point in fitted.by_fold
    ]
