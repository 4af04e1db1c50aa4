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

_ENGINE_SECRETS = ("engine_username", "engine_password", "engine_api_key", "engine_token", "connector_key")
_TRUSTED = {
    "engine": ("an engine", _ENGINE_SECRETS),
    "engine_ca": ("certificates", _ENGINE_SECRETS),
    "crossref_url": ("a server that looks up DOIs", ("contact",)),
}
"""What decides who receives secrets or the user's identity, and which ones."""


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
        """Refuse to send a user's secrets or identity where only the folder's file says, or by its certificates.

        Args:
            stronger: Settings of the environment and flags.

        Raises:
            InputError: If the folder's file and the user's settings combine so.
        """
        users = {**self.own, **stronger}
        engine = str({**users, **self.folder, **stronger}.get("engine") or "")
        for name, (what, private) in _TRUSTED.items():
            given = self.folder.get(name)
            if given is None or name in stronger or _same(given, self.own.get(name)):
                continue
            if private is _ENGINE_SECRETS and not engine.startswith(("http:", "https:")):
                continue
            if sent := next((one for one in private if users.get(one) and self._is_users(one, stronger)), ""):
                raise InputError(
                    f"{FILE.resolve()} names {what} ({str(given)[:200]!r}), and {sent} is set elsewhere, so it would "
                    f"be sent where that file says; if you trust it, set SES_{name.upper()} or {name} in {own_file()} "
                    "to the same, and otherwise leave the folder."
                )

    def _is_users(self, name: str, stronger: Mapping[str, Any]) -> bool:
        return name in stronger or name not in self.folder


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
