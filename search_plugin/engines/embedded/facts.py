"""The facts of a generation: what it is made of, and a mark of its own, which ties its files to each other."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path

from corpora.sealing import sealed, unsealed
from corpora.writing import replacing
from search_plugin.contract.schema import IndexSchema, from_stored, to_stored
from search_plugin.engines.embedded.errors import reads_stored
from search_plugin.engines.embedded.files import read_small

_NAME = "facts.json"


@dataclass(frozen=True, slots=True)
class Facts:
    """A generation's schema as it was begun with, with the fields that were added since, its source, and its mark.

    The mark is random. What is derived from a generation names it, so that nothing of another one is taken for it. It
    is empty in generations that earlier versions of ses made.
    """

    begun: IndexSchema
    schema: IndexSchema
    source: str
    mark: str = field(default_factory=lambda: secrets.token_hex(8))


@reads_stored
def read_facts(folder: Path) -> Facts:
    """Read the facts of a generation; raises `ValueError` or `OSError` if they are damaged."""
    held = unsealed(read_small(folder / _NAME))
    schemas = from_stored(held["begun"]), from_stored(held["schema"])
    return Facts(*schemas, str(held["source"]), str(held.get("mark", "")))


def write_facts(folder: Path, facts: Facts) -> None:
    """Write the facts of a generation."""
    schemas = {"begun": to_stored(facts.begun), "schema": to_stored(facts.schema)}
    with replacing(folder / _NAME, locked=True) as part:
        part.write_bytes(sealed({**schemas, "source": facts.source, "mark": facts.mark}))


def mark_of(folder: Path) -> str:
    """Return the mark of the generation in a folder; empty if it has none, or no facts."""
    try:
        return read_facts(folder).mark
    except FileNotFoundError:
        return ""


def is_of_another(folder: Path, mark: str) -> bool:
    """Return whether what names a mark is not of the generation in a folder; without a mark it is not known."""
    return bool(mark and (own := mark_of(folder)) and own != mark)
