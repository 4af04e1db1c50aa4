"""A folder of a network and its adapters, as AdapterHub's library saves them: no card is needed.

The network is in the folder itself or in one folder of it, or the `base` of a `ses_card.json` names it. Each adapter is
in a folder that is named after its format (`prx`, `[PRX]`) or as its publisher named it (`specter2_adhoc_query`), or
has such a name in its configuration.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from corpora.errors import InputError, short_list
from encoders.layouts import huggingface
from encoders.layouts.adapter_files import CONFIG
from encoders.layouts.adapterhub import FUSION_CONFIG, compose
from encoders.layouts.own_card import CARD_FILE, read_own
from encoders.models.folder import read_json
from encoders.models.formats import Format
from encoders.models.model import Find, Model

_TASKS = {
    Format.PRX: ("prx", "proximity", ""),
    Format.QRY: ("qry", "adhoc_query"),
    Format.CLF: ("clf", "classification"),
    Format.RGN: ("rgn", "regression"),
}
"""What names of adapters say of their formats. The set's name alone is proximity: `specter2`."""

_SET = re.compile(r"(?:specter2(?:_aug2023refresh)?|scirepeval_adapters)(?:_|$)")
"""The published sets: allenai/specter2_classification, allenai/scirepeval_adapters_clf."""


def recognizes(path: Path) -> bool:
    """Return whether a folder that holds adapters is such a model: its own card must not say what it is."""
    return "architecture" not in read_own(path)


def read(folder: Path, name: str, find: Find) -> Model:
    """Read the network and the adapters of a folder; `InputError` if it isn't clear which they are."""
    card, adapters = folder / CARD_FILE, list(_holding(folder, CONFIG))
    if fused := list(_holding(folder, FUSION_CONFIG)):
        raise InputError(f"{fused[0]} fuses adapters: name base, adapters and fusions in {card} (docs/encoders.md).")
    found: dict[Format, Path] = {}
    for place in adapters:
        task_format = format_of(place)
        if task_format is None or task_format in found:
            problem = f"has the same format as {found[task_format]}" if task_format else "has a name without a format"
            raise InputError(
                f"The adapter {place} {problem}: name its folder prx, qry, clf or rgn, or name base and adapters in "
                f'{card} (docs/encoders.md), where {{"architecture": "plain"}} is the network without adapters.'
            )
        found[task_format] = place
    return compose(name, network_in(folder, name, find), found, {})


def format_of(adapter: Path) -> Format | None:
    """Return the format that the name of an adapter's folder tells, or else its configuration; None if neither does."""
    named = str(read_json(adapter / CONFIG, dict).get("name", ""))
    for text in (adapter.name, named):
        plain = text.lower().replace("-", "_").strip("[]_ ")
        task = _SET.sub("", plain)
        for task_format, tasks in _TASKS.items():
            if plain and task in tasks:
                return task_format
    return None


def network_in(folder: Path, name: str, find: Find) -> Model:
    """Return the network that adapters of a folder are on; `InputError` if it isn't clear which one that is."""
    if "base" in read_own(folder):
        return huggingface.base_of(folder, find)
    if huggingface.recognizes(folder):
        return huggingface.read(folder, name, find)
    networks = [one for one in _holding(folder, "config.json") if not (one / CONFIG).is_file()]
    if len(networks) != 1:
        held = f"the networks {short_list(networks)}" if networks else "no network"
        raise InputError(
            f"{folder} holds adapters and {held}: put the one that they were trained on there, or name it as base in "
            f"{folder / CARD_FILE}, such as allenai/specter2_base (docs/encoders.md)."
        )
    return find(str(networks[0]))


def _holding(folder: Path, file: str) -> Iterator[Path]:
    """Yield the folders within a folder, and within those, that hold a file."""
    yield from sorted({path.parent for pattern in (f"*/{file}", f"*/*/{file}") for path in folder.glob(pattern)})
