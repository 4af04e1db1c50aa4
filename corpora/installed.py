"""Which packages are installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def installed_version(package: str) -> str | None:
    """Return a package's version, None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
