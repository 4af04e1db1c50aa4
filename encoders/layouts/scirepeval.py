"""The output of SciRepEval's training: a network in `model/` and its tokenizer in `tokenizer/`.

The network is plain (multi-task training, with control codes or without) or has PALs. Adapters are in
`model/adapters/[PRX]/` and similar folders, fusions in `model/[PRX]_fusion/`. Its code writes no base beside adapters:
it is in `model/` if someone put it there, or the `base` of a `ses_card.json` in the folder names it.
"""

from __future__ import annotations

from pathlib import Path

from corpora.errors import InputError
from encoders.layouts import adapter_files, adapter_folders, adapterhub, huggingface, pals
from encoders.layouts.adapterhub import compose
from encoders.layouts.own_card import CARD_FILE, read_own
from encoders.models.formats import Format
from encoders.models.model import Find, Model

_TOKENIZER = ("tokenizer.json", "vocab.txt")


def recognizes(path: Path) -> bool:
    """Return whether a folder is such a tree, or the `model/` of one."""
    return _model_folder(path) is not None


def read(folder: Path, name: str, find: Find) -> Model:
    """Read a tree, or the `model/` of one: its network, or its adapters, fused if there are fusions."""
    model = _model_folder(folder) or folder
    adapters, fusions = _adapters(model), _fusions(model)
    if not adapters and not fusions:
        read_network = pals.read if pals.recognizes(model) else huggingface.read
        return read_network(model, name, find, _tokenizer(model))
    if not adapters:
        raise InputError(
            f"{model} holds fusions and not the adapters that they fuse: put those into its folder adapters, or name "
            f"base, adapters and fusions in a {CARD_FILE} (docs/encoders.md)."
        )
    if huggingface.recognizes(model) and "base" not in read_own(folder):
        base = huggingface.read(model, name, find, _tokenizer(model))
    else:
        base = adapter_folders.network_in(folder, name, find)
    return compose(name, base, adapters, fusions)


def _model_folder(path: Path) -> Path | None:
    for model in (path / "model", path):
        if _adapters(model) or _fusions(model) or (huggingface.recognizes(model) and _tokenizer(model)):
            return model
    return None


def _tokenizer(model: Path) -> Path | None:
    """Return the folder beside a model that holds its tokenizer, if the model's own doesn't."""
    beside = model.parent / "tokenizer"
    own, other = (any((folder / name).is_file() for name in _TOKENIZER) for folder in (model, beside))
    return beside if model.name == "model" and other and not own else None


def _adapters(model: Path) -> dict[Format, Path]:
    folders = {task_format: model / "adapters" / task_format.code for task_format in Format}
    return {key: folder for key, folder in folders.items() if (folder / adapter_files.CONFIG).is_file()}


def _fusions(model: Path) -> dict[Format, Path]:
    folders = {task_format: model / f"{task_format.code}_fusion" for task_format in Format}
    return {key: folder for key, folder in folders.items() if (folder / adapterhub.FUSION_CONFIG).is_file()}
