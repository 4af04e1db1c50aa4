"""The generations of an index: what each is made of, and which one is published.

A generation has a mark of its own, which ties its files to each other.

Which one is published says a file beside the generations, `NAME.json`, and a copy of it in the published generation.
Each publication and rollback has a number, and the highest counts. So the file is known where it is lost or damaged, or
an earlier one or that of another index was put in its place. The copy is written first: it is the switch.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from corpora.checksums import sealed, unsealed
from corpora.errors import UnavailableError
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


PUBLISHED = "published.json"


@dataclass(frozen=True, slots=True)
class Alias:
    """The published generation and the previous one, 0 for none, and the number of the publication.

    In files of earlier versions of ses the number is 0.
    """

    current: int = 0
    previous: int = 0
    turn: int = 0


def generations_of(root: Path, name: str) -> dict[int, Path]:
    """Return the folders of an index's generations by number, in ascending order."""
    numbers = {folder.name.rpartition(".v")[2]: folder for folder in root.glob(f"{name}.v*")}
    return dict(sorted((int(number), folder) for number, folder in numbers.items() if number.isdigit()))


def pointer_of(root: Path, name: str) -> Path:
    """Return the file that names the published generation of an index."""
    return root / f"{name}.json"


def read_alias(root: Path, name: str) -> Alias:
    """Return which generation of an index is published; raises `UnavailableError` if that is not known."""
    folders, damage = generations_of(root, name), ""
    held = list(_copies(folders, name))
    try:
        held.insert(0, _read(pointer_of(root, name), name))
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (ValueError, OSError) as error:
        damage = str(error)
    if held:
        return max(held, key=lambda alias: alias.turn)
    if not damage:
        return Alias()
    if len(folders) == 1:  # one was published, and the others of a publication are deleted after it
        return Alias(*folders)
    pointer, places = pointer_of(root, name), ", ".join(folder.name for folder in folders.values())
    if not folders:
        raise UnavailableError(f"{pointer} can't be read ({damage})", "delete it: there is no version of the index")
    raise UnavailableError(
        f"{pointer} can't be read ({damage}), and it is not known which of {places} was published",
        "put the file back, or move all but the right one of these folders away",
    )


def write_alias(root: Path, name: str, current: int, previous: int) -> None:
    """Name the published generation of an index; raises `OSError` as the file system does."""
    alias = Alias(current, previous, read_alias(root, name).turn + 1)
    pointer = pointer_of(root, name)
    for place in (generations_of(root, name)[current] / PUBLISHED, pointer):
        # A device or a pipe would be written to, and a pipe without a reader waits for ever.
        if place.exists() and not place.is_file() and (place == pointer or not place.is_dir()):
            place.unlink()
        with replacing(place, locked=True) as part:
            part.write_bytes(sealed({**asdict(alias), "name": name}))


def remove_pointers(root: Path, name: str) -> None:
    """Have no generation of an index published; raises `OSError` as the file system does."""
    for place in (*(folder / PUBLISHED for folder in generations_of(root, name).values()), pointer_of(root, name)):
        with suppress(NotADirectoryError):
            place.unlink(missing_ok=True)


def is_whole(root: Path, name: str, alias: Alias) -> bool:
    """Return whether the file beside the generations says what is known, as it was written."""
    with suppress(ValueError, OSError):
        return _read(pointer_of(root, name), name) == alias
    return False


def has_copy(root: Path, name: str, alias: Alias) -> bool:
    """Return whether the published generation says so itself."""
    return alias in _copies(generations_of(root, name), name)


def _copies(folders: dict[int, Path], name: str) -> Iterator[Alias]:
    """Yield what the generations say that were published; a copy that is damaged is passed over."""
    for folder in folders.values():
        with suppress(ValueError, OSError):
            yield _read(folder / PUBLISHED, name)


@reads_stored
def _read(path: Path, name: str) -> Alias:
    """Return what a file says; raises `ValueError` or `OSError` if it is damaged, or of another index."""
    held = unsealed(read_small(path))
    if held.pop("name", name) != name:
        raise ValueError("it is of another index")
    return Alias(**held)
