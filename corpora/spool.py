"""A folder of what a server answered: every answer as it came, in one file, and the state of the reading beside them.

The state says how many answers are kept, and is written after each, so files beyond it are of no use.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import orjson

from corpora.documents import read_json, typed
from corpora.errors import ConflictError, StoppedError, UnavailableError
from corpora.writing import WRITABLE_DATA, explaining, locking, replacing

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

STATE = "harvest.json"

Progressed = TypeVar("Progressed", bound="DataclassInstance")


class AnswerFolder:
    """The folder, which nobody else writes meanwhile.

    Args:
        place: The folder.
        suffix: Form of the answers, such as `xml`.
    """

    def __init__(self, place: Path, suffix: str) -> None:
        self.place, self._suffix = place, suffix

    def state(self, kind: type[Progressed]) -> Progressed:
        """Return the state that was saved, the one of a beginning if there is none."""
        path = self.place / STATE
        try:
            return typed(kind, read_json(path))
        except FileNotFoundError:
            return kind()
        except (OSError, ValueError) as error:
            raise UnavailableError(f"{path} can't be read ({error})", "delete its folder, and harvest again") from None

    def save(self, state: DataclassInstance) -> None:
        """Replace the state."""
        self.write(STATE, orjson.dumps(asdict(state), option=orjson.OPT_INDENT_2))

    def keep(self, number: int, answer: bytes) -> None:
        """Keep an answer; numbers begin with 1."""
        self.write(self._name_of(number), gzip.compress(answer, 6, mtime=0))

    def remove_after(self, number: int) -> None:
        """Remove answers that the state does not know: of a killed run, or of a list that is asked for again."""
        last = self._name_of(number)
        with explaining(f"The folder {self.place}", WRITABLE_DATA):
            for path in self.place.glob(f"answer-*.{self._suffix}.gz"):
                if path.name > last:
                    path.unlink()

    def write(self, name: str, content: bytes) -> None:
        """Write a file of the folder, whole or not at all."""
        whole = replacing(self.place / name, locked=True)
        with explaining(f"The folder {self.place}", WRITABLE_DATA), whole as part:
            part.write_bytes(content)

    def _name_of(self, number: int) -> str:
        return f"answer-{number:08}.{self._suffix}.gz"


@contextmanager
def spooling(url: str, folder: Path, readable: str, identity: str, suffix: str) -> Iterator[AnswerFolder]:
    """Lock and yield the spool of a server.

    Args:
        url: The server's address, for messages.
        folder: Folder of all spools.
        readable: Beginning of the spool's name, for people.
        identity: What the spool is of; another text is another spool.
        suffix: Form of the answers.

    Yields:
        The spool.

    Raises:
        ConflictError: If another run uses it.
        StoppedError: If the user stopped this one.
    """
    name = re.sub(r"[^a-z0-9.-]+", "-", readable.lower())[:60].strip("-")
    digest = hashlib.blake2b(identity.encode(errors="replace"), digest_size=6).hexdigest()
    spool = AnswerFolder(folder / f"{name}-{digest}", suffix)
    busy = ConflictError(f"Another ses is harvesting {url}", "wait for it to finish")
    try:
        with ExitStack() as held:
            with explaining(f"The folder {spool.place}", WRITABLE_DATA):
                spool.place.mkdir(parents=True, exist_ok=True)
                held.enter_context(locking(folder / f"{spool.place.name}.lock", busy))
            yield spool
    except KeyboardInterrupt:
        kept = sum(1 for _ in spool.place.glob(f"answer-*.{suffix}.gz"))
        hint = "run the same command again to resume"
        raise StoppedError(f"Stopped: {kept:,} answers of {url} are kept", hint) from None
