"""The modules of a sentence-transformers folder that follow its network: pooling, linear layers, scaling.

Linear layers change a vector after pooling: mdbr-leaf-ir makes 768 values of 384 (LEAF, arXiv:2509.12539, section 3).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError
from corpora.lazy import np
from encoders.architectures.network import Pooling, dense_name
from encoders.models.card import ModelCard
from encoders.models.folder import inside, read_json, write_json
from encoders.models.weights import SAFETENSORS, TORCH, read_arrays, weights_file, write_safetensors

if TYPE_CHECKING:
    from encoders.ops.base import Activation

MODULES = "modules.json"

DENSE_FILES = (f"*_Dense/{SAFETENSORS}", f"*_Dense/{TORCH}")
"""Weights of linear layers in a repository of the hub."""

_ACTIVATIONS: Mapping[str, Activation | None] = {
    "Identity": None,
    "GELU": "gelu",
    "ReLU": "relu",
    "SiLU": "silu",
    "Tanh": "tanh",
    "Sigmoid": "sigmoid",
}
"""By the names of torch's classes."""

_ON_VECTORS = "sentence_embedding"


@dataclass(frozen=True, slots=True)
class Module:
    """A line of `modules.json`: the last part of the module's class name, and the folder of its files."""

    kind: str
    path: str


def listed_modules(folder: Path) -> list[Module]:
    """Return the modules that a folder of sentence-transformers lists, in order; none if it is no such folder."""
    listed = [one for one in read_json(folder / MODULES, list, missing=[]) if isinstance(one, dict)]
    return [Module(class_name(one.get("type")), str(one.get("path") or "")) for one in listed]


def class_name(dotted: object) -> str:
    """Return the last part of a dotted name, such as `Pooling`."""
    return str(dotted or "").rsplit(".", 1)[-1]


@dataclass(frozen=True, slots=True)
class Dense:
    """A linear layer after pooling: its folder, the length of its vectors, and what is applied to them."""

    folder: Path
    outputs: int
    activation: Activation | None

    @property
    def weights(self) -> Path:
        """The file of its weights."""
        return weights_file(self.folder)


@dataclass(frozen=True, slots=True)
class Modules:
    """How the states of a network become a vector; without modules, the first token's state is the vector."""

    pooling: Pooling = "cls"
    dense: tuple[Dense, ...] = ()
    normalize: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """What an architecture has to know of the linear layers; nothing if there are none."""
        return {"dense": [one.activation or "" for one in self.dense]} if self.dense else {}


def read_modules(folder: Path) -> Modules:
    """Return a folder's modules; `InputError` if ses can't run them."""
    modules = listed_modules(folder)
    kinds = [module.kind for module in modules]
    if unknown := sorted(set(kinds) - {"Transformer", "Pooling", "Dense", "Normalize"}):
        raise InputError(f"{folder} has sentence-transformers modules that ses can't run: {', '.join(unknown)}.")
    pooling: Pooling = "cls"
    places = [inside(folder, module.path) for module in modules]
    if "Pooling" in kinds:
        pooling = _pooling(folder, read_json(places[kinds.index("Pooling")] / "config.json", dict))
    dense = [number for number, kind in enumerate(kinds) if kind == "Dense"]
    normalize = "Normalize" in kinds
    between = kinds[kinds.index("Pooling") + 1 : dense[-1] + 1] if dense and "Pooling" in kinds else []
    if between != ["Dense"] * len(dense):
        raise InputError(
            f"{folder} has its modules in the order {', '.join(kinds)}; ses runs linear layers directly after pooling."
        )
    return Modules(pooling, tuple(_dense(folder, places[number]) for number in dense), normalize)


def _pooling(folder: Path, settings: Mapping[str, Any]) -> Pooling:
    # One key with the name of the mode, or, before sentence-transformers 5, a switch for each mode.
    older = [key for key, value in settings.items() if key.startswith("pooling_mode_") and value]
    mode = settings.get("pooling_mode", older)
    if mode in ("mean", ["mean"], ["pooling_mode_mean_tokens"]):
        return "mean"
    if mode in ("cls", ["cls"], ["pooling_mode_cls_token"]):
        return "cls"
    raise InputError(f"{folder} pools its tokens in a way that ses can't; it knows first-token and mean pooling.")


def _dense(folder: Path, place: Path) -> Dense:
    settings = read_json(place / "config.json", dict)
    kind, outputs = class_name(settings.get("activation_function", "Tanh")), settings.get("out_features")
    names = [settings.get(f"module_{side}_name") or _ON_VECTORS for side in ("input", "output")]
    if type(outputs) is not int or outputs < 1:
        raise InputError(f"out_features in {place / 'config.json'} is not a whole number above 0; fetch it again.")
    if kind not in _ACTIVATIONS or settings.get("use_residual") or names != [_ON_VECTORS, _ON_VECTORS]:
        raise InputError(
            f"{folder} has a linear layer that ses can't run ({place.name}): it knows those of vectors, without a "
            f"residual, with one of the activations {', '.join(_ACTIVATIONS)}."
        )
    return Dense(place, outputs, _ACTIVATIONS[kind])


def read_dense(layers: Sequence[Dense]) -> dict[str, np.ndarray]:
    """Read the weights of linear layers, float32, under the names by which a network uses them."""
    return {
        f"{dense_name(number)}.{name.removeprefix('linear.')}": array
        for number, one in enumerate(layers)
        for name, array in read_arrays(one.weights).items()
    }


def write_modules(folder: Path, card: ModelCard, weights: Mapping[str, np.ndarray]) -> None:
    """Write a model's pooling, linear layers and scaling as sentence-transformers has them.

    The weights are those of the whole model. The files of the network itself are written elsewhere.
    """
    network, activations = card.network, card.network.options["dense"]
    kinds = ["Transformer", "Pooling", *("Dense" for _ in activations), *(["Normalize"] if network.normalize else [])]
    places = ["", *(f"{number}_{kind}" for number, kind in enumerate(kinds) if number)]
    rows = [
        {"idx": number, "name": str(number), "path": place, "type": f"sentence_transformers.models.{kind}"}
        for number, (place, kind) in enumerate(zip(places, kinds, strict=True))
    ]
    (folder / MODULES).write_text(json.dumps(rows, indent=2), encoding="utf-8")
    for place in places:
        (folder / place).mkdir(parents=True, exist_ok=True)
    pooling = {"word_embedding_dimension": network.width, "pooling_mode": network.pooling}
    switches = {"cls": "cls_token", "mean": "mean_tokens"}
    pooling |= {f"pooling_mode_{switch}": mode == network.pooling for mode, switch in switches.items()}
    write_json(folder / places[1] / "config.json", pooling)
    names = {activation: name for name, activation in _ACTIVATIONS.items()}
    for number, activation in enumerate(activations):
        own = {
            name.removeprefix(f"{dense_name(number)}."): array
            for name, array in weights.items()
            if name.startswith(f"{dense_name(number)}.")
        }
        outputs, inputs = own["weight"].shape
        kind = names[activation or None]
        module = "linear" if kind == "Identity" else "activation"
        settings = {"in_features": inputs, "out_features": outputs, "bias": "bias" in own}
        layer = folder / places[2 + number]
        write_json(layer / "config.json", settings | {"activation_function": f"torch.nn.modules.{module}.{kind}"})
        write_safetensors(layer / SAFETENSORS, {f"linear.{name}": array for name, array in own.items()})
