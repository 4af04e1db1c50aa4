"""What SciRepEval's training leaves: `tokenizer/`, `model/adapters/[PRX]/` and its like, and `model/[PRX]_fusion/`.

Its code writes no base beside adapters: it lies in `model/` if someone put it there, or the `base` of a `ses_card.json`
in the folder names it.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from corpora.errors import InputError
from encoders.formats import Format
from encoders.layouts import adapter_config, adapter_fusion, huggingface
from encoders.layouts.adapterhub import compose
from encoders.layouts.base import base_of
from encoders.layouts.json_files import read_json
from encoders.layouts.own_card import CARD_FILE, read_own
from encoders.model import Find, Model
from encoders.weights import sha256_of


def recognizes(path: Path) -> bool:
    """Return whether a folder is such a tree, or the `model/` of one."""
    return path.is_dir() and _model_folder(path) is not None


def read(folder: Path, name: str, find: Find) -> Model:
    """Read a tree of adapters, fused if there are fusions.

    Args:
        folder: The tree, or the `model/` of one.
        name: What to call the model.
        find: Finds its base, if a card names one.

    Returns:
        The model.

    Raises:
        InputError: If there is no base, or parts are missing, damaged, or don't go together.
        UnavailableError: If the base can't be fetched.
    """
    model = _model_folder(folder) or folder
    adapters, fusions = _adapters(model), _fusions(model)
    if not adapters:
        raise InputError(
            f"{model} holds fusions and not the adapters that they fuse: put those into its folder adapters, or name "
            f"base, adapters and fusions in a {CARD_FILE} (docs/encoders.md)."
        )
    if "base" in read_own(folder):
        base = base_of(folder, find)
    elif huggingface.recognizes(model):
        base = _with_tokenizer(huggingface.read(model, name, find), model.parent / "tokenizer")
    else:
        raise InputError(
            f"{folder} holds adapters and no base: name the model that they were trained on as `base` in "
            f"{folder / CARD_FILE}."
        )
    return compose(name, base, adapters, fusions)


def _model_folder(path: Path) -> Path | None:
    return next((folder for folder in (path / "model", path) if _adapters(folder) or _fusions(folder)), None)


def _adapters(model: Path) -> dict[Format, Path]:
    folders = {task_format: model / "adapters" / task_format.code for task_format in Format}
    return {key: folder for key, folder in folders.items() if (folder / adapter_config.CONFIG).is_file()}


def _fusions(model: Path) -> dict[Format, Path]:
    folders = {task_format: model / f"{task_format.code}_fusion" for task_format in Format}
    return {key: folder for key, folder in folders.items() if (folder / adapter_fusion.CONFIG).is_file()}


def _with_tokenizer(base: Model, folder: Path) -> Model:
    """Return a base whose tokenizer lies in a folder of its own, if it does."""
    files = [folder / name for name in ("tokenizer.json", "vocab.txt", "tokenizer_config.json")]
    digests = [sha256_of(path) for path in files if path.is_file()]
    if not digests:
        return base
    config = read_json(files[-1], dict, missing={})
    separator = config.get("sep_token")
    if isinstance(separator, dict):
        separator = separator.get("content")
    card = replace(
        base.card,
        separator=str(separator or base.card.separator),
        lowercase=bool(config.get("do_lower_case", base.card.lowercase)),
        settings_sha256=hashlib.sha256(" ".join([base.card.settings_sha256, *digests]).encode()).hexdigest(),
    )
    return replace(base, card=card, folder=folder)
