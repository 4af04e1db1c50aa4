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
@click.option("--index", metavar="NAME", help="Check only this index [default: all].")
@engine_options
@click.pass_context
def doctor(context: click.RichContext, /, index: str | None, as_json: bool, **options: Any) -> None:  # noqa: FBT001 - click passes flags so
    """Show what is installed, the settings in force, and the state of models, engine and indexes.

    The list at the end has one line for each problem, which says what to do. Nothing is changed, except that a model
    from the hub may be fetched. The exit code is 3 if the engine or a model is missing, else 0.
    """
    import orjson

    from ses.arguments import settings_of
    from ses.checkup import check_up
    from ses.settings import load_settings

    flags = settings_of(options)
    checkup = check_up(load_settings(**flags), flags, index)
    if as_json:
        click.echo(orjson.dumps(checkup.to_dict(), option=orjson.OPT_INDENT_2))
    else:
        # Some lines quote a server, which must not control the terminal.
        shown = ("".join(sign if sign.isprintable() else " " for sign in line) for line in _lines(checkup))
        click.echo("\n".join(shown))
    context.exit(checkup.exit_code)


def _lines(checkup: Checkup) -> Iterator[str]:
    yield f"ses {checkup.ses}, Python {checkup.python}"
    for part in checkup.parts:
        yield f"  {part.package}: {part.version or f'not installed; the extra {part.extra} installs it'}"
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
    yield "Problems" if checkup.troubles else "No problems found."
    yield from (f"  {trouble}" for trouble in checkup.troubles)


def _index(index: IndexDiagnosis, model: ModelCheck | None) -> Iterator[str]:
    from search_plugin.engines.diagnosis import human_bytes

    version = "never published" if index.generation is None else f"version {index.generation}"
    kept = f", version {index.previous} kept for --rollback" if index.previous else ""
    begun = f", unfinished: version {', '.join(map(str, index.leftovers))}" if index.leftovers else ""
    yield f"Index {index.name}: {version}{kept}{begun}; {index.papers:,} papers, {human_bytes(index.disk_bytes)}"
    for vector in index.vectors:
        quantized = "" if index.quantization == "none" else f", {index.quantization}"
        yield f"  {vector.field}: {vector.count:,} vectors of {vector.dimension} numbers{quantized}"
    if model:
        yield f"  made by {index.model} ({index.fingerprint}); here: {_model(model)}"
    yield from (f"  {line}" for line in index.lines)


def _model(check: ModelCheck) -> str:
    if check.folder is None:
        return f"{check.name} was not found"
    return f"{check.name} ({check.fingerprint}, {check.dimension} numbers) in {check.folder}"
