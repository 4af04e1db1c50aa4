"""Named arrays out of a checkpoint file, as untrusted input: nothing in it is ever run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import InputError, UnavailableError

if TYPE_CHECKING:
    import numpy as np

SAFETENSORS = "model.safetensors"
TORCH = "pytorch_model.bin"


def weights_file(folder: Path) -> Path:
    """Find a model's weights, safetensors before a torch state dict.

    Args:
        folder: Of the model.

    Returns:
        The file.

    Raises:
        InputError: If the folder holds neither.
    """
    for name in (SAFETENSORS, TORCH):
        if (folder / name).is_file():
            return folder / name
    raise InputError(f"{folder} holds no weights: put {SAFETENSORS} (or {TORCH}) there.")


def sha256_of(path: Path) -> str:
    """Return the file's SHA-256 in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_weights(path: Path) -> dict[str, np.ndarray]:
    """Read a checkpoint into float32 arrays, named as a bare encoder names them.

    Names lose the prefix a task head adds (`bert.`, `roberta.`), and the old `gamma` and `beta` of
    layer normalization become `weight` and `bias`.

    Args:
        path: A `.safetensors` file, or a torch state dict, which needs torch and is read with `weights_only`.

    Returns:
        The arrays by name.

    Raises:
        InputError: If the file is damaged.
        UnavailableError: If it is a torch file and torch is not installed.
    """
    arrays = _read_safetensors(path) if path.suffix == ".safetensors" else _read_torch(path)
    return {_plain_name(name): array for name, array in arrays.items()}


def _read_safetensors(path: Path) -> Mapping[str, np.ndarray]:
    import ml_dtypes  # noqa: F401 - numpy knows bfloat16 by its name only once this is imported
    import numpy as np
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            return {name: file.get_tensor(name).astype(np.float32, copy=False) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, AttributeError, TypeError, OSError) as error:
        raise InputError(f"{path} is not a whole safetensors file ({error}); fetch the model again.") from error


def _read_torch(path: Path) -> Mapping[str, np.ndarray]:
    try:
        import torch
    except ImportError:
        raise UnavailableError(
            f"{path} is a torch file, and torch is not installed: run `pip install 'ses[train]'`, "
            f"or put the same weights there as {SAFETENSORS}."
        ) from None
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        return {name: tensor.float().numpy() for name, tensor in state.items() if tensor.is_floating_point()}
    except Exception as error:
        raise InputError(f"{path} is not a safe torch state dict; fetch it as safetensors.") from error


def _plain_name(name: str) -> str:
    for prefix in ("bert.", "roberta."):
        name = name.removeprefix(prefix)
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
