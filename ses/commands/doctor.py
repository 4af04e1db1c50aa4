"""`ses doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import rich_click as click

from ses.options import engine_options

if TYPE_CHECKING:
    from search_plugin.engines.diagnosis import IndexDiagnosis
    from ses.checkup import Checkup, ModelCheck


@click.command()
@click.option("--index", metavar="NAME", help="Look at this index only [default: all].")
@engine_options
@click.pass_context
def doctor(context: click.RichContext, /, index: str | None, as_json: bool, **options: Any) -> None:  # noqa: FBT001 - click passes flags so
    """Tell what is installed, set and found, and how the engine and its indexes are.

    Every trouble is one line at the end that says what to do. Nothing is changed; a model that is on the hub only is
    fetched. The exit code is 0 also where there are troubles, and 3 where the engine or a model is missing.
    """
    import orjson

    from ses.checkup import check_up
    from ses.settings import load_settings
    from ses.wiring import settings_of

    flags = settings_of(options)
    checkup = check_up(load_settings(**flags), flags, index)
    if as_json:
        click.echo(orjson.dumps(checkup.to_dict(), option=orjson.OPT_INDENT_2))
    else:
        # Servers' own words stand in some lines, and must not steer a terminal.
        shown = ("".join(sign if sign.isprintable() else " " for sign in line) for line in _lines(checkup))
        click.echo("\n".join(shown))
    context.exit(checkup.exit_code)


def _lines(checkup: Checkup) -> Iterator[str]:
    yield f"ses {checkup.ses}, Python {checkup.python}"
    for part in checkup.parts:
        yield f"  {part.package}: {part.version or f'not installed; the extra {part.extra} brings it'}"
    yield "Settings"
    for setting in checkup.settings:
        yield f"  {setting.name} = {setting.value or '(none)'}  [{setting.source}]"
    yield f"Model for new indexes: {_model(checkup.model)}"
    engine = checkup.engine
    if engine is None:
        yield f"Engine {checkup.engine_url}: does not answer"
    else:
        yield f"Engine {checkup.engine_url}: {engine.product} {engine.version}"
        yield from (f"  {line}" for line in engine.lines)
        yield f"  legs can be joined by: {', '.join(engine.joins)}"
        for index in engine.indexes:
            yield from _index(index, checkup.index_models.get(index.model))
        if not engine.indexes:
            yield "No indexes yet; make one with `ses index --corpus NAME`."
    yield "Troubles" if checkup.troubles else "All is well."
    yield from (f"  {trouble}" for trouble in checkup.troubles)


def _index(index: IndexDiagnosis, model: ModelCheck | None) -> Iterator[str]:
    from search_plugin.engines.diagnosis import human_bytes

    version = "never published" if index.generation is None else f"version {index.generation}"
    kept = f", version {index.previous} kept for --rollback" if index.previous else ""
    begun = f", begun: version {', '.join(map(str, index.leftovers))}" if index.leftovers else ""
    yield f"Index {index.name}: {version}{kept}{begun}; {index.papers:,} papers, {human_bytes(index.disk_bytes)}"
    for vector in index.vectors:
        quantized = "" if index.quantization == "none" else f", {index.quantization}"
        yield f"  {vector.field}: {vector.count:,} vectors of {vector.dimension} numbers{quantized}"
    if model:
        yield f"  made by {index.model} ({index.fingerprint}); here: {_model(model)}"
    yield from (f"  {line}" for line in index.lines)


def _model(check: ModelCheck) -> str:
    if check.folder is None:
        return f"{check.name} is not found"
    return f"{check.name} ({check.fingerprint}, {check.dimension} numbers) in {check.folder}"
