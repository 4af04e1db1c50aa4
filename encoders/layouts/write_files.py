"""Common parts of all writers of models: folders, and files in AdapterHub's form."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from corpora.errors import InputError, UnavailableError
from corpora.writing import explaining
from encoders.layouts import adapter_config, adapter_fusion
from encoders.models.card import ModelCard
from encoders.models.model import Weights

if TYPE_CHECKING:
    import numpy as np

FileForm = Literal["safetensors", "torch"]

_VERSION = "adapters.1.3.0"
"""The release whose form this is; without one, the library would rename activations as in its first releases."""

_LIBRARY_NAMES = {
    "bert": ("bert", "BertAdapterModel"),
    "roberta": ("roberta", "RobertaAdapterModel"),
    "xlm-roberta": ("roberta", "XLMRobertaAdapterModel"),
}


@dataclass(frozen=True, slots=True)
class _Names:
    """What the library calls the files of a folder: the configuration, and the weights in each form."""

    config: str
    weights: Mapping[FileForm, str]


_ADAPTER = _Names(adapter_config.CONFIG, {"safetensors": adapter_config.SAFETENSORS, "torch": adapter_config.TORCH})
_FUSION = _Names(adapter_fusion.CONFIG, {"safetensors": adapter_fusion.SAFETENSORS, "torch": adapter_fusion.TORCH})


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Make a folder to write into; what can't be written is an `UnavailableError` that names it."""
    with explaining(folder, "name a folder that can be"):
        folder.mkdir(parents=True, exist_ok=True)
        yield


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write an object, its keys in order."""
    path.write_text(json.dumps(content, indent=2, sort_keys=True), encoding="utf-8")


def write_safetensors(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays as float32, in the form that transformers and AdapterHub's library load."""
    import numpy as np
    from safetensors.numpy import save

    own = {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in arrays.items()}
    path.write_bytes(save(own, metadata={"format": "pt"}))


def as_library_names(weights: Weights, names: Mapping[str, str], base: ModelCard, what: str) -> dict[str, np.ndarray]:
    """Return weights as the library calls them in a model with heads, where it looks for fusions alone.

    Args:
        weights: Of the whole model.
        names: From those of the architecture to the library's, below the heads.
        base: The network that they are for.
        what: They are, for the message.

    Returns:
        The named ones, float32.

    Raises:
        InputError: If the library has no adapters for the network.
        ValueError: If some are missing, or none are named.
    """
    import numpy as np

    if not names or not names.keys() <= weights.keys():
        raise ValueError(f"The weights hold no whole {what}.")
    below, _ = _library_names(base)
    return {f"{below}.{new}": np.ascontiguousarray(weights[old], dtype=np.float32) for old, new in names.items()}


def write_hub_files(
    folder: Path,
    base: ModelCard,
    name: str,
    config: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    form: FileForm,
    *,
    fuses: tuple[str, ...] = (),
) -> None:
    """Write an adapter or a fusion as AdapterHub's library does.

    Args:
        folder: Where to; made if it is not there.
        base: The network that it is for.
        name: What the library shall call it.
        config: Of the library.
        arrays: Its weights under the library's names.
        form: Of the weights' file.
        fuses: Names of the adapters that it fuses, if it is a fusion.

    Raises:
        InputError: If the library has no adapters for the network.
        UnavailableError: If the folder can't be written, or torch is missing for its form.
    """
    settings = {
        "hidden_size": base.network.width,
        "model_type": base.family,
        "model_class": _library_names(base)[1],
        # Of a model on this machine only the folder's own name: the file may be published.
        "model_name": Path(base.name).name if Path(base.name).is_absolute() else base.name,
        "name": name,
        "config": dict(config),
        "version": _VERSION,
    }
    names = _FUSION if fuses else _ADAPTER
    with writing(folder):
        write_json(folder / names.config, settings | ({"adapter_names": list(fuses)} if fuses else {}))
        for file in names.weights.values():
            (folder / file).unlink(missing_ok=True)  # otherwise a file of the other form might be read instead
        (_save_torch if form == "torch" else write_safetensors)(folder / names.weights[form], arrays)


def _library_names(base: ModelCard) -> tuple[str, str]:
    """Return what the library calls a network's part below the heads, and the whole."""
    if base.family not in _LIBRARY_NAMES:
        raise InputError(
            f"AdapterHub's library has no adapters for {base.family} models; take one of {', '.join(_LIBRARY_NAMES)}."
        )
    return _LIBRARY_NAMES[base.family]


def _save_torch(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    try:
        import torch
    except ImportError:
        raise UnavailableError(
            "The torch form of adapters needs torch: run `pip install 'ses[train]'`, or write safetensors."
        ) from None
    torch.save({name: torch.from_numpy(array) for name, array in arrays.items()}, path)
