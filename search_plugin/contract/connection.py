"""How to connect to a cluster, apart from its URL."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import InputError

if TYPE_CHECKING:
    from ssl import SSLContext

    from urllib3 import Timeout

CONNECTING = 5.0
"""Connect timeout (seconds)."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Credentials and settings of a connection; an embedded engine needs none of it.

    Attributes:
        username: User name for basic authentication, with `password`.
        password: Password of the user.
        api_key: Encoded API key, as the cluster gave it; used instead of a user name.
        token: A bearer token, used instead of a user name.
        ca_file: File of CA certificates to trust for `https` instead of the machine's.
        compress: Whether requests are sent gzipped: useful only over a slow network.
        timeout: Request timeout in seconds.
        patience: Seconds during which a write is retried while the cluster is too busy or does not answer.
        shards: Number of shards of new indexes.

    Raises:
        InputError: If a request can't carry the credentials; the message never shows them.
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
            # For example, the line break at the end of a file: the client would refuse it in a header, and show it.
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

    def without_secrets(self) -> Connection:
        """Return the same settings for a cluster that these credentials are not for."""
        return replace(self, username="", password="", api_key="", token="")

    def limits(self) -> Timeout:
        """Return the connect timeout and the request timeout in seconds."""
        from urllib3 import Timeout

        return Timeout(connect=min(self.timeout, CONNECTING), read=self.timeout)

    def tls_context(self) -> SSLContext:
        """Return the TLS context, or raise `InputError` if `ca_file` holds no certificates."""
        from ssl import create_default_context

        try:
            return create_default_context(cafile=self.ca_file)
        except OSError as error:
            raise InputError(
                f"{self.ca_file} can't be read as a file of certificates ({error.strerror or error}); "
                "set SES_ENGINE_CA to one in PEM."
            ) from error
