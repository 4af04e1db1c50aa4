"""Models that `encoders.export` wrote: a card, a tokenizer, graphs for one runtime, and vectors to check them by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from corpora.checksums import sha256_of
from corpora.errors import InputError
from encoders.models.card import ModelCard
from encoders.models.folder import inside, read_json
from encoders.models.formats import Precision
from encoders.models.model import Exported, Find, Model, Weights

EXPORT_FILE = "ses_export.json"


@dataclass(frozen=True, slots=True)
class _Graph:
    folder: str
    heads: tuple[str, ...]
    sha256: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Checks:
    texts: tuple[str, ...]
    vectors: Mapping[str, tuple[tuple[float, ...], ...]]


@dataclass(frozen=True, slots=True)
class _File:
    card: ModelCard
    runtime: str
    precision: Precision
    graphs: tuple[_Graph, ...]
    checks: _Checks
    made_with: Mapping[str, str]


def card_to_json(card: ModelCard) -> dict[str, Any]:
    """Return a card as JSON has it."""
    return asdict(card)


def recognizes(path: Path) -> bool:
    """Return whether a path is such a folder."""
    return (path / EXPORT_FILE).is_file()


def read(folder: Path, name: str, find: Find) -> Model:  # noqa: ARG001 - it is made of no others
    """Read an exported model, whose weights are in its graphs alone; `InputError` if it is damaged or was changed."""
    from pydantic import TypeAdapter, ValidationError

    path = folder / EXPORT_FILE
    try:
        file = TypeAdapter(_File).validate_python(read_json(path, dict))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(f"{path} is damaged ({place}: {first['msg']}); export the model again.") from error
    graphs = {graph.heads: _checked(folder, graph) for graph in file.graphs}
    exported = Exported(file.runtime, file.precision, graphs, file.checks.texts, file.checks.vectors)

    def no_weights() -> Weights:
        raise InputError(f"{folder} was exported for {file.runtime}, without weights; use the model it was made from.")

    return Model(replace(file.card, name=name), folder, no_weights, exported=exported)


def _checked(folder: Path, graph: _Graph) -> Path:
    part = inside(folder, graph.folder)
    for name, digest in graph.sha256.items():
        file = inside(part, name)
        if not file.is_file() or sha256_of(file) != digest:
            raise InputError(f"{file} is not the file that was exported; copy or export the model again.")
    return part
