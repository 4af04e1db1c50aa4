"""Joins formats that were trained separately into one model.

Each model is a folder of adapters on the same base. Formats that none of them has keep the base's own vectors.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from corpora.errors import InputError
from encoders.heads import read_heads, write_heads
from encoders.layouts.own_card import CARD_FILE, read_own
from encoders.models.folder import write_json, writing
from encoders.models.formats import Format


def join_models(models: Sequence[Path], output: Path) -> None:
    """Write a model with the adapters and the heads of several into a folder that does not exist yet.

    The models are folders as training writes them. Raises `InputError` if a folder is no such model, two bring the same
    format, or their bases differ, and `UnavailableError` if the folder can't be written.
    """
    cards = {folder: read_own(folder) for folder in models}
    if output.exists():
        raise InputError(f"{output} exists already; name another folder.")
    for folder, card in cards.items():
        if card.get("architecture") != "adapters":
            raise InputError(
                f"{folder} is no model of adapters", "give folders of models that were trained as adapters"
            )
    if len(bases := sorted({str(card["base"]) for card in cards.values()})) != 1:
        raise InputError(f"The models have the bases {', '.join(bases) or '(none)'}; give models of one base.")
    found: dict[str, Path] = {}
    for folder, card in cards.items():
        for key in (key for key, place in card["adapters"].items() if place):
            place = folder / card["adapters"][key]
            if key in found:
                raise InputError(f"{found[key]} and {place} both bring {key}; give one model for each format.")
            found[key] = place
    adapters = {one.value: f"adapters/{one}" if one.value in found else "" for one in Format}
    with writing(output):
        for key, place in found.items():
            shutil.copytree(place, output / adapters[key])
        write_json(output / CARD_FILE, {"architecture": "adapters", "base": bases[0], "adapters": adapters})
        if heads := [head for folder in models for head in read_heads(folder).values()]:
            write_heads(output, heads)
