"""`ses models`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import rich_click as click

from corpora.errors import InputError
from encoders.models.formats import Precision, parse_formats
from encoders.runtimes.registry import RUNTIMES
from ses.settings import load_settings
from ses.terminal.options import PATH, json_option
from ses.terminal.results import say, say_json, tell_tables

if TYPE_CHECKING:
    from encoders.models.model import Model
    from eval.reports.report import TextTable
    from ses.models.model_facts import ModelFacts


@click.group()
def models() -> None:
    """List models, describe one, fetch one, export one for a runtime, or join several."""


@models.command(name="list")
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path, exists=True, file_okay=False))
@json_option
def list_(*, folders: tuple[Path, ...], as_json: bool) -> None:
    """List the models that ses knows by name, those of the hub that were used here, and those in FOLDERS.

    Any other folder or hub id of a BERT-family model works too.
    """
    from ses.models.model_facts import list_models

    found = list_models(folders)
    if as_json:
        say_json({"models": [model.to_dict() for model in found]})
    else:
        tell_tables(_table(found))


def _table(found: Sequence[ModelFacts]) -> TextTable:
    from eval.reports.report import TextTable, shown

    header = ("model", "here", "parameters", "numbers", "speed", "SciFact", "languages", "licence")
    rows = tuple(
        (
            f"{one.name} (default)" if one.default else one.name,
            "yes" if one.here else "no",
            f"{one.parameters / 1e6:,.0f} M" if one.parameters else "?",
            f"{one.dimension:,}" if one.dimension else "?",
            f"{one.speed} ({one.work:g})" if one.speed else "?",
            shown(one.scifact),
            one.languages or "?",
            one.licence or "?",
        )
        for one in found
    )
    notes = (
        "here: on this machine; others are fetched from the hub when they are first used",
        "numbers: the length of a vector; a paper takes one byte for each at rest in int8, four in fp32",
        "speed: in brackets, the work for a text relative to the default model; attention is left out",
        "SciFact: published nDCG@10 of vectors alone; --json says who published it",
        *(f"{one.name}: the same model as {one.same_as}" for one in found if one.same_as),
        *(f"{one.name}: {one.problem}" for one in found if one.problem),
    )
    return TextTable("Models", header, rows, notes=notes)


@models.command()
@click.argument("name")
@json_option
def info(*, name: str, as_json: bool) -> None:
    """Describe a model: its architecture, how vectors compare, and for each format what it is for and what makes it.

    It also says which formats one pass over a text makes.
    """
    from encoders.registry import find_model

    facts = _facts(find_model(name))
    say(facts, list(_lines(facts)), as_json=as_json)


@models.command()
@click.argument("name")
@json_option
def fetch(*, name: str, as_json: bool) -> None:
    """Fetch a model and check it, so that it can be used without a network."""
    from encoders.models.model import read_checked
    from encoders.registry import find_model

    model = find_model(name)
    for part in model.members.values() or [model]:
        if not part.exported:
            read_checked(part, tuple(dict.fromkeys(part.card.heads.values())))
    facts = {"name": model.card.name, "folder": str(model.folder), "fingerprint": model.card.fingerprint}
    say(facts, [f"{model.card.name} is in {model.folder}"], as_json=as_json)


@models.command()
@click.argument("name")
@click.argument("folder", type=PATH)
@click.option(
    "--runtime", default="onnx", show_default=True, metavar="NAME", help=f"The runtime: {', '.join(RUNTIMES)}."
)
@click.option(
    "--precision", type=click.Choice(get_args(Precision)), help="Numeric precision [default: the fastest available]."
)
@click.option(
    "--formats",
    default="",
    metavar="LIST",
    help="Task formats to write, such as prx,qry [default: all that the model has].",
)
@json_option
def export(*, name: str, folder: Path, runtime: str, precision: Precision | None, formats: str, as_json: bool) -> None:
    """Export a model for a runtime, into a folder that any --model option accepts.

    The folder holds the card, the tokenizer and the graphs; it loads without torch and without the weights. It also
    holds vectors of a few texts: a machine that computes different ones shows a warning.
    """
    from encoders.layouts.exported import export_model
    from encoders.registry import find_model

    wanted = parse_formats(formats) if formats else ()
    export_model(find_model(name), folder, runtime=runtime, precision=precision, formats=wanted)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    facts = {"folder": str(folder.resolve()), "runtime": runtime, "bytes": size}
    say(
        facts,
        [f"{folder} holds {name} for {runtime}, {size / 1e6:,.0f} MB; use it with --model {folder}"],
        as_json=as_json,
    )


@models.command()
@click.argument("name")
@click.argument("file", type=PATH)
@json_option
def table(*, name: str, file: Path, as_json: bool) -> None:
    """Write the table for queries of a model as one file, which programs in other languages read.

    A front end then has the vector of a query without a model (ses cluster request --vector table).
    """
    from encoders.query_tables import table_for
    from encoders.registry import find_model
    from encoders.static import load_static
    from encoders.table_file import write_table_file

    found = table_for(find_model(name).card.fingerprint)
    if found is None:
        raise InputError(f"ses has no table for queries of the model {name}.")
    size = write_table_file(load_static(found, load_settings().cache_dir), file)
    say({"file": str(file.resolve()), "bytes": size}, [f"{file} holds the table, {size / 1e6:.1f} MB"], as_json=as_json)


@models.command()
@click.argument("folder", type=PATH)
@click.argument("models", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, file_okay=False))
@json_option
def join(*, folder: Path, models: tuple[Path, ...], as_json: bool) -> None:
    """Join models of adapters that were trained separately on one base into one model.

    FOLDER is written; MODELS are folders that ses train wrote. Formats that none of them has keep the base's vectors.
    """
    from training.joining import join_models

    join_models(models, folder)
    say(
        {"folder": str(folder.resolve())},
        [f"{folder} holds the joined model; use it with --model {folder}"],
        as_json=as_json,
    )


def _facts(model: Model) -> dict[str, Any]:
    from ses.models.stored_vectors import formats_of_model

    card, network = model.card, model.card.network
    return {
        "name": card.name,
        "folder": str(model.folder),
        "architecture": card.architecture,
        "family": card.family,
        "formats": list(card.formats),
        "vectors": [asdict(one) for one in formats_of_model(card)],
        "prompts": {name.value: text for name, text in card.prompts.items()},
        "passes": [list(group) for group in card.passes(card.formats)],
        "layers": network.layers,
        "shared_layers": network.shared_layers,
        "dimension": card.dimension,
        "max_tokens": card.max_tokens,
        "pooling": network.pooling,
        "normalize": network.normalize,
        "similarity": card.similarity,
        "licence": card.licence,
        "fingerprint": card.fingerprint,
        "weights_sha256": card.weights_sha256,
        "exported": f"{model.exported.runtime}-{model.exported.precision}" if model.exported else None,
        "members": {key: _facts(member) for key, member in model.members.items()},
    }


def _lines(facts: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    yield f"{indent}{facts['name']}"
    yield f"{indent}  architecture: {facts['architecture']} ({facts['family']}, {facts['layers']} layers)"
    if facts["exported"]:
        yield f"{indent}  exported for: {facts['exported']}"
    yield f"{indent}  formats: {', '.join(facts['formats'])}"
    yield from (f"{indent}  {one['format']}, for {one['purpose']}: {one['made_by']}" for one in facts["vectors"])
    yield f"{indent}  passes: {_passes(facts)}"
    yield from (f"{indent}  before {name} stands: {text!r}" for name, text in facts["prompts"].items())
    how = (
        f"{facts['pooling']} pooling, {'unit length, ' if facts['normalize'] else ''}compared by {facts['similarity']}"
    )
    yield f"{indent}  vectors: {facts['dimension']} values, {how}"
    yield f"{indent}  longest text: {facts['max_tokens']} tokens"
    yield f"{indent}  licence: {facts['licence'] or 'not stated'}"
    yield f"{indent}  fingerprint: {facts['fingerprint']}"
    yield f"{indent}  folder: {facts['folder']}"
    for member in facts["members"].values():
        yield from _lines(member, indent + "  ")


def _passes(facts: Mapping[str, Any]) -> str:
    """Say which formats one pass over a text makes, and if not all, why."""
    groups = " / ".join("+".join(group) for group in facts["passes"])
    if facts["members"]:
        return "those of its members"
    if len(facts["passes"]) > 1 and facts["prompts"]:
        return f"{groups}; they read different texts"
    if len(facts["passes"]) > 1:
        return f"{groups}; they share no layer"
    shared = facts["shared_layers"]
    return f"{groups}, {'all' if shared == facts['layers'] else shared} of {facts['layers']} layers shared"
