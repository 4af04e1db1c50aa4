"""Settings: defaults < the user's own `ses.toml` < that of the folder < environment (`SES_*`) < flags."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

from platformdirs import user_cache_path, user_data_path

from corpora.errors import InputError, UnavailableError
from encoders.models.formats import Precision
from encoders.tokens.batching import LongText
from search_plugin.contract.connection import Connection
from ses.settings_files import read_settings_files

_PREFIX = "SES_"
_OF_TESTS = ("SES_TEST_", "SES_REQUIRE_LANES")


_Reader = Callable[[Any], Any]
"""Returns the value of a setting, or raises `ValueError` or `TypeError`; a message of it says what to give."""

_SWITCHED = {
    **dict.fromkeys(("true", "1", "yes", "on", "y", "t"), True),
    **dict.fromkeys(("false", "0", "no", "off", "n", "f"), False),
}


def _text(value: Any) -> str:
    """Read a text."""
    if not isinstance(value, str):
        raise TypeError("give a text")
    return value


def _path(value: Any) -> Path:
    """Read a path."""
    if not isinstance(value, str | Path):
        raise TypeError("give a path")
    return Path(value)


def _file(value: Any) -> Path:
    """Read the path of a file that exists."""
    if not _path(value).is_file():
        raise ValueError("there is no such file")
    return _path(value)


def _choice(*allowed: str) -> _Reader:
    """Return a reader of one of some words."""

    def read(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"give one of {', '.join(allowed)}")
        return str(value)

    return read


def _switch(value: Any) -> bool:
    """Read true or false, also as `1`, `yes` or `on`, and `0`, `no` or `off`."""
    known = _SWITCHED.get(str(value).lower())
    if known is None:
        raise ValueError("give true or false")
    return known


def _whole(least: int, most: int) -> _Reader:
    """Return a reader of whole numbers within bounds."""

    def read(value: Any) -> int:
        number = _number(value)
        if not number.is_integer() or not least <= number <= most:
            raise ValueError(f"give a whole number from {least:,} to {most:,}")
        return int(number)

    return read


def _seconds(*, zero: bool) -> _Reader:
    """Return a reader of seconds, which may be 0 or not."""

    def read(value: Any) -> float:
        number = _number(value)
        if not (number > 0 or (zero and number == 0)):
            raise ValueError(f"give a number of seconds, {'0 or more' if zero else 'more than 0'}")
        return number

    return read


def _number(value: Any) -> float:
    try:
        return float("" if isinstance(value, bool) else value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")  # which is within no bounds


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings that apply to every command."""

    data_dir: Annotated[Path, _path] = field(default_factory=lambda: user_data_path("ses"))
    """Folder of corpora, embedded indexes and lists of rejected records."""
    cache_dir: Annotated[Path, _path] = field(default_factory=lambda: user_cache_path("ses"))
    """Folder of built graphs and cached vectors; may be deleted at any time."""
    engine: str = ""
    """Where indexes are kept; an embedded engine in the data folder if empty."""
    index: str = ""
    """The index to search where none is named; if empty, the choice of `ses indexes use`, or the only index."""
    model: str = ""
    """Name, folder or hub id; if empty, the default model for a new index and the index's own for a search."""
    runtime: str | None = None
    """The model's runtime; `auto` for the fastest. If empty: onnx, or the runtime that an exported model is for."""
    precision: Annotated[Precision | None, _choice(*get_args(Precision))] = None
    """`int8`, the default where a runtime has it, is the fastest if there is VNNI (see `ses doctor`)."""
    tuned: Annotated[Path | None, _path] = None
    """File of fitted settings (`ses eval tune`) that searches and new indexes use."""
    synonyms: Annotated[Path | None, _path] = None
    """File of synonyms that searches use beside the words as typed."""
    long_text: Annotated[LongText, _choice(*get_args(LongText))] = "start"
    """The part of a too long text that the model reads: its start, both ends, or all of it as passages."""
    threads: Annotated[int, _whole(0, 1024)] = 0
    """Cores for the model; 0 for all."""
    embedding_cache: Annotated[bool, _switch] = True
    """Whether vectors are kept in the cache folder."""
    engine_username: str = ""
    """For a cluster with basic authentication."""
    engine_password: str = field(default="", repr=False)
    """Password of that user."""
    engine_api_key: str = field(default="", repr=False)
    """API key instead of a user, as the cluster encoded it."""
    engine_token: str = field(default="", repr=False)
    """A bearer token, instead of a user."""
    engine_ca: Annotated[Path | None, _file] = None
    """File of trusted certificates for https, instead of the machine's own."""
    engine_compress: Annotated[bool, _switch] = False
    """Whether requests to a cluster are gzipped, for slow networks."""
    engine_timeout: Annotated[float, _seconds(zero=False)] = 30.0
    """Timeout of a request to a cluster (seconds)."""
    engine_patience: Annotated[float, _seconds(zero=True)] = 60.0
    """How long a write is retried while a cluster is overloaded or unreachable (seconds)."""
    engine_shards: Annotated[int, _whole(1, 1024)] = 1
    """Shards of a new index in a cluster; one holds tens of millions of papers."""

    @property
    def connection(self) -> Connection:
        """How to reach a cluster, beside its URL."""
        return Connection(
            username=self.engine_username,
            password=self.engine_password,
            api_key=self.engine_api_key,
            token=self.engine_token,
            ca_file=self.engine_ca,
            compress=self.engine_compress,
            timeout=self.engine_timeout,
            patience=self.engine_patience,
            shards=self.engine_shards,
        )

    def connection_to(self, place: object) -> Connection:
        """How to reach the cluster of papers to index: credentials for another cluster are not sent there."""
        url = str(place)
        if self.connection.authorization and url.startswith(("http:", "https:")) and self.engine.startswith("http"):
            from search_plugin.engines.cluster.product import split_hosts
            from search_plugin.engines.cluster.scan import split_index_url

            if not set(split_hosts(split_index_url(url)[0])) <= set(split_hosts(self.engine)):
                logging.getLogger("ses").warning(
                    "The credentials are for %s, so they are not sent to %s.", self.engine, url
                )
                return self.connection.without_secrets()
        return self.connection

    @property
    def model_name(self) -> str:
        """The model of the settings, or the default model if none is set."""
        from encoders.registry import DEFAULT_MODEL

        return self.model or DEFAULT_MODEL

    @property
    def engine_url(self) -> str:
        """The engine's URL, the embedded one if none is set."""
        return self.engine or f"embedded:{self.data_dir / 'indexes'}"

    def without_secrets(self) -> tuple[Settings, tuple[str, ...]]:
        """Return the settings without secrets, and the names of those that were set: a pickle holds no secrets."""
        secrets = tuple(name for name, one in SETTINGS.items() if not one.repr and getattr(self, name))
        empty: dict[str, Any] = dict.fromkeys(secrets, "")
        return replace(self, **empty), secrets

    def with_secrets(self, secrets: Sequence[str]) -> Settings:
        """Return the settings with secrets of this process, from its environment or its files of settings.

        Args:
            secrets: Names of the secrets to add.

        Returns:
            The settings with the secrets.

        Raises:
            UnavailableError: If a secret is not set in this process.
        """
        if not secrets:
            return self
        here = load_settings(engine=self.engine or None)
        for name in secrets:
            if not getattr(here, name):
                raise UnavailableError(
                    f"The library was opened with the setting {name}, and a pickle holds no secrets",
                    f"set {variable_of(name)} in this process too",
                )
        return replace(self, **{name: getattr(here, name) for name in secrets})


