"""Adapters of AdapterHub on a base, and their fusions: those of SPECTER2, of SciRepEval, and of users.

A folder's `ses_card.json` names them: `{"architecture": "adapters", "base": "allenai/specter2_base", "adapters":
{"prx": "../my-adapter", "qry": "allenai/specter2_adhoc_query@main"}}`, and for fusion also `"fusions": {"prx": ...}`.
Paths are relative to the folder; a format whose path is empty has the base's own vectors. A model that was itself
downloaded can name what is on the hub alone.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from corpora.checksums import sha256_of, sha256_of_text
from corpora.errors import InputError
from encoders.layouts.adapter_files import (
    FUSIONS,
    Adapter,
    cant_run,
    fusion_parts,
    read_made_for,
    read_module,
    weights_in,
)
from encoders.layouts.adapter_kinds import FILES, read_adapter
from encoders.layouts.huggingface import base_of
from encoders.layouts.own_card import CARD_FILE, by_format, read_own
from encoders.models.card import ModelCard
from encoders.models.formats import Format
from encoders.models.hub import fetch, is_hub_id
from encoders.models.model import Find, Model, Weights

FUSION_CONFIG = "adapter_fusion_config.json"
FUSION_SAFETENSORS = "model_adapter_fusion.safetensors"
FUSION_TORCH = "pytorch_model_adapter_fusion.bin"

BASE = "base"
"""The head of formats without an adapter."""

FUSION_FILES = (FUSION_CONFIG, FUSION_SAFETENSORS, FUSION_TORCH)


def recognizes(path: Path) -> bool:
    """Return whether a folder that holds an adapter's configuration is an adapter and no network."""
    return not (path / "config.json").is_file()


def read(folder: Path, name: str, find: Find) -> Model:
    """Read a model that a folder's own card makes of a base and adapters, and of fusions if it names some."""
    own = read_own(folder)
    if own.get("architecture") not in ("adapters", "fusion"):
        raise InputError(
            f"{name} is an adapter, not a complete model",
            "give <model=specter2>, a folder of its network and of adapters named prx, qry, clf and rgn, or one whose "
            f"{CARD_FILE} names base and adapters (docs/encoders.md)",
        )
    given = own.get("adapters")
    plain = [key for key, value in given.items() if value == ""] if isinstance(given, dict) else []
    named = {key: value for key, value in given.items() if key not in plain} if isinstance(given, dict) else given
    adapters = _folders(folder, name, "adapters", named, FILES)
    if "fusions" not in own and own["architecture"] == "fusion":
        raise InputError(f"{folder / CARD_FILE} asks for fusion and names no fusions.")
    fusions = _folders(folder, name, "fusions", own["fusions"], FUSION_FILES) if "fusions" in own else {}
    own_vectors = tuple(by_format(folder / CARD_FILE, "adapters", dict.fromkeys(plain, "")))
    return compose(name, base_of(folder, find), adapters, fusions, own_vectors)


def compose(
    name: str,
    base: Model,
    adapters: Mapping[Format, Path],
    fusions: Mapping[Format, Path],
    plain: Sequence[Format] = (),
) -> Model:
    """Put adapters and fusions on a base; formats in `plain` have its own vectors. `InputError` if they don't fit."""
    adapter_heads, fusion_heads = _heads(adapters), _heads(fusions)
    found = {head: read_adapter(adapters[Format(head)], base.card) for head in _distinct(adapter_heads)}
    fused = {head: read_fusion(fusions[Format(head)], base.card) for head in _distinct(fusion_heads)}
    for head, fusion in fused.items():
        _check_fuses(fusions[Format(head)], fusion, found)
    facts = {head: one.facts for head, one in found.items()}
    layers = {head: sorted(one.layers) for head, one in found.items()}
    network = base.card.network
    if fused and plain:
        raise InputError(f"{name} fuses adapters; name an adapter for {plain[0]} too.")
    adapter_heads |= dict.fromkeys(plain, BASE)
    digests = {
        "base": base.card.weights_sha256,
        "adapters": _by_format(adapter_heads, {BASE: ""} | {head: sha256_of(one.file) for head, one in found.items()}),
        "fusions": _by_format(fusion_heads, {head: sha256_of(one.file) for head, one in fused.items()}),
    }
    changes: dict[str, Any] = {BASE: []} | {head: [facts[head], layers[head]] for head in facts}
    settings = {"base": base.card.settings_sha256, "adapters": _by_format(adapter_heads, changes)}
    card = replace(
        base.card,
        name=name,
        architecture="fusion" if fused else "adapters",
        licence="",
        heads=fusion_heads or {one: adapter_heads[one] for one in Format if one in adapter_heads},
        network=replace(
            network,
            shared_layers=min((layer for one in found.values() for layer in one.layers), default=network.layers),
            options={"adapters": facts},
        ),
        weights_sha256=_digest(digests),
        settings_sha256=_digest(settings),
    )
    return Model(card, base.folder, functools.partial(_read, base, found, fused), base=base)


