"""The files of settings: the user's own, and that of the folder in which ses runs, which may be somebody else's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpora.documents import read_toml
from corpora.errors import InputError

FILE = Path("ses.toml")
_LARGEST = 1 << 20

_SECRETS = ("engine_username", "engine_password", "engine_api_key", "engine_token", "connector_key")
_TRUSTED = {"engine": "an engine", "engine_ca": "certificates"}
"""What decides who receives the secrets."""


@dataclass(frozen=True, slots=True)
class SettingsFiles:
    """What the files set.

    Attributes:
        own: Settings of the user's own file.
        folder: Settings of the file in the folder where ses runs; they override the user's own.
    """

    own: Mapping[str, Any] = field(default_factory=dict)
    folder: Mapping[str, Any] = field(default_factory=dict)

    def place_of(self, name: str) -> Path | None:
        """Return the file that sets a setting."""
        return FILE.resolve() if name in self.folder else own_file() if name in self.own else None

    def check_secrets(self, stronger: Mapping[str, Any]) -> None:
        """Refuse to send a user's secrets to an engine that only the folder's file names, or by its certificates.

        Args:
            stronger: Settings of the environment and flags.

        Raises:
            InputError: If the folder's file and the user's settings combine so.
        """
        users = {**self.own, **stronger}
        engine = {**users, **self.folder, **stronger}.get("engine")
        if not str(engine or "").startswith(("http:", "https:")):
            return
        secret = next(
            (name for name in _SECRETS if users.get(name) and (name in stronger or name not in self.folder)), ""
        )
        for name, what in _TRUSTED.items():
            given = self.folder.get(name)
            if secret and given is not None and name not in stronger and not _same(given, self.own.get(name)):
                raise InputError(
                    f"{FILE.resolve()} names {what} ({str(given)[:200]!r}), and {secret} is set elsewhere, so it would "
                    f"be sent where that file says; if you trust it, set SES_{name.upper()} or {name} in {own_file()} "
                    "to the same, and otherwise leave the folder."
                )


def own_file() -> Path:
    """Return the place of the user's own file of settings."""
    from platformdirs import user_config_path

    return user_config_path("ses") / FILE.name


def read_settings_files() -> SettingsFiles:
    """Return what the files set; `InputError` if one can't be read."""
    own = own_file()
    if FILE.is_file() and own.is_file() and FILE.samefile(own):
        return SettingsFiles(own=_read(own))
    return SettingsFiles(_read(own), _read(FILE))


def _read(path: Path) -> Mapping[str, Any]:
    try:
        return read_toml(path, _LARGEST) if path.is_file() else {}
    except (ValueError, OSError) as error:
        raise InputError(f"{path} can't be read ({error}); correct it or move it away.") from error


def _same(first: object, second: object) -> bool:
    return str(first).rstrip("/") == str(second).rstrip("/")
