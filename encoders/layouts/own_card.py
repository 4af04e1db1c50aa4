"""`ses_card.json`: settings of a folder for which other files have none or wrong ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from corpora.errors import InputError
from encoders.models.card import ModelCard
from encoders.models.folder import read_json
from encoders.models.formats import Format

CARD_FILE = "ses_card.json"

_KINDS = {
    "pooling": str,
    "normalize": bool,
    "similarity": str,
    "separator": str,
    "empty_parts": str,
    "max_tokens": int,
    "licence": str,
    "prompts": dict,
}
_CHOICES = {
    "pooling": ("cls", "mean", "code"),
    "similarity": ("cosine", "dot", "l2"),
    "empty_parts": ("dropped", "kept"),
}
_OF_CARD = ("similarity", "separator", "empty_parts", "max_tokens", "licence")
COMPOSED = (
    "architecture",
    "base",
    "adapters",
    "fusions",
    "tasks",
    "experts",
    "instructions",
    "instructor",
    "members",
    "combine",
    "stands_in_for",
)
"""Read by the layouts to which they belong."""

_IN_WORDS = {str: "a string", bool: "true or false", int: "a whole number", dict: "an object"}
_FEWEST_TOKENS = 4  # [CLS], a control code, one token of text, [SEP]


def read_own(folder: Path) -> dict[str, Any]:
    """Return what a folder's own card sets, nothing if it has none; `InputError` if that can't be."""
    path = folder / CARD_FILE
    own: dict[str, Any] = read_json(path, dict, missing={})
    if unknown := sorted(set(own) - set(_KINDS) - set(COMPOSED)):
        known = ", ".join(sorted([*_KINDS, *COMPOSED]))
        raise InputError(f"{path} sets {', '.join(unknown)}; it may set only {known}.")
    for key, kind in _KINDS.items():
        if key in own and type(own[key]) is not kind:
            raise InputError(f"{path} sets {key} to {own[key]!r}, which is not {_IN_WORDS[kind]}.")
    return own


def by_format(path: Path, key: str, given: Mapping[str, Any], kind: type = str) -> dict[Format, Any]:
    """Return what a card tells for each format; `InputError` if a format or a value can't be."""
    known = {task_format.value: task_format for task_format in Format}
    if unknown := sorted(set(given) - set(known)):
        raise InputError(f"{path} sets {key} for {', '.join(unknown)}; the formats are {', '.join(known)}.")
    if not all(type(value) is kind for value in given.values()):
        raise InputError(f"{path} sets {key} to something that is not {_IN_WORDS[kind]} for each format.")
    return {known[name]: value for name, value in given.items()}


def with_own_card(card: ModelCard, folder: Path) -> ModelCard:
    """Return a card with what its folder's own card sets, or raise `InputError` if that can't be."""
    path, own, network = folder / CARD_FILE, read_own(folder), card.network
    limit = network.positions - network.first_position
    for key, choices in _CHOICES.items():
        if own.get(key, choices[0]) not in choices:
            known = f"{', '.join(choices[:-1])} or {choices[-1]}"
            raise InputError(f"{path} asks for {key} {own[key]!r}; choose {known}.")
    if not _FEWEST_TOKENS <= own.get("max_tokens", limit) <= limit:
        raise InputError(f"{path} asks for max_tokens {own['max_tokens']}; choose {_FEWEST_TOKENS} to {limit}.")
    if own.get("pooling") == "code" and card.architecture == "plain" and not card.prompts:
        own.setdefault("prompts", {task_format.value: f"{task_format.code} " for task_format in Format})
    if own.get("pooling") in ("cls", "mean") and card.network.pooling == "code":
        own.setdefault("prompts", {})
    prompts = by_format(path, "prompts", own["prompts"]) if "prompts" in own else card.prompts
    network = replace(network, **{key: own[key] for key in ("pooling", "normalize") if key in own})
    rest = {key: own[key] for key in _OF_CARD if key in own}
    return replace(card, network=network, prompts=prompts, **rest)


def numbered_heads(folder: Path, key: str, count: int, usual: Mapping[Format, int]) -> dict[Format, str]:
    """Return the number of each format's part, by the folder's own card, or else as usual; `InputError` if unclear."""
    path, own = folder / CARD_FILE, read_own(folder)
    given = own.get(key, {task_format.value: number for task_format, number in usual.items()})
    if not given or not isinstance(given, dict):
        example = json.dumps({key: {"prx": 0, "qry": 0}})
        raise InputError(f"{path} must say which of the model's {count} {key} serves which format, such as {example}.")
    chosen = by_format(path, key, given, int)
    if wrong := sorted({number for number in chosen.values() if not 0 <= number < count}):
        raise InputError(f"{path} sets {key} to {wrong[0]}, and the model's are numbered 0 to {count - 1}.")
    return {task_format: str(chosen[task_format]) for task_format in Format if task_format in chosen}
