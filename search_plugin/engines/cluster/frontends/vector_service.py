"""The service that a cluster asks for vectors: where it is, and what it is asked."""

from __future__ import annotations

import hashlib
import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from urllib3.util import Url

NO_KEY = "unused"
"""The key that is sent to a service without keys: connectors and endpoints always need one."""

_LONGEST_URL = 500


@dataclass(frozen=True, slots=True)
class VectorService:
    """The service that a cluster asks for vectors.

    Attributes:
        url: Where it is, such as `http://library.example:8765`, without a slash at the end.
        key: A key of the service with the scope `encode`.
    """

    url: str
    key: str = field(default=NO_KEY, repr=False)

    @property
    def key_digest(self) -> str:
        """Eight hex digits of the key's hash: a cluster shows no key, so a changed one is seen by them."""
        return hashlib.blake2b(self.key.encode(), digest_size=4).hexdigest()

    @property
    def is_private(self) -> bool:
        """Whether the URL itself names a private address, or this machine; a name may still resolve to one."""
        host = (_parsed(self.url).host or "").strip("[]")
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")
        return not address.is_global


def vector_service(url: str, key: str = "") -> VectorService:
    """Return the service at a URL as a user writes it, also with `/v1` at the end; its key may be empty.

    Raises `InputError` if the URL can't be used, or the key can't stand in a header.
    """
    parsed = _parsed(url.strip())
    odd = parsed.query is not None or parsed.fragment is not None or len(url) > _LONGEST_URL
    if parsed.auth:
        # The URL holds a secret, so the message can't show it.
        raise InputError(
            "The URL of the service holds a user or a password, which the cluster would show to everybody",
            "leave it out, and set SES_CONNECTOR_KEY to a key of the service",
        )
    # The URL stands in templates, in which ${...} would be a place for a parameter.
    if parsed.scheme not in ("http", "https") or not parsed.host or odd or "$" in url or '"' in url:
        raise InputError(
            f"A cluster can't ask {url[:80]!r} for vectors",
            "give <connector> the URL at which the cluster reaches the service, like http://library.example:8765",
        )
    if not key.isascii() or not key.isprintable() or any(sign in key for sign in ' "\\$'):
        raise InputError(
            "The key of the service can't stand in a header", "set SES_CONNECTOR_KEY to a key of the service"
        )
    return VectorService(parsed.url.rstrip("/").removesuffix("/v1").rstrip("/"), key or NO_KEY)


def _parsed(url: str) -> Url:
    from urllib3.exceptions import LocationParseError
    from urllib3.util import parse_url

    try:
        return parse_url(url)
    except LocationParseError:
        return parse_url("")


JOINED = "ses_text"
"""A field in which title and abstract are joined, while a document passes a pipeline."""


def joining_script(title: str, abstract: str) -> Mapping[str, Any]:
    """Return the script processor that joins the fields of title and abstract as the service reads a paper.

    The end of a line is a parameter, because Painless can't write it.
    """
    source = f"ctx.{JOINED} = (ctx[params.title] ?: '') + params.end + (ctx[params.abstract] ?: '')"
    return {"script": {"source": source, "params": {"title": title, "abstract": abstract, "end": "\n"}}}
