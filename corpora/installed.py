"""Which packages are installed."""

from __future__ import annotations


def installed_version(package: str) -> str | None:
    """Return a package's version, None if it is not installed."""
    # A slow import, which code that only lists runtimes should not pay for.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None
