"""The suites there are: a new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from corpora.errors import InputError
from eval.suites import offline, smoke
from eval.suites.base import Entry

SUITES: Mapping[str, Sequence[Entry]] = {"smoke": smoke.ENTRIES, "offline": offline.ENTRIES}


def get_suite(name: str) -> Sequence[Entry]:
    """Return a suite by name, or raise `InputError` naming those there are."""
    if name not in SUITES:
        raise InputError(f"There is no suite {name!r}; choose one of {', '.join(SUITES)}.")
    return SUITES[name]
