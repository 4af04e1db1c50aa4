"""Models made of others by a `ses_card.json`: ensembles, and a model for each format.

`{"architecture": "ensemble", "members": ["specter2", "../my-codes"], "combine": "mean"}` or `"concat"`;
`{"architecture": "routes", "members": {"qry": "../queries", "prx": "../papers"}}`.
Paths are relative to the folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from corpora.checksums import sha256_of_text
from corpora.errors import InputError, require
from encoders.layouts.huggingface import located
from encoders.layouts.own_card import CARD_FILE, by_format, read_own
from encoders.models.formats import Format
from encoders.models.model import Find, Model

_FEWEST = 2
_OF_TEXTS = ("similarity", "separator", "empty_parts")


def read(folder: Path, name: str, find: Find) -> Model:
    """Read an ensemble or routes, which have no weights of their own."""
    own, path = read_own(folder), folder / CARD_FILE
    if own["architecture"] == "routes":
        return routes(name, folder, _members(path, own, dict, find))
    members = _members(path, own, list, find)
    combine = own.get("combine", "mean")
    require(combine in ("mean", "concat"), f"{path} asks to combine by {combine!r}; choose mean or concat.")
    return _ensemble(name, folder, members, combine)


def routes(name: str, folder: Path, members: Mapping[str, Model]) -> Model:
    """Return a model that takes each format from another; `InputError` if one lacks its format, or they don't fit."""
    by = by_format(folder / CARD_FILE, "members", members, Model)
    _check_alike(name, members, ("dimension", *_OF_TEXTS))
    for task_format, member in by.items():
        member.card.head(task_format)
    model, papers = _composed("routes", name, folder, members, tuple(by), {}), by.get(Format.PRX)
    # So its queries may ask an index that this member has made.
    return replace(model, card=replace(model.card, papers_by=papers.card.fingerprint)) if papers else model


def _ensemble(name: str, folder: Path, members: Mapping[str, Model], combine: str) -> Model:
    shared = _OF_TEXTS if combine == "concat" else ("dimension", *_OF_TEXTS)
    _check_alike(name, members, shared)
    kept = [set(member.card.formats) for member in members.values()]
    formats = tuple(task_format for task_format in Format if all(task_format in one for one in kept))
    model = _composed("ensemble", name, folder, members, formats, {"combine": combine})
    cards = [member.card for member in members.values()]
    dimension = sum(card.dimension for card in cards) if combine == "concat" else cards[0].dimension
    # The mean of unit vectors is shorter: cosine does not mind, and no other similarity is promised for them.
    return replace(model, card=replace(model.card, dimension=dimension))


def _composed(
    architecture: str,
    name: str,
    folder: Path,
    members: Mapping[str, Model],
    formats: tuple[Format, ...],
    options: Mapping[str, Any],
) -> Model:
    prints = "\n".join(f"{key} {member.card.fingerprint}" for key, member in members.items())
    first = next(iter(members.values())).card
    card = replace(
        first,
        name=name,
        architecture=architecture,
        max_tokens=max(member.card.max_tokens for member in members.values()),
        licence="",
        prompts={},
        heads={task_format: task_format.value for task_format in formats},
        network=replace(first.network, options=options),
        weights_sha256=sha256_of_text(prints),
        settings_sha256="",
    )
    return Model(card, folder, dict, members)


def _members(path: Path, own: Mapping[str, Any], kind: type, find: Find) -> dict[str, Model]:
    given = own["members"] if isinstance(own.get("members"), kind) else kind()
    named: dict[Any, Any] = dict(enumerate(given)) if isinstance(given, list) else given
    if len(named) < _FEWEST or not all(isinstance(one, str) for one in named.values()):
        shape = "a list of two or more models" if kind is list else "a model for each of two or more formats"
        raise InputError(f"{path} must name its members: {shape}.")
    members = {str(key): find(located(path.parent, one)) for key, one in named.items()}
    for member in members.values():
        if member.members:
            raise InputError(f"{path} is made of {member.card.name}, which is made of others; name those instead.")
    return members


def _check_alike(name: str, members: Mapping[str, Model], attributes: tuple[str, ...]) -> None:
    for attribute in attributes:
        values = {member.card.name: getattr(member.card, attribute) for member in members.values()}
        if len(set(values.values())) > 1:
            found = ", ".join(f"{value} in {member}" for member, value in values.items())
            raise InputError(f"The members of {name} must have the same {attribute}, and it is {found}.")