def _folders(folder: Path, name: str, key: str, given: Any, files: tuple[str, ...]) -> dict[Format, Path]:
    path = folder / CARD_FILE
    if not isinstance(given, dict) or not given:
        raise InputError(f"{path} must name {key}, a folder or hub id for each format, such as prx.")
    return {task_format: _folder(folder, name, one, files) for task_format, one in by_format(path, key, given).items()}


def _folder(folder: Path, name: str, given: str, files: tuple[str, ...]) -> Path:
    """Return the folder that a card names; on this machine only if the card was not itself downloaded."""
    try:
        local = (folder / Path(given).expanduser()).resolve()
        if not is_hub_id(name) and local.is_dir():
            return local
    except (OSError, RuntimeError, ValueError):  # a name too long, an unknown ~user, a null byte
        pass
    if is_hub_id(given):
        return fetch(given, files)
    raise InputError(
        f"{folder / CARD_FILE} names {given!r}, which is neither a folder nor a hub id such as "
        "allenai/specter2_adhoc_query."
    )


def _heads(folders: Mapping[Format, Path]) -> dict[Format, str]:
    """Return each format's head: the first format that names the same folder."""
    given = [task_format for task_format in Format if task_format in folders]
    return {one: next(other.value for other in given if folders[other] == folders[one]) for one in given}


def _distinct(heads: Mapping[Format, str]) -> list[str]:
    return list(dict.fromkeys(heads.values()))


def _by_format(heads: Mapping[Format, str], facts: Mapping[str, Any]) -> dict[str, Any]:
    return {task_format.value: facts[head] for task_format, head in heads.items()}


def _digest(facts: Mapping[str, Any]) -> str:
    return sha256_of_text(json.dumps(facts, sort_keys=True))


def _check_fuses(folder: Path, fusion: AdapterFusion, adapters: Mapping[str, Adapter]) -> None:
    """Check that a fusion is over all adapters, and that they are bottlenecks. Their order does not matter."""
    for adapter in adapters.values():
        if not adapter.fusible:
            raise InputError(f"{folder} fuses {adapter.name}, and only bottleneck adapters can be fused; leave it out.")
    own_names = sorted(adapter.name for adapter in adapters.values())
    codes = sorted(Format(head).code for head in adapters)
    if sorted(fusion.adapters) not in (own_names, codes):
        raise InputError(
            f"{folder} fuses {', '.join(fusion.adapters)}, and the model has the adapters {', '.join(own_names)}; "
            "name all that it fuses and no others."
        )


def _read(base: Model, adapters: Mapping[str, Adapter], fusions: Mapping[str, AdapterFusion]) -> Weights:
    card, weights = base.card, dict(base.read())
    for head, adapter in adapters.items():
        weights |= adapter.read(weights, head)
    used = {layer for adapter in adapters.values() for layer in adapter.layers}
    everywhere = dict.fromkeys(range(card.network.layers), fusion_parts(card.network.width))
    for head, fusion in fusions.items():
        # The library writes a fusion in every layer, also where no adapter is.
        weights |= read_module(fusion.file, FUSIONS, fusion.name, everywhere, head, card.name, used)
    return weights


DYNAMIC = {
    "key": True,
    "query": True,
    "value": True,
    "query_before_ln": False,
    "residual_before": False,
    "temperature": False,
}
"""What changes the formula, as `dynamic` has it. Values before or after the softmax are the same: both are linear."""


@dataclass(frozen=True, slots=True)
class AdapterFusion:
    """A fusion whose configuration was read: the file of its weights, its name there, and its adapters' names."""

    file: Path
    name: str
    adapters: tuple[str, ...]


def read_fusion(folder: Path, base: ModelCard) -> AdapterFusion:
    """Read a fusion's folder, for a network; `InputError` unless it is `dynamic` and was made for that network."""
    path = folder / FUSION_CONFIG
    content = read_made_for(path, base)
    if missing := [key for key in DYNAMIC if key not in content["config"]]:
        raise InputError(f"{path} lacks {', '.join(missing)}; fetch the fusion again.")
    for key, expected in DYNAMIC.items():
        if content["config"][key] != expected:
            raise cant_run(path, key, content["config"][key], "fusions of the configuration dynamic alone")
    # The library tells them apart only since 1.0; before, they were the name.
    adapters = content.get("adapter_names") or content["name"].split(",")
    if not isinstance(adapters, list) or not all(isinstance(one, str) for one in adapters):
        raise InputError(f"{path} doesn't tell which adapters it fuses; fetch the fusion again.")
    return AdapterFusion(weights_in(folder, FUSION_SAFETENSORS, FUSION_TORCH), content["name"], tuple(adapters))