SETTINGS = {one.name: one for one in fields(Settings)}


def load_settings(**flags: Any) -> Settings:
    """Return the settings; given flags override everything else.

    Args:
        **flags: Values by setting; None where the user gave none.

    Returns:
        The settings.

    Raises:
        InputError: If a setting has an invalid value, or secrets would be sent where a folder's `ses.toml` says.
    """
    _check_environment()
    files = read_settings_files()
    given = {name: value for name, value in flags.items() if value is not None}
    _check_names(given, "correct the argument")
    variables = from_environment()
    files.check_secrets({**variables, **given})
    written = {**files.own, **files.folder, **variables}
    _check_names(written, "correct it in ses.toml")
    return Settings(
        **{name: _checked_value(name, value, f"correct <{name}>") for name, value in given.items()},
        **{
            name: _checked_value(name, value, f"correct it in ses.toml or {variable_of(name)}")
            for name, value in written.items()
            if name not in given
        },
    )


def _check_names(given: Mapping[str, Any], hint: str) -> None:
    if unknown := next((name for name in given if name not in SETTINGS), ""):
        raise InputError(f"There is no setting {unknown}{_nearest(unknown)}", hint)


def from_environment() -> Mapping[str, str]:
    """Return the settings that the environment's variables set; their names may be in any case."""
    variables = {name.upper(): value for name, value in os.environ.items()}
    return {name: variables[variable_of(name)] for name in SETTINGS if variable_of(name) in variables}


def variable_of(name: str) -> str:
    """Return the environment's variable of a setting."""
    return f"{_PREFIX}{name.upper()}"


def _checked_value(name: str, given: Any, hint: str) -> Any:
    try:
        value = _reader(name)(given)
    except (TypeError, ValueError) as error:
        shown = repr(given)[:80] if SETTINGS[name].repr else "so"  # a secret is not shown
        raise InputError(f"The setting {name} can't be {shown} ({error})", hint) from error
    # TOML can write it, and no path, header or address can hold it.
    if "\0" in str(value):
        raise InputError(f"The setting {name} can't hold a null character", hint)
    return value


def _reader(name: str) -> _Reader:
    """Return the reader that the annotation of a setting names; others are texts."""
    (read,) = getattr(_kinds()[name], "__metadata__", (_text,))
    return read


@functools.cache
def _kinds() -> Mapping[str, Any]:
    return get_type_hints(Settings, include_extras=True)


def stray_variables() -> list[str]:
    """Return the environment's variables with the prefix of settings that are none, such as those of other programs."""
    known = set(map(variable_of, SETTINGS))
    variables = (name.upper() for name in os.environ if name.upper().startswith(_PREFIX))
    return sorted(name for name in variables if name not in known and not name.startswith(_OF_TESTS))


def _check_environment() -> None:
    """Raise `InputError` for a variable that looks like a mistyped setting; others are ignored."""
    for variable in stray_variables():
        if near := _nearest(variable.partition("_")[2], _PREFIX):
            raise InputError(f"There is no setting {variable}{near}; correct the variable, or unset it.")


def _nearest(name: str, prefix: str = "") -> str:
    near = get_close_matches(name.lower(), SETTINGS, 1, 0.7)
    return f", the nearest is {prefix}{near[0].upper() if prefix else near[0]}" if near else ""
