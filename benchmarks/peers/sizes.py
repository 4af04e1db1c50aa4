"""Sizes on disk: of a folder, and of packages with all that they require."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import search_plugin

SOURCES = ("ses", "corpora", "encoders", "indexer", "search_plugin", "training", "eval")


def mebibytes(paths: Iterable[Path]) -> float:
    """Return the size of some files."""
    return sum(path.stat().st_size for path in paths) / 2**20


def folder_size(folder: Path) -> float:
    """Return the MiB of all files in a folder."""
    return mebibytes(path for path in folder.rglob("*") if path.is_file())


def installed(packages: Iterable[str]) -> tuple[int, float]:
    """Return how many packages some packages need in all, themselves included, and their MiB without compiled files."""
    found = required(packages)
    size = sum(_size(name) for name in found)
    return len(found), size


def required(packages: Iterable[str]) -> set[str]:
    """Return some packages and all that they require here, with the extras that are asked for."""
    found: set[str] = set()
    waiting = [Requirement(package) for package in packages]
    done = set()
    while waiting:
        asked = waiting.pop()
        name = canonicalize_name(asked.name)
        if (name, frozenset(asked.extras)) in done:
            continue
        done.add((name, frozenset(asked.extras)))
        try:
            requires = distribution(name).requires or []
        except PackageNotFoundError:
            continue  # it is required under conditions that do not hold here
        found.add(name)
        for requirement in map(Requirement, requires):
            extras = asked.extras or {""}
            if requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(requirement)
    return found


def _size(name: str) -> float:
    if name == "ses":  # installed in place
        root = Path(search_plugin.__file__).parents[1]
        return mebibytes(
            path
            for folder in SOURCES
            for path in (root / folder).rglob("*")
            if path.suffix != ".pyc" and path.is_file()
        )
    paths = (Path(str(file.locate())) for file in distribution(name).files or [])
    return mebibytes(path for path in paths if path.suffix != ".pyc" and path.is_file())
