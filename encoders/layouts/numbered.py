"""Maps formats to a checkpoint's numbered parts, such as tasks or experts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from corpora.errors import InputError
from encoders.layouts.own_card import CARD_FILE, by_format, read_own
from encoders.models.formats import Format


def numbered_heads(folder: Path, key: str, count: int, usual: Mapping[Format, int]) -> dict[Format, str]:
    """Return the heads of a model whose parts are known by number.

    Args:
        folder: Whose own card may tell them, under the key.
        key: What the parts are called there.
        count: How many there are.
        usual: Those that stand if the card tells none; empty if nobody can know.

    Returns:
        The part's number as a string, by format.

    Raises:
        InputError: If the parts are not known, or the card names one that there isn't.
    """
    path, own = folder / CARD_FILE, read_own(folder)
    given = own.get(key, {task_format.value: number for task_format, number in usual.items()})
    if not given or not isinstance(given, dict):
        example = json.dumps({key: {"prx": 0, "qry": 0}})
        raise InputError(f"{path} must say which of the model's {count} {key} serves which format, such as {example}.")
    chosen = by_format(path, key, given, int)
    if wrong := sorted({number for number in chosen.values() if not 0 <= number < count}):
        raise InputError(f"{path} sets {key} to {wrong[0]}, and the model's are numbered 0 to {count - 1}.")
    return {task_format: str(chosen[task_format]) for task_format in Format if task_format in chosen}
