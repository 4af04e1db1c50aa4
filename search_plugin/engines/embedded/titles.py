"""The sort keys of titles by row: derived files like the columns, read only by listings that are sorted by title."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.lazy import np
from corpora.paper import Paper
from search_plugin.contract.legs import title_key
from search_plugin.engines.embedded.derived import Derived, deriving, newest
from search_plugin.engines.embedded.errors import reads_stored
from search_plugin.engines.embedded.files import mapped

NAME = "titles"


@dataclass(frozen=True, slots=True)
class Titles:
    """Sort keys of consecutive rows.

    Attributes:
        keys: The keys in UTF-8, one after the other, uint8 (bytes,).
        ends: The end of each key, int64 (rows,).
    """

    keys: np.ndarray
    ends: np.ndarray

    def __len__(self) -> int:
        return len(self.ends)

    def key(self, row: int) -> bytes:
        """Return the key of a row; empty where there is none."""
        return self.keys[int(self.ends[row - 1]) if row else 0 : int(self.ends[row])].tobytes()


def gather(papers: Iterable[Paper | None]) -> Titles:
    """Make the keys of consecutive rows; None for a row without a paper."""
    keys = [title_key(paper.title).encode() if paper else b"" for paper in papers]
    return Titles(np.frombuffer(b"".join(keys), np.uint8), np.cumsum([len(key) for key in keys], dtype=np.int64))


def save(folder: Path, parts: Sequence[Titles]) -> None:
    """Write the keys of adjacent ranges, the first from row 0 on, as one, and remove those that cover less."""
    before = 0
    with (
        deriving(folder, NAME, sum(map(len, parts))) as part,
        (part / "keys").open("wb") as keys,
        (part / "ends").open("wb") as ends,
    ):
        for one in parts:
            keys.write(one.keys.tobytes())
            ends.write((one.ends + before).astype("<i8").tobytes())
            before += len(one.keys)


def load(folder: Path, count: int) -> Titles:
    """Map the keys of a generation that cover the most rows, at most `count`; empty if there are none."""
    return newest(folder, NAME, count, _mapped) or gather([])


@reads_stored
def _mapped(derived: Derived) -> Titles:
    ends = mapped(derived.path / "ends", "<i8", derived.covered)
    return Titles(mapped(derived.path / "keys", "u1", int(ends[-1])), ends)
