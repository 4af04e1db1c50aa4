"""What declared proxies say of a request: its client's address, its scheme, and the path under which they serve ses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from ses.service.http_layer import HttpLayer, path_within
from ses.service.problems import problem
from ses.service.settings import PREFIX

IpAddress = IPv4Address | IPv6Address

_HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
_PROBED = ("/healthz", "/readyz", "/metrics")
"""Paths that monitors ask for by a machine's address, whatever the site's name is."""


class Proxies(HttpLayer):
    """A layer that reads `X-Forwarded-*` of declared proxies only.

    `request.state.trusted` says whether the request comes from a declared proxy.
    """

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on as the proxies describe it."""
        headers = Headers(scope=scope)
        peer = address_of(scope)
        trusted = peer is not None and _within(peer, self.service.settings.proxies)
        scope.setdefault("state", {})["trusted"] = trusted
        if trusted:
            self._read(scope, headers)
        await self.app(scope, receive, send)

    def _read(self, scope: Scope, headers: Headers) -> None:
        # The nearest proxy writes the last address; those before it count as far as each writer is a declared proxy.
        for given in reversed(",".join(headers.getlist("x-forwarded-for")).split(",")):
            address = _parsed(given.strip())
            if address is None:
                break
            scope["client"] = (str(address), 0)
            if not _within(address, self.service.settings.proxies):
                break
        scheme = headers.get("x-forwarded-proto", "").rpartition(",")[2].strip().lower()
        if scheme in ("http", "https"):
            scope["scheme"] = scheme
        prefix = headers.get("x-forwarded-prefix", "").rstrip("/")
        if not self.service.settings.root_path and PREFIX.fullmatch(prefix):
            scope["root_path"], scope["path"] = prefix, prefix + scope["path"]


class Hosts(HttpLayer):
    """A layer that refuses requests for hosts that are not declared, and malformed names of hosts."""

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 400."""
        if not self._knows(scope, Headers(scope=scope)):
            refusal = problem(400, "This server has no site of that name.", hint="see the setting hosts of the service")
            await refusal(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _knows(self, scope: Scope, headers: Headers) -> bool:
        given = headers.getlist("host")
        if len(given) > 1 or (given and not _HOST.fullmatch(given[0])):
            return False
        hosts = self.service.settings.hosts
        if not hosts or path_within(scope) in _PROBED:
            return True
        name = re.sub(r":\d+$", "", given[0].lower()) if given else ""
        return any(name == one or (one[:2] == "*." and name.endswith(one[1:])) for one in hosts)


def address_of(scope: Scope) -> IpAddress | None:
    """Return the address of a request's client; None where it has none, as over a Unix socket."""
    client = scope.get("client")
    return _parsed(client[0]) if client else None


def _parsed(given: str) -> IpAddress | None:
    try:
        address = ip_address(given)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _within(address: IpAddress, networks: Sequence[IPv4Network | IPv6Network]) -> bool:
    return any(address in network for network in networks)
