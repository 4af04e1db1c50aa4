"""Tables of settings, what a setting can be, and the files that set it: the user's own, and that of the folder.

A table is a frozen dataclass; each setting is annotated as `Annotated[type, Option(...)]`. From that are made the check
of its values, the variable of the environment, the option of a command and the table of the documentation.

The folder in which ses runs may be somebody else's, so its file may not decide who receives secrets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, Literal, TypeVar, get_origin

from corpora.documents import read_toml
from corpora.errors import InputError
from corpora.options import Option, options_of
from ses.argument_validation import nearest

T = TypeVar("T")

_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}

_SWITCHED = {
    **dict.fromkeys(("true", "1", "yes", "on", "y", "t"), True),
    **dict.fromkeys(("false", "0", "no", "off", "n", "f"), False),
}


def text(value: Any) -> str:
    """Read a text."""
    if not isinstance(value, str):
        raise TypeError("give a text")
    return value


def path(value: Any) -> Path:
    """Read a path."""
    if not isinstance(value, str | Path):
        raise TypeError("give a path")
    return Path(value)


def existing_file(value: Any) -> Path:
    """Read the path of a file that exists."""
    if not path(value).is_file():
        raise ValueError("there is no such file")
    return path(value)


def switch(value: Any) -> bool:
    """Read true or false, also as `1`, `yes` or `on`, and `0`, `no` or `off`."""
    known = _SWITCHED.get(str(value).lower())
    if known is None:
        raise ValueError("give true or false")
    return known


def texts(value: Any) -> tuple[str, ...]:
    """Read a list of texts, or texts with commas between them."""
    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(one, str) for one in listed):
        raise TypeError("give a list of texts")
    return tuple(one.strip() for one in listed if one.strip())


def networks(value: Any) -> tuple[IPv4Network | IPv6Network, ...]:
    """Read a list of networks and addresses, such as `10.0.0.0/8`."""
    try:
        return tuple(ip_network(one) for one in texts(value))
    except ValueError as error:
        raise ValueError("give networks such as 10.0.0.0/8, and addresses") from error


def matching(pattern: str, example: str) -> Callable[[Any], tuple[str, ...]]:
    """Return a reader of a list of texts of a form, in small letters."""

    def read(value: Any) -> tuple[str, ...]:
        listed = tuple(one.lower() for one in texts(value))
        if not all(re.fullmatch(pattern, one) for one in listed):
            raise ValueError(f"give texts such as {example}")
        return listed

    return read


def rate(value: Any) -> tuple[int, int] | None:
    """Read a rate such as `600/minute` as a number and its seconds, and `off` as None."""
    if value == "off":
        return None
    found = re.fullmatch(r"([1-9]\d{0,8})/(second|minute|hour|day)", text(value))
    if not found:
        raise ValueError("give a rate such as 600/minute, by second, minute, hour or day, or off")
    return int(found[1]), _SECONDS[found[2]]


@dataclass(frozen=True, slots=True)
class SettingsLayer:
    """Settings that one place gives.

    Attributes:
        values: Values by setting.
        hint: What to do about a wrong value; `{0}` is the name of the setting, and `{1}` its name in capital letters.
        unknown: What to do about a name that is no setting.
    """

    values: Mapping[str, Any]
    hint: str
    unknown: str = ""


def read_table(table: type[T], layers: Sequence[SettingsLayer], of: str = "") -> T:
    """Return a table of settings from the places that give them, the strongest last; only values in force are read.

    The table is a dataclass that describes each setting by an `Option`, and `of` says in messages what the settings are
    of. Raises `InputError` if there is no such setting, or it can't have such a value; that of a secret is not shown.
    """
    options = {one.name: one for one in options_of(table)}
    given: dict[str, tuple[Any, str]] = {}
    for layer in layers:
        if unknown := next((name for name in layer.values if name not in options), ""):
            raise InputError(
                f"There is no setting {unknown}{of}{nearest(unknown, options)}", layer.unknown or layer.hint
            )
        given |= {name: (value, layer.hint.format(name, name.upper())) for name, value in layer.values.items()}
    return table(**{name: _checked_setting(options[name], value, hint) for name, (value, hint) in given.items()})


def _checked_setting(option: Option, given: Any, hint: str) -> Any:
    try:
        value = _read_setting(option, given)
    except (TypeError, ValueError) as error:
        shown = "so" if option.secret else repr(given)[:80]
        raise InputError(f"The setting {option.name} can't be {shown} ({error})", hint) from error
    # TOML can write it, and no path, header or address can hold it.
    if "\0" in str(value):
        raise InputError(f"The setting {option.name} can't hold a null character", hint)
    return value


def _read_setting(option: Option, given: Any) -> Any:
    """Return the value of a setting; a `ValueError` or `TypeError` says what to give."""
    if option.reader:
        return option.reader(given)
    kind = get_origin(option.type) or option.type
    if kind in (int, float):
        return _number(option, given)
    if kind is Literal and given not in option.values:
        raise ValueError(f"give one of {', '.join(option.values)}")
    read: Callable[[Any], Any] = _READERS.get(kind, text)
    value = read(given)
    if kind is tuple and option.values and not set(value) <= set(option.values):
        raise ValueError(f"give some of {', '.join(option.values)}")
    return value


_READERS: dict[Any, Callable[[Any], Any]] = {bool: switch, Path: path, tuple: texts}


def _number(option: Option, given: Any) -> float:
    try:
        number = float("" if isinstance(given, bool) else given)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")  # which is within no bounds
    whole = option.type is int
    if not option.allows(number) or (whole and not number.is_integer()):
        raise ValueError(f"give {option.number_text}")
    return int(number) if whole else number


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

        Settings of the environment and flags are stronger. Raises `InputError` if the folder's file and the user's
        settings combine so.
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
