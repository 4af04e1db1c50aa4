"""Reads named arrays from untrusted checkpoint files: no code in them is run, and nothing unpacks beyond its size."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.errors import InputError, UnavailableError, require
from corpora.installed import extra
from corpora.lazy import np

SAFETENSORS = "model.safetensors"
TORCH = "pytorch_model.bin"

_IN_PARTS = (f"{SAFETENSORS}.index.json", f"{TORCH}.index.json")
_NESTED = ("model_dict", "state_dict")
"""Keys under which training programs keep the weights, beside the state of their optimizer."""

_ZIP = b"PK\x03\x04"
_MOST_TO_FILE = 16
"""Limit of the arrays' size over their file's: half precision doubles, and one tensor of it may have several names."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a torch file holds: float32 arrays by their own names, and its `encoder_params` if it has some."""

    arrays: Mapping[str, np.ndarray]
    settings: Mapping[str, Any]


def weights_file(folder: Path) -> Path:
    """Return a model's weights file, safetensors before torch's; `InputError` if the folder holds neither."""
    for name in (SAFETENSORS, TORCH):
        if (folder / name).is_file():
            return folder / name
    if parts := next((name for name in _IN_PARTS if (folder / name).is_file()), None):
        raise InputError(f"{folder} holds its weights in several files ({parts}); save the model as one {SAFETENSORS}.")
    raise InputError(f"{folder} holds no weights: put {SAFETENSORS} (or {TORCH}) there.")


def read_weights(path: Path) -> dict[str, np.ndarray]:
    """Read float32 arrays by `plain_name`; `InputError` if they are damaged, `UnavailableError` if torch is missing."""
    return {plain_name(name): array for name, array in read_arrays(path).items()}


def read_arrays(path: Path) -> Mapping[str, np.ndarray]:
    """Read a checkpoint into float32 arrays as `read_weights` does, under the names that it has in its file."""
    return _read_safetensors(path) if path.suffix == ".safetensors" else read_checkpoint(path).arrays


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a checkpoint's arrays by `plain_name`; errors as of `read_weights`."""
    if path.suffix != ".safetensors":
        return {name: array.shape for name, array in read_weights(path).items()}
    with _opened(path) as file:
        return {plain_name(name): tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118


def plain_name(name: str) -> str:
    """Return a weight's name in a bare encoder: without a task head's prefix, and not `gamma` and `beta` as once."""
    for prefix in ("bert.", "roberta.", "mpnet.", "model."):
        name = name.removeprefix(prefix)
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a torch file with `weights_only`: a state dict, or a training program's checkpoint that holds one.

    Both of torch's formats are read, the zip archive of today and the bare stream that SPECTER and SciBERT were
    published in. Whole numbers, such as position ids, are left out: no encoder has them among its weights. Arrays of an
    archive stay in the file until they are used, so what is not used costs nothing. Raises `InputError` if the file is
    damaged, or holds what torch would have to run code for, and `UnavailableError` if torch is not installed.
    """
    try:
        import torch
    except ImportError:
        raise UnavailableError(
            f"{path} is a torch file, and torch is not installed: run `pip install {extra('train')}`, "
            "or get the same weights as safetensors."
        ) from None
    archive = _is_archive(path)
    try:
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=archive)
        state = next((content[key] for key in _NESTED if isinstance(content.get(key), Mapping)), content)
        tensors = {str(name): tensor.detach() for name, tensor in state.items() if tensor.is_floating_point()}
        settings = dict(content.get("encoder_params", {}))
        # A prefix has one name in each layer: float32 of one place is one array, other kinds are copied for each name.
        sizes: dict[Any, int] = {}
        for name, tensor in tensors.items():
            place = tensor.data_ptr() if tensor.dtype == torch.float32 else name
            sizes[place] = max(sizes.get(place, 0), tensor.numel())
        small = sum(sizes.values()) * 4 <= _MOST_TO_FILE * path.stat().st_size
        arrays = {name: tensor.float().numpy() for name, tensor in tensors.items()} if small else {}
    except Exception as error:
        raise InputError(
            f"{path} is damaged, or holds more than weights and plain values, which could run code; "
            "fetch it again, as safetensors if there are, or save it again with those alone."
        ) from error
    require(small, f"{path} unpacks to far more than its size; fetch the model from a source you trust.")
    return Checkpoint(arrays, settings)


def _is_archive(path: Path) -> bool:
    """Return whether torch would open a file as a zip archive, or raise `InputError` if torch packed no such archive.

    torch stores each part as it is, one after another, so an archive's parts are never larger than the archive.
    """
    try:
        with path.open("rb") as file:
            if file.read(len(_ZIP)) != _ZIP:
                return False
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise InputError(f"{path} is an incomplete torch file ({error}); fetch the model again.") from error
    plain = all(part.compress_type == zipfile.ZIP_STORED and _stays_inside(part.filename) for part in parts)
    if not plain or sum(part.file_size for part in parts) > path.stat().st_size:
        raise InputError(f"{path} is not packed as torch packs its files; fetch the model from a source you trust.")
    return True


def _stays_inside(name: str) -> bool:
    return not name.startswith("/") and "\\" not in name and ".." not in name.split("/")


def read_as_stored(path: Path) -> Mapping[str, np.ndarray]:
    """Return a safetensors file's arrays by name, in the types of the file; `InputError` if it is damaged."""
    import ml_dtypes  # noqa: F401 - numpy knows bfloat16 by its name only once this is imported

    with _opened(path) as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a safetensors file, or raise `InputError` if it is damaged, also by what is read of it in the block."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            yield file
    except (SafetensorError, AttributeError, TypeError, OSError) as error:
        raise InputError(f"{path} is an incomplete safetensors file ({error}); fetch the model again.") from error


def _read_safetensors(path: Path) -> Mapping[str, np.ndarray]:
    """Return a file's arrays by name, float32 in their shapes."""
    return {name: array.astype(np.float32, copy=False) for name, array in read_as_stored(path).items()}


def write_safetensors(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays as float32, in the form that transformers and AdapterHub's library load."""
    from safetensors.numpy import save

    own = {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in arrays.items()}
    path.write_bytes(save(own, metadata={"format": "pt"}))
