"""Reading the mutations of tests/mutations/*.toml, and applying one."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


class MutationError(Exception):
    """An entry that can't be tried; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """One breakage: the text `old` of a file becomes `new`, and one of the tests (pytest arguments) must fail."""

    area: str
    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    lane: str | None = None

    def __str__(self) -> str:
        return f"{self.area}: {self.what} ({self.file})"

    def broken(self, root: Path) -> str:
        """Return the file's text after the breakage.

        Raises:
            MutationError: There is no such file under the root, or the text isn't in it exactly once.
        """
        path = root / self.file
        if not path.is_file():
            raise MutationError(f"there is no file {self.file}")
        text = path.read_text(encoding="utf-8")
        if (count := text.count(self.old)) != 1 or self.new == self.old:
            raise MutationError(f"its old text occurs {count} times in {self.file}, and must occur once and change")
        return text.replace(self.old, self.new)


def read_mutations(folder: Path, areas: Sequence[str] = ()) -> list[Mutation]:
    """Read the files AREA.toml of a folder: all of them, or those of some areas.

    Raises:
        SystemExit: There is no such area, or a file holds what is no mutation.
    """
    files = {path.stem: path for path in sorted(folder.glob("*.toml"))}
    if unknown := [area for area in areas if area not in files]:
        raise SystemExit(f"There are no mutations named {', '.join(unknown)}; there are {', '.join(files)}.")
    found = []
    for area in areas or files:
        try:
            entries = tomllib.loads(files[area].read_text(encoding="utf-8"))["mutation"]
            found += [Mutation(area, **entry | {"tests": tuple(entry["tests"])}) for entry in entries]
        except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
            raise SystemExit(f"{files[area]} is not a list of mutations: {error}") from None
    return found
