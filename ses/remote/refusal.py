"""What a library or an index of a service says to whatever only an engine can do."""

from __future__ import annotations

from typing import Any

from corpora.errors import InputError


class OnlyLocalError(InputError, AttributeError):
    """A service has no such method. Also an `AttributeError`, so that `hasattr` is false."""


class OverHttp:
    """A class of what works over HTTP; the other names of the class `local` raise `OnlyLocalError`."""

    _local: type

    def __init_subclass__(cls, *, local: type) -> None:
        cls._local = local

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not (name in dir(self._local) or name in self._local.__annotations__):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise OnlyLocalError(
            "This does not work through a service, which only searches and shows papers",
            "give the engine of the service itself as <engine>",
        )
