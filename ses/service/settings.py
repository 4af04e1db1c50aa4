"""Settings of the service: defaults < `[serve]` of `ses.toml` < environment (`SES_SERVE_*`) < flags."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from ipaddress import IPv4Network, IPv6Network, ip_address
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from corpora.cores import cores
from corpora.errors import InputError
from ses.argument_validation import nearest
from ses.service.keys import Keys
from ses.service.web.colours import colour
from ses.service.web.languages import languages
from ses.setting_kinds import (
    checked_value,
    choice,
    existing_file,
    matching,
    networks,
    rate,
    seconds,
    some_of,
    switch,
    text,
    texts,
    whole,
)
from ses.settings import SERVE
from ses.settings_files import read_settings_files

_PREFIX = "SES_SERVE_"


PREFIX = re.compile(r"(/[A-Za-z0-9._~-]+)+")
"""A path under which a proxy may serve ses."""


def _prefix(value: Any) -> str:
    """Read a path such as `/ses`, without a slash at its end; empty for none."""
    found = text(value).rstrip("/")
    if found and not PREFIX.fullmatch(found):
        raise ValueError("give a path such as /ses")
    return found


def _site(value: Any) -> SiteSettings:
    """Read the table of the site."""
    if not isinstance(value, Mapping):
        raise TypeError("write [serve.site], and the settings in lines below it")
    if unknown := value.keys() - {one.name for one in fields(SiteSettings)}:
        raise ValueError(f"it has no setting {min(unknown)}")
    return SiteSettings(**{name: checked_value(SiteSettings, name, one, "") for name, one in value.items()})


_LOGOS = (".svg", ".png", ".jpg", ".jpeg", ".webp")


def _logo(value: Any) -> Path | None:
    """Read the path of a picture; None if it is empty."""
    if value == "":
        return None
    found = existing_file(value)
    if found.suffix.lower() not in _LOGOS:
        raise ValueError(f"give a picture whose name ends with {', '.join(_LOGOS)}")
    return found


def _links(value: Any) -> Mapping[str, str]:
    """Read a table of texts and the addresses that they lead to."""
    if not isinstance(value, Mapping):
        raise TypeError(
            'write [serve.site.links], and a line such as "About us" = "https://..." for each link below it'
        )
    for label, place in value.items():
        parts = urlsplit(place) if isinstance(place, str) else urlsplit("")
        local = not parts.scheme and not parts.netloc and parts.path.startswith("/")
        if not (
            local or (parts.scheme in ("http", "https") and parts.netloc) or (parts.scheme == "mailto" and parts.path)
        ):
            raise ValueError(f"the link {label} needs an address that begins with https://, http://, mailto: or /")
    return dict(value)


@dataclass(frozen=True, slots=True)
class SiteSettings:
    """What the web page says of the library that runs it: the table `[serve.site]` of `ses.toml`."""

    name: str = "ses"
    """Name of the site, in the head of every page."""
    footer: str = ""
    """Text at the foot of every page."""
    intro: str = ""
    """Text below the search box of the first page."""
    logo: Annotated[Path | None, _logo] = None
    """A picture beside the name, 28 pixels high: SVG, PNG, JPEG or WebP."""
    accent: Annotated[str, colour] = ""
    """Colour of links and buttons, such as `#1a5fb4`; darker or lighter where it could not be read."""
    links: Annotated[Mapping[str, str], _links] = field(default_factory=dict)
    """Links in the head of every page: text and address."""
    languages: Annotated[tuple[str, ...], some_of(*languages())] = ()
    """Languages of the page, such as `de` and `en`; the first for readers of other languages. All if empty."""


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """How the service listens, and what it allows."""

    host: str = "127.0.0.1"
    """Address to listen on; `0.0.0.0` for every address of the machine."""
    port: Annotated[int, whole(0, 65_535)] = 8765
    """Port to listen on; 0 for any that is free."""
    root_path: Annotated[str, _prefix] = ""
    """Path under which a proxy serves ses, such as `/ses`."""
    workers: Annotated[int, whole(1, 256)] = 1
    """Processes that answer requests."""
    concurrency: Annotated[int, whole(1, 1_000)] = field(default_factory=lambda: 2 * cores())
    """Requests that a worker answers at the same time; twice the cores if not given."""
    waiting: Annotated[int, whole(0, 100_000)] = 200
    """Requests that may wait in a worker; more are refused with status 503."""
    request_seconds: Annotated[float, seconds(zero=False)] = 30.0
    """How long a request may take; then it is answered with status 503."""
    shutdown_seconds: Annotated[float, seconds(zero=True)] = 20.0
    """How long requests may still take when the service stops."""
    fresh_seconds: Annotated[float, seconds(zero=True)] = 1.0
    """How late the service may see that another program has changed or replaced an index."""
    page_cache: Annotated[int, whole(0, 1 << 40)] = 64 << 20
    """Bytes of memory for the pages that were found last, in each worker; 0 to keep none."""
    anonymous: Annotated[tuple[str, ...], some_of("search", "encode")] = ("search", "encode")
    """What clients without a key may do: `search`, `encode`, both, or nothing."""
    hosts: Annotated[tuple[str, ...], matching(r"(\*\.)?[a-z0-9._-]+|\[[0-9a-f:.]+\]", "library.example")] = ()
    """Names of this site, such as `library.example` and `*.library.example`; any if empty."""
    proxies: Annotated[tuple[IPv4Network | IPv6Network, ...], networks] = ()
    """Addresses and networks of proxies whose `X-Forwarded-For`, `-Proto` and `-Prefix` are believed."""
    origins: Annotated[tuple[str, ...], matching(r"\*|https?://[a-z0-9.\[\]:_-]+", "https://library.example")] = ()
    """Other sites whose pages may read answers (CORS), such as `https://library.example`; `*` for all."""
    rate_per_key: Annotated[tuple[int, int] | None, rate] = (1200, 60)
    """Requests that a key may send, such as `1200/minute`, to each worker; `off` for any number."""
    rate_per_address: Annotated[tuple[int, int] | None, rate] = (600, 60)
    """Requests that an address without a key may send, such as `600/minute`, to each worker; `off` for any number."""
    max_body: Annotated[int, whole(1, 1 << 40)] = 2 << 20
    """Largest body of a request (bytes)."""
    log_addresses: Annotated[str, choice("short", "whole", "off")] = "short"
    """How the log names clients: by network (`short`), by address (`whole`), or not at all (`off`)."""
    log_queries: Annotated[bool, switch] = False
    """Whether the log holds what readers search for."""
    telemetry: Annotated[bool, switch] = False
    """Whether traces are sent by OpenTelemetry; the variables `OTEL_*` say where. Needs the extra telemetry."""
    mcp: Annotated[bool, switch] = False
    """Whether assistants are served at `/mcp`, under names of `hosts` and of this machine. Needs the extra mcp."""
    rerankers: Annotated[tuple[str, ...], texts] = ()
    """Models that requests may rerank by: folders and hub ids; `/v1/rerank` takes the first if it names no model."""
    public_url: str = ""
    """Address of the site for its readers, such as `https://library.example/ses`; that of each request if empty."""
    site: Annotated[SiteSettings, _site] = field(default_factory=SiteSettings)
    """What the web page says of the library that runs it."""


NAMES = tuple(one.name for one in fields(ServiceSettings))


def load_service_settings(**flags: Any) -> ServiceSettings:
    """Return the settings of the service.

    Args:
        **flags: Values by setting, which override everything else; None where the user gave none.

    Returns:
        The settings.

    Raises:
        InputError: If there is no such setting, or it can't have such a value.
    """
    files = read_settings_files()
    layers = [
        (files.own.get(SERVE, {}), "correct it under [serve] in ses.toml"),
        (files.folder.get(SERVE, {}), "correct it under [serve] in ses.toml"),
        (_from_environment(), f"correct the variable of the environment that begins with {_PREFIX}"),
        ({name: value for name, value in flags.items() if value is not None}, "correct the argument"),
    ]
    values: dict[str, Any] = {}
    for given, hint in layers:
        if not isinstance(given, Mapping):
            raise InputError(f"{SERVE} in ses.toml is not a table", "write [serve], and the settings in lines below it")
        for name, value in given.items():
            if name not in NAMES:
                raise InputError(f"There is no setting {name} of the service{nearest(name, NAMES)}", hint)
            values[name] = checked_value(ServiceSettings, name, value, hint)
    return ServiceSettings(**values)


def warnings_of(settings: ServiceSettings, keys: Keys) -> Iterator[str]:
    """Yield a sentence for each danger of the settings."""
    if _is_public(settings.host) and settings.anonymous and not keys.all():
        yield (
            f"{settings.host} can be reached from other machines, and no API key exists, so everybody may "
            f"{' and '.join(settings.anonymous)} (anonymous in the table [serve] of ses.toml says what is allowed)."
        )


def _is_public(host: str) -> bool:
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"


def _from_environment() -> Mapping[str, str]:
    variables = {name.upper(): value for name, value in os.environ.items()}
    return {name.removeprefix(_PREFIX).lower(): value for name, value in variables.items() if name.startswith(_PREFIX)}
