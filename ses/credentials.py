"""Credentials of a library that is pickled: they are left out, and another process takes those of its environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from corpora.errors import UnavailableError
from ses.settings import SETTINGS, load_settings, variable_of

if TYPE_CHECKING:
    from ses.settings import Settings


def without_secrets(settings: Settings) -> tuple[Settings, tuple[str, ...]]:
    """Return settings without secrets, and the names of those that were set."""
    secrets = tuple(name for name, one in SETTINGS.items() if not one.repr and getattr(settings, name))
    empty: dict[str, Any] = dict.fromkeys(secrets, "")
    return replace(settings, **empty), secrets


def with_secrets(settings: Settings, secrets: Sequence[str]) -> Settings:
    """Return settings with secrets of this process.

    Args:
        settings: Without secrets.
        secrets: Names of those to add.

    Returns:
        The settings with the secrets that the environment or `ses.toml` sets here.

    Raises:
        UnavailableError: If one is not set here.
    """
    if not secrets:
        return settings
    here = load_settings(engine=settings.engine or None)
    for name in secrets:
        if not getattr(here, name):
            raise UnavailableError(
                f"The library was opened with the setting {name}, and a pickle holds no secrets",
                f"set {variable_of(name)} in this process too",
            )
    return replace(settings, **{name: getattr(here, name) for name in secrets})
