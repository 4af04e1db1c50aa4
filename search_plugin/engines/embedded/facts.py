"""Facts about a generation that can be read before it is opened: its schema, and the source that it is built from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from corpora.writing import replacing
from search_plugin.contract.schema import IndexSchema, from_stored, to_stored
from search_plugin.engines.embedded.checksums import sealed, unsealed
from search_plugin.engines.embedded.errors import reads_stored

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
    content = unsealed((folder / _NAME).read_bytes())
    return Facts(from_stored(content["begun"]), from_stored(content["schema"]), str(content["source"]))


def write_facts(folder: Path, facts: Facts) -> None:
    """Write the facts of a generation."""
    told = {"begun": to_stored(facts.begun), "schema": to_stored(facts.schema), "source": facts.source}
    with replacing(folder / _NAME, locked=True) as part:
        part.write_bytes(sealed(told))
