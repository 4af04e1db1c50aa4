"""Settings: defaults < the user's own `ses.toml` < that of the folder < environment (`SES_*`) < flags."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, get_args

from platformdirs import user_cache_path, user_data_path

from corpora.errors import InputError, UnavailableError
from encoders.models.formats import Precision
from encoders.tokens.batching import LongText
from search_plugin.contract.connection import Connection
from ses.setting_kinds import checked_value, choice, existing_file, path, seconds, switch, whole
from ses.settings_files import read_settings_files

_PREFIX = "SES_"
SERVE = "serve"
"""The table of `ses.toml` that `ses serve` reads, and the second part of its environment's variables."""

_OTHERS = ("SES_SERVE_", "SES_TEST_", "SES_REQUIRE_LANES")


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings that apply to every command."""

    data_dir: Annotated[Path, path] = field(default_factory=lambda: user_data_path("ses"))
    """Folder of corpora, embedded indexes and lists of rejected records."""
    cache_dir: Annotated[Path, path] = field(default_factory=lambda: user_cache_path("ses"))
    """Folder of built graphs and cached vectors; may be deleted at any time."""
    engine: str = ""
    """Where indexes are kept; an embedded engine in the data folder if empty."""
    index: str = ""
    """The index to search where none is named; if empty, the choice of `ses indexes use`, or the only index."""
    model: str = ""
    """Name, folder or hub id; if empty, the default model for a new index and the index's own for a search."""
    runtime: str | None = None
    """The model's runtime; `auto` for the fastest. If empty: onnx, or the runtime that an exported model is for."""
    precision: Annotated[Precision | None, choice(*get_args(Precision))] = None
    """`int8`, the default where a runtime has it, is the fastest if there is VNNI (see `ses doctor`)."""
    tuned: Annotated[Path | None, path] = None
    """File of fitted settings (`ses eval tune`) that searches and new indexes use."""
    synonyms: Annotated[Path | None, path] = None
    """File of synonyms that searches use beside the words as typed."""
    long_text: Annotated[LongText, choice(*get_args(LongText))] = "start"
    """The part of a too long text that the model reads: its start, both ends, or all of it as passages."""
    threads: Annotated[int, whole(0, 1024)] = 0
    """Cores for the model; 0 for all."""
    embedding_cache: Annotated[bool, switch] = True
    """Whether vectors are kept in the cache folder."""
    engine_username: str = ""
    """For a cluster with basic authentication."""
    engine_password: str = field(default="", repr=False)
    """Password of that user."""
    engine_api_key: str = field(default="", repr=False)
    """API key instead of a user, as the cluster encoded it."""
    engine_token: str = field(default="", repr=False)
    """A bearer token, instead of a user."""
    engine_ca: Annotated[Path | None, existing_file] = None
    """File of trusted certificates for https, instead of the machine's own."""
    engine_compress: Annotated[bool, switch] = False
    """Whether requests to a cluster are gzipped, for slow networks."""
    engine_timeout: Annotated[float, seconds(zero=False)] = 30.0
    """Timeout of a request to a cluster (seconds)."""
    engine_patience: Annotated[float, seconds(zero=True)] = 60.0
    """How long a write is retried while a cluster is overloaded or unreachable (seconds)."""
    engine_shards: Annotated[int, whole(1, 1024)] = 1
    """Shards of a new index in a cluster; one holds tens of millions of papers."""
    connector_key: str = field(default="", repr=False)
    """Key of the service that a cluster asks for vectors (`ses cluster install --connector`)."""
    contact: str = ""
    """Your e-mail address, sent to servers that are harvested; Crossref answers sooner if it has one."""
    harvest_username: str = ""
    """For a server to harvest that has basic authentication."""
    harvest_password: str = field(default="", repr=False)
    """Password of that user."""
    crossref_url: str = "https://api.crossref.org"
    """Where lists of DOIs are looked up."""

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
    written = {name: value for name, value in {**files.own, **files.folder, **variables}.items() if name != SERVE}
    _check_names(written, "correct it in ses.toml")
    return Settings(
        **{name: checked_value(Settings, name, value, f"correct <{name}>") for name, value in given.items()},
        **{
            name: checked_value(Settings, name, value, f"correct it in ses.toml or {variable_of(name)}")
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


def stray_variables() -> list[str]:
    """Return the environment's variables with the prefix of settings that are none, such as those of other programs."""
    known = set(map(variable_of, SETTINGS))
    variables = (name.upper() for name in os.environ if name.upper().startswith(_PREFIX))
    return sorted(name for name in variables if name not in known and not name.startswith(_OTHERS))


def _check_environment() -> None:
    """Raise `InputError` for a variable that looks like a mistyped setting; others are ignored."""
    for variable in stray_variables():
        if near := _nearest(variable.partition("_")[2], _PREFIX):
            raise InputError(f"There is no setting {variable}{near}; correct the variable, or unset it.")


def _nearest(name: str, prefix: str = "") -> str:
    near = get_close_matches(name.lower(), SETTINGS, 1, 0.7)
    return f", the nearest is {prefix}{near[0].upper() if prefix else near[0]}" if near else ""
