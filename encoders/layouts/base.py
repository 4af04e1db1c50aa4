"""The network that a model adds something to."""

from __future__ import annotations

from pathlib import Path

from corpora.errors import InputError
from encoders.layouts import huggingface
from encoders.layouts.own_card import CARD_FILE, read_own
from encoders.models.model import Find, Model


def base_of(folder: Path, find: Find) -> Model:
    """Find the network that a folder's own card names as its `base`, or that the folder itself contains.

    Args:
        folder: Holds a `ses_card.json`.
        find: Finds models by name; paths are relative to the folder.

    Returns:
        The network.

    Raises:
        InputError: If there is none, or it is more than a plain network.
    """
    own = read_own(folder)
    name = own.get("base")
    if "base" not in own:
        if not huggingface.recognizes(folder):
            raise InputError(f"{folder / CARD_FILE} names no base, and there is no network in the folder either.")
        return huggingface.read(folder, str(folder), find)
    if not isinstance(name, str):
        raise InputError(f"{folder / CARD_FILE} sets base to {name!r}, which is not the name of a model.")
    base = find(located(folder, name))
    if base.card.architecture != "plain":
        raise InputError(
            f"{folder / CARD_FILE} builds on {base.card.name}, whose architecture is {base.card.architecture}; "
            "name a plain network as its base."
        )
    return base


def located(folder: Path, name: str) -> str:
    """Return a model's name, as a whole path if it is a path that starts at the folder."""
    return str(folder / name) if (folder / name).exists() else name
