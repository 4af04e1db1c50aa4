"""JSON files of a model folder: read as untrusted input, and written.

Sizes in a stranger's `config.json` are checked before anything is built from them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from corpora import documents
from corpora.errors import InputError
from corpora.lazy import np
from corpora.writing import explaining
from encoders.models.card import ModelCard

T = TypeVar("T")

LARGEST_TOKENIZER = 64 << 20
"""In bytes. Vocabularies of many languages take a half of it."""


_TRANSFORMER = tuple(
    f"sentence_{family}_config.json"
    for family in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
"""Names that the library has had for the settings of its module Transformer; it reads the first that exists."""


def read_json(path: Path, kind: type, missing: Any = None, largest: int = documents.LARGEST) -> Any:
    """Read a JSON file that holds a `kind`, dict or list, or return `missing`; `InputError` if it can't be read."""
    try:
        content = documents.read_json(path, largest)
    except FileNotFoundError:
        if missing is not None:
            return missing
        raise InputError(f"{path.parent} is not a model folder: it has no {path.name}.") from None
    except (ValueError, OSError) as error:
        raise InputError(f"{path} can't be read as JSON ({error}); fetch the model again.") from error
    if not isinstance(content, kind):
        raise InputError(f"{path} doesn't hold what a model folder's {path.name} does; fetch the model again.")
    return content


def settings_of(kind: type[T], content: Mapping[str, Any]) -> T:
    """Return a dataclass of settings; `ValueError` with the names of those that are missing or of another type."""
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(kind).validate_python(dict(content))
    except ValidationError as error:
        names = {".".join(map(str, problem["loc"])) for problem in error.errors()}
        raise ValueError(", ".join(sorted(names))) from error


def inside(folder: Path, part: str) -> Path:
    """Return a path that a file of a folder names, or raise `InputError` if it leads out of the folder."""
    path = folder / part
    if "\0" in part or not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{folder} names {part!r}, which is outside of it; fetch the model from a source you trust.")
    return path


def transformer_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of a folder's module Transformer: `max_seq_length`, `do_lower_case`."""
    found = next((folder / name for name in _TRANSFORMER if (folder / name).is_file()), None)
    settings: dict[str, Any] = read_json(found, dict) if found else {}
    return settings


MOST_LAYERS = 1_000
_MOST_POSITIONS = 1 << 17
_MOST = 1 << 24

_LIMITS = (("layers", MOST_LAYERS), ("position", _MOST_POSITIONS), ("", _MOST))
"""The largest whole number for each part of a setting's name; the first part that the name holds counts."""
_DIMENSION = re.compile(r"size|dim|inner|hidden|embed|ffn|model")


def check_limits(path: Path, config: Mapping[str, Any]) -> None:
    """Refuse sizes that no encoder has, with `InputError`: each layer and position takes time and memory."""
    for name, number in _numbers(config):
        limit = next(limit for part, limit in _LIMITS if part in name)
        if number > limit:
            raise InputError(
                f"{path} gives {number:.6g} for {name}, and no encoder has more than {limit:,}; "
                "fetch the model from a source you trust."
            )


def check_dimensions(name: str, config: Mapping[str, Any], weights: Mapping[str, np.ndarray]) -> None:
    """Refuse dimensions beyond those of the weights, with `InputError`: a library would make up the rest."""
    largest = max((max(array.shape, default=0) for array in weights.values()), default=0)
    for key, number in _numbers(config):
        layers = "layers" in key
        if (
            (layers or _DIMENSION.search(key))
            and "position" not in key
            and number > (len(weights) if layers else largest)
        ):
            what = f"there are {len(weights)} of them" if layers else f"their largest dimension is {largest:,}"
            raise InputError(
                f"The config.json of {name} gives {number:,} for {key}, and its weights don't fit: {what}; "
                "fetch the model again."
            )


def _numbers(config: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from _numbers(value)
        elif type(value) is int:
            yield name, value


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Make a folder to write into; what can't be written is an `UnavailableError` that names it."""
    with explaining(folder, "name a folder that can be"):
        folder.mkdir(parents=True, exist_ok=True)
        yield


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write an object, its keys in order."""
    path.write_text(json.dumps(content, indent=2, sort_keys=True), encoding="utf-8")


def bert_config(card: ModelCard, weights: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return the `config.json` of a plain network, as its card and its weights have it."""
    network = card.network
    return {
        "model_type": card.family,
        "hidden_size": network.width,
        "num_hidden_layers": network.layers,
        "num_attention_heads": network.attention_heads,
        "intermediate_size": len(weights["encoder.layer.0.intermediate.dense.bias"]),
        "hidden_act": "gelu",
        "layer_norm_eps": network.epsilon,
        "max_position_embeddings": network.positions,
        "type_vocab_size": len(weights["embeddings.token_type_embeddings.weight"]),
        "vocab_size": len(weights["embeddings.word_embeddings.weight"]),
        "pad_token_id": max(0, network.first_position - 1),
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
        "initializer_range": 0.02,
    }
