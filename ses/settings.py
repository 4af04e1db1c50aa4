"""Settings: defaults < the user's own `ses.toml` < that of the folder < environment (`SES_*`) < flags."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from platformdirs import user_cache_path, user_data_path

from corpora.errors import InputError, UnavailableError
from corpora.options import Option, options_of
from encoders.models.formats import Precision, QueryEncoder
from encoders.tokens.batching import LongText
from search_plugin.contract.connection import Connection
from ses.argument_validation import nearest
from ses.setting_sources import SettingsLayer, existing_file, read_settings_files, read_table

_PREFIX = "SES_"
SERVE = "serve"
"""The table of `ses.toml` that `ses serve` reads, and the second part of its environment's variables."""

_OTHERS = ("SES_SERVE_", "SES_TEST_", "SES_REQUIRE_LANES")


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings that apply to every command. A new one is an attribute here, and the code that it changes."""

    data_dir: Annotated[
        Path,
        Option(
            "Folder of corpora, embedded indexes and lists of rejected records",
            default_help="that of the operating system",
        ),
    ] = field(default_factory=lambda: user_data_path("ses"))
    cache_dir: Annotated[
        Path,
        Option(
            "Folder of built graphs and cached vectors; may be deleted at any time",
            default_help="that of the operating system",
        ),
    ] = field(default_factory=lambda: user_cache_path("ses"))
    engine: Annotated[
        str,
        Option("Where indexes are kept: embedded:DIR or http://HOST:PORT", "URL", default_help="in the data folder"),
    ] = ""
    index: Annotated[
        str, Option("The index to search", "NAME", default_help="that of `ses indexes use`, or the only one")
    ] = ""
    model: Annotated[
        str,
        Option(
            "Known name, folder or hub id of a BERT-family model",
            "NAME",
            default_help="that of the index, else ses-minilm",
        ),
    ] = ""
    runtime: Annotated[
        str | None,
        Option(
            "What runs the model, auto for the fastest here",
            "NAME",
            default_help="onnx, or that which an exported model is for",
            choices="encoders.runtimes.registry:RUNTIMES",
        ),
    ] = None
    precision: Annotated[
        Precision | None,
        Option(
            "Numeric precision; int8 is the fastest on processors with VNNI (see `ses doctor`), and hardly faster than "
            "fp32 on others",
            default_help="int8; fp32 or bf16 where a runtime has no int8",
        ),
    ] = None
    tuned: Annotated[
        Path | None, Option("File of settings fitted by `ses eval tune`; other options override it", "FILE")
    ] = None
    synonyms: Annotated[
        Path | None,
        Option(
            "File of synonyms to search too, lines such as 'heart attack, myocardial infarction' or 'MI => infarction'",
            "FILE",
        ),
    ] = None
    query_encoder: Annotated[
        QueryEncoder, Option("What encodes queries: the model of the index, or a small table that stands in for it")
    ] = "model"
    long_text: Annotated[
        LongText, Option("The part of a too long text that is encoded: start, both ends, or the mean of its passages")
    ] = "start"
    threads: Annotated[int, Option("Cores for the model; 0 for all", least=0, most=1024)] = 0
    embedding_cache: Annotated[bool, Option("Whether vectors are kept in the cache folder")] = True
    engine_username: Annotated[str, Option("For a cluster with basic authentication")] = ""
    engine_password: Annotated[str, Option("Password of that user")] = field(default="", repr=False)
    engine_api_key: Annotated[str, Option("API key instead of a user, as the cluster encoded it")] = field(
        default="", repr=False
    )
    engine_token: Annotated[str, Option("A bearer token, instead of a user")] = field(default="", repr=False)
    engine_ca: Annotated[
        Path | None, Option("File of trusted certificates for https, instead of the machine's own", read=existing_file)
    ] = None
    engine_compress: Annotated[bool, Option("Whether requests to a cluster are gzipped, for slow networks")] = False
    engine_timeout: Annotated[float, Option("Timeout of a request to a cluster (seconds)", above=0)] = 30.0
    engine_patience: Annotated[
        float, Option("How long a write is retried while a cluster is overloaded or unreachable (seconds)", least=0)
    ] = 60.0
    engine_shards: Annotated[
        int, Option("Shards of a new index in a cluster; one holds tens of millions of papers", least=1, most=1024)
    ] = 1
    connector_key: Annotated[
        str, Option("Key of the service that a cluster asks for vectors (`ses cluster install --connector`)")
    ] = field(default="", repr=False)
    contact: Annotated[
        str, Option("Your e-mail address, sent to servers that are harvested; Crossref answers sooner if it has one")
    ] = ""
    harvest_username: Annotated[str, Option("For a server to harvest that has basic authentication")] = ""
    harvest_password: Annotated[str, Option("Password of that user")] = field(default="", repr=False)
    crossref_url: Annotated[str, Option("Where lists of DOIs are looked up")] = "https://api.crossref.org"

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
        from search_plugin.engines.registry import is_cluster

        url = str(place)
        if self.connection.authorization and is_cluster(url) and is_cluster(self.engine):
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
        secrets = tuple(name for name, one in SETTINGS.items() if one.secret and getattr(self, name))
        empty: dict[str, Any] = dict.fromkeys(secrets, "")
        return replace(self, **empty), secrets

    def with_secrets(self, secrets: Sequence[str]) -> Settings:
        """Return the settings with the named secrets of this process, from its environment or its files of settings.

        Raises `UnavailableError` if a secret is not set in this process.
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


SETTINGS: Mapping[str, Option] = {one.name: one for one in options_of(Settings)}


def load_settings(**flags: Any) -> Settings:
    """Return the settings; given flags override everything else, None where the user gave none.

    Raises `InputError` if a setting has an invalid value, or secrets would be sent where a folder's `ses.toml` says.
    """
    _check_environment()
    files = read_settings_files()
    given = {name: value for name, value in flags.items() if value is not None}
    variables = from_environment()
    files.check_secrets({**variables, **given})
    written = ({name: value for name, value in one.items() if name != SERVE} for one in (files.own, files.folder))
    layers = [SettingsLayer(one, "correct it in ses.toml") for one in written]
    layers += [
        SettingsLayer(variables, f"correct {_PREFIX}{{1}}"),
        SettingsLayer(given, "correct <{0}>", "correct the argument"),
    ]
    return read_table(Settings, layers)


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
        if near := nearest(variable.removeprefix(_PREFIX), SETTINGS, variable_of):
            raise InputError(f"There is no setting {variable}{near}; correct the variable, or unset it.")
