"""How to reach a cluster, beside its URL."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


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
