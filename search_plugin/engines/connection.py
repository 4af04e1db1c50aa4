"""How to reach a cluster, beside its URL."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import InputError

if TYPE_CHECKING:
    from ssl import SSLContext

    from urllib3 import Timeout

CONNECTING = 5.0
"""Seconds after which a node that takes no connection is one that is switched off."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Credentials and habits of a connection; an embedded engine needs none of it.

    Attributes:
        username: For basic authentication, with `password`.
        password: Its secret.
        api_key: Encoded, as the cluster gave it; used instead of a user name.
        token: A bearer token, used instead of a user name.
        ca_file: Certificates to trust instead of the machine's own, for `https`.
        compress: Whether requests are sent gzipped: worth it over a slow network only.
        timeout: Seconds a request may take.
        patience: Seconds a write is tried again while the cluster is too busy or away.
        shards: Of the indexes made from now on.

    Raises:
        InputError: If the credentials are none that a request can carry; the message never shows them.
    """

    username: str = ""
    password: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    ca_file: Path | None = None
    compress: bool = False
    timeout: float = 30.0
    patience: float = 60.0
    shards: int = 1

    def __post_init__(self) -> None:
        if self.password and not self.username:
            raise InputError("A password is of no use without a user's name; set SES_ENGINE_USERNAME too.")
        if ":" in self.username:
            raise InputError("A user's name with a colon in it can't be sent; correct SES_ENGINE_USERNAME.")
        for setting, secret in (("SES_ENGINE_API_KEY", self.api_key), ("SES_ENGINE_TOKEN", self.token)):
            # Such as the line break at the end of a file: as a header it would be refused, and shown, by the client.
            if not all("!" <= character <= "~" for character in secret):
                raise InputError(
                    f"{setting} holds a space, a line break or a letter that no such key has; set it to the key alone."
                )

    @property
    def authorization(self) -> str:
        """The `Authorization` header, empty where there are no credentials."""
        if self.api_key:
            return f"ApiKey {self.api_key}"
        if self.token:
            return f"Bearer {self.token}"
        if self.username:
            from base64 import b64encode

            return "Basic " + b64encode(f"{self.username}:{self.password}".encode()).decode()
        return ""

    def limits(self) -> Timeout:
        """Return how long a node may take to be connected to, and to answer."""
        from urllib3 import Timeout

        return Timeout(connect=min(self.timeout, CONNECTING), read=self.timeout)

    def tls_context(self) -> SSLContext:
        """Return what decides which certificates to trust, or raise `InputError` if `ca_file` holds none."""
        from ssl import create_default_context

        try:
            return create_default_context(cafile=self.ca_file)
        except OSError as error:
            raise InputError(
                f"{self.ca_file} can't be read as a file of certificates ({error.strerror or error}); "
                "set SES_ENGINE_CA to one in PEM."
            ) from error
