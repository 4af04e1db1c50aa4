"""Settings: defaults < `ses.toml` < environment (`SES_*`) < flags."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path, user_data_path
from pydantic import Field, FilePath, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from corpora.errors import InputError
from encoders.long_text import LongText
from encoders.runtimes.base import Precision
from search_plugin.engines.connection import Connection

_OF_TESTS = ("SES_TEST_", "SES_REQUIRE_LANES")


class Settings(BaseSettings):
    """Settings that apply to every command."""

    model_config = SettingsConfigDict(env_prefix="SES_", toml_file="ses.toml", extra="forbid")

    data_dir: Path = Field(default_factory=lambda: user_data_path("ses"))
    """Folder of corpora, embedded indexes and lists of rejected records."""
    cache_dir: Path = Field(default_factory=lambda: user_cache_path("ses"))
    """Folder of built graphs and cached vectors; may be deleted at any time."""
    engine: str = ""
    """Where indexes are kept; an embedded engine in the data folder if empty."""
    index: str = ""
    """The index to search where none is named; if empty, the choice of `ses indexes use`, or the only index."""
    model: str = ""
    """Name, folder or hub id; if empty, the default model for a new index and the index's own for a search."""
    runtime: str | None = None
    """The model's runtime; `auto` for the fastest. If empty: onnx, or the runtime that an exported model is for."""
    precision: Precision | None = None
    """`int8`, the default where a runtime has it, is the fastest, at a mean cosine of .998 to `fp32`."""
    tuned: Path | None = None
    """File of fitted settings (`ses eval tune`) that searches and new indexes use."""
    synonyms: Path | None = None
    """File of synonyms that searches use beside the words as typed."""
    long_text: LongText = "start"
    """The part of a too long text that the model reads: its start, both ends, or all of it as passages."""
    threads: int = Field(default=0, ge=0, le=1024)
    """Cores for the model; 0 for all."""
    embedding_cache: bool = True
    """Whether vectors are kept in the cache folder."""
    engine_username: str = ""
    """For a cluster with basic authentication."""
    engine_password: SecretStr = SecretStr("")
    """Password of that user."""
    engine_api_key: SecretStr = SecretStr("")
    """API key instead of a user, as the cluster encoded it."""
    engine_token: SecretStr = SecretStr("")
    """A bearer token, instead of a user."""
    engine_ca: FilePath | None = None
    """File of trusted certificates for https, instead of the machine's own."""
    engine_compress: bool = False
    """Whether requests to a cluster are gzipped, for slow networks."""
    engine_timeout: float = Field(default=30.0, gt=0)
    """Timeout of a request to a cluster (seconds)."""
    engine_patience: float = Field(default=60.0, ge=0)
    """How long a write is retried while a cluster is overloaded or unreachable (seconds)."""
    engine_shards: int = Field(default=1, ge=1, le=1024)
    """Shards of a new index in a cluster; one holds tens of millions of papers."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the signature is pydantic's
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources: flags, then the environment, then the file."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    @property
    def connection(self) -> Connection:
        """How to reach a cluster, beside its URL."""
        return Connection(
            username=self.engine_username,
            password=self.engine_password.get_secret_value(),
            api_key=self.engine_api_key.get_secret_value(),
            token=self.engine_token.get_secret_value(),
            ca_file=self.engine_ca,
            compress=self.engine_compress,
            timeout=self.engine_timeout,
            patience=self.engine_patience,
            shards=self.engine_shards,
        )

    @property
    def engine_url(self) -> str:
        """The engine's URL, the embedded one if none is set."""
        return self.engine or f"embedded:{self.data_dir / 'indexes'}"


def load_settings(**flags: Any) -> Settings:
    """Return the settings; given flags override everything else.

    Args:
        **flags: By setting; None where the user gave none.

    Returns:
        The settings.

    Raises:
        InputError: If a setting has an invalid value.
    """
    _check_environment()
    try:
        settings = Settings(**{name: value for name, value in flags.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            raise InputError(f"There is no setting {name}{_nearest(name)}; correct it in ses.toml.") from error
        known = Settings.model_fields.get(name)
        # A secret is not shown.
        value = repr(first["input"])[:80] if known and known.annotation is not SecretStr else "so"
        raise InputError(
            f"The setting {name} can't be {value} ({first['msg']}); "
            f"correct it in ses.toml, SES_{name.upper()} or the command's options."
        ) from error
    except (ValueError, OSError, RecursionError) as error:
        raise InputError(f"ses.toml can't be read ({error}); correct it or move it away.") from error
    # TOML can write it, and no path, header or address can hold it.
    if wrong := next((name for name, value in settings if "\0" in str(value)), ""):
        raise InputError(f"The setting {wrong} can't hold a null character; correct it in ses.toml.")
    return settings


def stray_variables() -> list[str]:
    """Return the environment's variables with the prefix of settings that are none, such as those of other programs."""
    prefix = str(Settings.model_config["env_prefix"])
    known = {f"{prefix}{name}".upper() for name in Settings.model_fields}
    variables = (name.upper() for name in os.environ if name.upper().startswith(prefix))
    return sorted(name for name in variables if name not in known and not name.startswith(_OF_TESTS))


def _check_environment() -> None:
    """Raise `InputError` for a variable that looks like a mistyped setting; others are ignored."""
    for variable in stray_variables():
        if near := _nearest(variable.partition("_")[2], "SES_"):
            raise InputError(f"There is no setting {variable}{near}; correct the variable, or unset it.")


def _nearest(name: str, prefix: str = "") -> str:
    near = get_close_matches(name.lower(), Settings.model_fields, 1, 0.7)
    return f", the nearest is {prefix}{near[0].upper() if prefix else near[0]}" if near else ""
