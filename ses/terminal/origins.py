"""The source of each setting in force."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ses.default_index import chosen_index, default_file
from ses.settings import SETTINGS, Settings, from_environment, variable_of
from ses.settings_files import read_settings_files


@dataclass(frozen=True, slots=True)
class Origin:
    """A setting in force.

    Attributes:
        name: Of the setting.
        value: As text; of a secret only whether it is set.
        source: `flag`, the environment's variable, the file's path, or `default`.
    """

    name: str
    value: str
    source: str


def origins(settings: Settings, flags: Mapping[str, Any]) -> tuple[Origin, ...]:
    """Return all settings with their values and where those come from.

    Args:
        settings: As `load_settings` returned them for those flags.
        flags: By setting; None where the user gave none.

    Returns:
        In the order of `Settings`.
    """
    environment, files = from_environment(), read_settings_files()

    def source(name: str) -> str:
        if flags.get(name) is not None:
            return "flag"
        if name in environment:
            return variable_of(name)
        if place := files.place_of(name):
            return str(place)
        return str(default_file(settings)) if name == "index" and chosen else "default"

    chosen = chosen_index(settings)
    in_force = {
        "engine": settings.engine_url,
        "model": settings.model_name,
        "index": settings.index or chosen,
    }
    return tuple(
        Origin(name, _shown(name, in_force.get(name, getattr(settings, name))), source(name)) for name in SETTINGS
    )


def _shown(name: str, value: Any) -> str:
    if not SETTINGS[name].repr:  # a secret
        return "set" if value else "not set"
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
