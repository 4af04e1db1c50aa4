"""Settings of the service: defaults < `[serve]` of `ses.toml` < environment (`SES_SERVE_*`) < flags."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from ipaddress import IPv4Network, IPv6Network, ip_address
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from corpora.cores import cores
from corpora.errors import InputError
from corpora.options import Option
from ses.service.keys import Keys
from ses.service.web.colours import colour
from ses.setting_sources import (
    SettingsLayer,
    existing_file,
    matching,
    networks,
    rate,
    read_settings_files,
    read_table,
    text,
)
from ses.settings import SERVE

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
    return read_table(SiteSettings, [SettingsLayer(value, "correct it under [serve.site] in ses.toml")], " of the site")


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

    name: Annotated[str, Option("Name of the site, in the head of every page")] = "ses"
    footer: Annotated[str, Option("Text at the foot of every page")] = ""
    intro: Annotated[str, Option("Text below the search box of the first page")] = ""
    examples: Annotated[
        tuple[str, ...],
        Option("Searches to try on the first page, questions of your readers; some of the papers' own if empty"),
    ] = ()
    logo: Annotated[
        Path | None, Option("A picture beside the name, 28 pixels high: SVG, PNG, JPEG or WebP", read=_logo)
    ] = None
    accent: Annotated[
        str,
        Option(
            "Colour of links and buttons, such as `#1a5fb4`; darker or lighter where it could not be read", read=colour
        ),
    ] = ""
    links: Annotated[Mapping[str, str], Option("Links in the head of every page: text and address", read=_links)] = (
        field(default_factory=dict)
    )
    languages: Annotated[
        tuple[str, ...],
        Option(
            "Languages of the page, the first for readers of other languages; all if empty",
            choices="ses.service.web.languages:languages",
        ),
    ] = ()


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """How the service listens, and what it allows. A new setting is an attribute here, and the code that it changes."""

    host: Annotated[str, Option("Address to listen on; 0.0.0.0 for every address of the machine", "ADDRESS")] = (
        "127.0.0.1"
    )
    port: Annotated[int, Option("Port to listen on; 0 for any that is free", least=0, most=65_535)] = 8765
    root_path: Annotated[str, Option("Path under which a proxy serves ses, such as `/ses`", read=_prefix)] = ""
    workers: Annotated[int, Option("Processes that answer requests", least=1, most=256)] = 1
    concurrency: Annotated[
        int,
        Option("Requests that a worker answers at the same time", default_help="twice the cores", least=1, most=1_000),
    ] = field(default_factory=lambda: 2 * cores())
    waiting: Annotated[
        int, Option("Requests that may wait in a worker; more are refused with status 503", least=0, most=100_000)
    ] = 200
    request_seconds: Annotated[
        float, Option("How long a request may take; then it is answered with status 503", above=0)
    ] = 30.0
    shutdown_seconds: Annotated[float, Option("How long requests may still take when the service stops", least=0)] = (
        20.0
    )
    fresh_seconds: Annotated[
        float, Option("How late the service may see that another program has changed or replaced an index", least=0)
    ] = 1.0
    page_cache: Annotated[
        int,
        Option(
            "Bytes of memory for the pages that were found last, in each worker; 0 to keep none", least=0, most=1 << 40
        ),
    ] = 64 << 20
    anonymous: Annotated[
        tuple[Literal["search", "encode"], ...],
        Option("What clients without a key may do: `search`, `encode`, both, or nothing", default_help="both"),
    ] = ("search", "encode")
    hosts: Annotated[
        tuple[str, ...],
        Option(
            "Names of this site, such as `library.example` and `*.library.example`; any if empty",
            read=matching(r"(\*\.)?[a-z0-9._-]+|\[[0-9a-f:.]+\]", "library.example"),
        ),
    ] = ()
    proxies: Annotated[
        tuple[IPv4Network | IPv6Network, ...],
        Option(
            "Addresses and networks of proxies whose `X-Forwarded-For`, `-Proto` and `-Prefix` are believed",
            read=networks,
        ),
    ] = ()
    origins: Annotated[
        tuple[str, ...],
        Option(
            "Other sites whose pages may read answers (CORS), such as `https://library.example`; `*` for all",
            read=matching(r"\*|https?://[a-z0-9.\[\]:_-]+", "https://library.example"),
        ),
    ] = ()
    rate_per_key: Annotated[
        tuple[int, int] | None,
        Option(
            "Requests that a key may send, to each worker; `off` for any number", default_help="1200/minute", read=rate
        ),
    ] = (1200, 60)
    rate_per_address: Annotated[
        tuple[int, int] | None,
        Option(
            "Requests that an address without a key may send, to each worker; `off` for any number",
            default_help="600/minute",
            read=rate,
        ),
    ] = (600, 60)
    max_body: Annotated[int, Option("Largest body of a request (bytes)", least=1, most=1 << 40)] = 2 << 20
    log_addresses: Annotated[
        Literal["short", "whole", "off"],
        Option("How the log names clients: by network (`short`), by address (`whole`), or not at all (`off`)"),
    ] = "short"
    log_queries: Annotated[bool, Option("Whether the log holds what readers search for")] = False
    telemetry: Annotated[
        bool,
        Option("Whether traces are sent by OpenTelemetry; the variables `OTEL_*` say where. Needs the extra telemetry"),
    ] = False
    mcp: Annotated[
        bool,
        Option(
            "Whether assistants are served at `/mcp`, under names of `hosts` and of this machine. Needs the extra mcp"
        ),
    ] = False
    rerankers: Annotated[
        tuple[str, ...],
        Option(
            "Models that requests may rerank by: folders and hub ids; `/v1/rerank` takes the first if it names no model"
        ),
    ] = ()
    public_url: Annotated[
        str,
        Option(
            "Address of the site for its readers, such as `https://library.example/ses`; that of each request if empty"
        ),
    ] = ""
    site: Annotated[
        SiteSettings,
        Option("What the web page says of the library that runs it", default_help="no more than `ses`", read=_site),
    ] = field(default_factory=SiteSettings)


NAMES = tuple(one.name for one in fields(ServiceSettings))


def load_service_settings(**flags: Any) -> ServiceSettings:
    """Return the settings of the service; flags override everything else, None where the user gave none.

    Raises `InputError` if there is no such setting, or it can't have such a value.
    """
    files = read_settings_files()
    written = [one.get(SERVE, {}) for one in (files.own, files.folder)]
    if not all(isinstance(one, Mapping) for one in written):
        raise InputError(f"{SERVE} in ses.toml is not a table", "write [serve], and the settings in lines below it")
    given = {name: value for name, value in flags.items() if value is not None}
    layers = [SettingsLayer(one, "correct it under [serve] in ses.toml") for one in written]
    layers += [
        SettingsLayer(
            _from_environment(), f"correct {_PREFIX}{{1}}", f"correct the variable that begins with {_PREFIX}"
        ),
        SettingsLayer(given, "correct <{0}>", "correct the argument"),
    ]
    return read_table(ServiceSettings, layers, " of the service")


def warnings_of(settings: ServiceSettings, keys: Keys) -> Iterator[str]:
    """Yield a sentence for each danger of the settings."""
    if is_public(settings.host) and settings.anonymous and not keys.all():
        yield (
            f"{settings.host} can be reached from other machines, and no API key exists, so everybody may "
            f"{' and '.join(settings.anonymous)} (anonymous in the table [serve] of ses.toml says what is allowed)."
        )


def is_public(host: str) -> bool:
    """Return whether other machines can reach what listens at a host."""
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"


def _from_environment() -> Mapping[str, str]:
    variables = {name.upper(): value for name, value in os.environ.items()}
    return {name.removeprefix(_PREFIX).lower(): value for name, value in variables.items() if name.startswith(_PREFIX)}
