"""Facts about a generation that can be read before it is opened: its schema, and the source that it is built from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import orjson

from search_plugin.engines.embedded.errors import reads_stored
from search_plugin.engines.embedded.files import sync_folder
from search_plugin.schema import IndexSchema, from_stored, to_stored

_NAME = "facts.json"


@dataclass(frozen=True, slots=True)
class Facts:
    """A generation's facts.

    Attributes:
        begun: The schema it was begun with.
        schema: The same with the fields that were added since.
        source: What it is built from.
    """

    begun: IndexSchema
    schema: IndexSchema
    source: str


@reads_stored
def read_facts(folder: Path) -> Facts:
    """Read the facts of a generation; raises `ValueError` or `OSError` if they are damaged."""
    content = orjson.loads((folder / _NAME).read_bytes())
    return Facts(from_stored(content["begun"]), from_stored(content["schema"]), str(content["source"]))


def write_facts(folder: Path, facts: Facts) -> None:
    """Write the facts of a generation, atomically and durably."""
    told = {"begun": to_stored(facts.begun), "schema": to_stored(facts.schema), "source": facts.source}
    write_whole(folder / _NAME, orjson.dumps(told))


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically and durably."""
    part = path.with_name(f"{path.name}.part")
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    sync_folder(path.parent)
