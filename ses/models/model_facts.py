"""The models that ses knows by name and those on this machine, with what people choose one by."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from corpora.errors import InputError, SesError, require
from encoders.layouts.registry import read_model
from encoders.models.known import KNOWN_MODELS, KnownModel, Speed, speed_of, work
from encoders.models.model import Model
from ses.argument_validation import checked


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a model is chosen by.

    Attributes:
        name: Name, folder or hub id that finds it.
        here: Whether its files are on this machine.
        hub_id: Its repository on the hub; empty if there is none.
        revision: The pinned commit of the repository; empty if it is that of the first use.
        parameters: Number of its weights; 0 if unknown.
        dimension: Length of its vectors.
        layers: Number of layers.
        work: Multiplications of a token's linear layers, relative to the default model.
        speed: The class of its speed by that.
        scifact: Published nDCG@10 of its vectors on SciFact's test queries, None if there is none.
        source: Who published it.
        languages: Languages that it reads; empty if unknown.
        licence: SPDX name of its licence; empty if unknown.
        default: Whether it is the default model.
        same_as: The known name of the same files, where this is another name for them; empty if it is the only name.
        problem: Why it can't be used; empty if it can.

    Example:
        >>> small = next(model for model in ses.list_models() if model.name == "bge-small-en-v1.5")
        >>> small.dimension, small.speed, small.licence
        (384, 'medium', 'MIT')
    """

    name: str
    here: bool
    hub_id: str = ""
    revision: str = ""
    parameters: int = 0
    dimension: int = 0
    layers: int = 0
    work: float = 0.0
    speed: Speed | str = ""
    scifact: float | None = None
    source: str = ""
    languages: str = ""
    licence: str = ""
    default: bool = False
    same_as: str = ""
    problem: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)


@checked
def list_models(folders: Sequence[str | Path] = ()) -> list[ModelFacts]:
    """Return the models that ses knows by name, then those of the hub that were used here, then those in folders.

    Nothing is downloaded. Models that are not known by name are read to count their weights.

    Args:
        folders: Model folders, or folders with models in them, such as those of training runs.

    Returns:
        A model each. One that can't be read has the reason in `problem`.

    Raises:
        InputError: If a folder is not there, or holds no model.

    Example:
        >>> [model.name for model in ses.list_models() if model.default]
        ['ses-minilm']
    """
    from encoders.models.hub import cached, used
    from encoders.registry import find_model

    found = [_known(name, known) for name, known in KNOWN_MODELS.items()]
    parts = {part for known in KNOWN_MODELS.values() for part in (known.hub_id, *known.adapters.values())}
    for hub_id in used():
        folder = None if hub_id in parts else cached(hub_id)
        if folder and _is_model(folder):
            found.append(_facts(hub_id, hub_id, functools.partial(read_model, folder, hub_id, _not_fetched)))
    local = _model_folders(folders)
    return [*found, *(_facts(str(folder), "", functools.partial(find_model, str(folder))) for folder in local)]


def _known(name: str, known: KnownModel) -> ModelFacts:
    from encoders.registry import DEFAULT_MODEL, is_here

    return ModelFacts(
        name,
        is_here(name),
        known.hub_id,
        known.revision,
        known.parameters,
        known.dimension,
        known.layers,
        round(work(known.layers, known.width), 1),
        speed_of(known.layers, known.width),
        known.scifact,
        known.source,
        known.languages,
        known.licence,
        default=name == DEFAULT_MODEL,
        same_as=known.same_as,
    )


def _facts(name: str, hub_id: str, find: Callable[[], Model]) -> ModelFacts:
    try:
        model = find()
        card, network = model.card, model.card.network
        return ModelFacts(
            name,
            here=True,
            hub_id=hub_id,
            parameters=count_parameters(model),
            dimension=card.dimension,
            layers=network.layers,
            work=round(work(network.layers, network.width), 1),
            speed=speed_of(network.layers, network.width),
            licence=card.licence,
        )
    except SesError as error:
        return ModelFacts(name, here=True, hub_id=hub_id, problem=f"{error.sentence.rstrip('.')}.")


def _not_fetched(part: str) -> Model:
    raise InputError(f"It is made of {part} and others; describe it alone.")


def count_parameters(model: Model) -> int:
    """Return the number of a model's weights; 0 for an exported model, which has none.

    A weight that has several names, and a model that is a member several times, count once.
    """
    arrays = {id(array): array for one in _parts(model) for array in one.read().values()}
    return sum(array.size for array in arrays.values())


def _parts(model: Model) -> Iterable[Model]:
    return {member.card.weights_sha256: member for member in model.members.values()}.values() or [model]


def _model_folders(folders: Sequence[str | Path]) -> list[Path]:
    """Return the model folders among and in some folders, in order."""
    found: dict[Path, None] = {}
    for folder in map(Path, folders):
        require(folder.is_dir(), f"{folder} is not a folder; give one that holds models.")
        inner: list[Path] = []
        for path in sorted([folder, *folder.glob("**/")]):
            # Folders within a model hold its parts.
            if _is_model(path) and not any(path.is_relative_to(outer) for outer in inner):
                inner.append(path)
        require(inner, f"There is no model in {folder}; give a model's folder, or one that holds some.")
        found |= dict.fromkeys(inner)
    return list(found)


def _is_model(folder: Path) -> bool:
    own = any((folder / name).is_file() for name in ("config.json", "ses_card.json", "ses_export.json"))
    return own and not (folder / "adapter_config.json").is_file()
