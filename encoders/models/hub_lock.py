"""What the hub gave when a repository was first used: later downloads must be the same.

A repository can change at any time, also by somebody who has stolen its owner's password. The lock is a JSON file:
by repository (or `repository@revision`, as the user named it) the commit, and for each file its SHA-256, its size and
its time. A file is read again only if size or time differ.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from corpora.checksums import sha256_of
from corpora.documents import read_json
from corpora.errors import InputError
from corpora.typed import typed
from corpora.writing import replacing

_COMMIT = re.compile("[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class LockedFile:
    """A file as it was: `seen` is its size and its time in nanoseconds."""

    sha256: str
    seen: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LockedRepository:
    """A repository as it was: its commit, empty where that is not known, and its files by path."""

    commit: str = ""
    files: dict[str, LockedFile] = field(default_factory=dict)


def lock_file() -> Path:
    """Return the place of the lock: beside the hub's cache, which may be deleted."""
    from huggingface_hub import constants

    return Path(constants.HF_HOME) / "ses-models.json"


def commit_of(hub_id: str) -> str:
    """Return the commit of a repository that was used before, empty if it is not known."""
    return _read().get(hub_id, LockedRepository()).commit


def check_same(hub_id: str, folder: Path, names: Iterable[str]) -> None:
    """Compare what was fetched with what was fetched first, and lock what is new.

    Args:
        hub_id: As the user named it.
        folder: Where its files are; named after the commit, as the hub's library does.
        names: Paths of files in the folder.

    Raises:
        InputError: If the commit or a file is another than before, or the lock can't be read.
    """
    every = _read()
    before = every.get(hub_id, LockedRepository())
    commit = folder.name if _COMMIT.fullmatch(folder.name) else ""
    if before.commit and commit and before.commit != commit:
        raise _differs(hub_id, f"its commit is {commit[:12]}, and it was {before.commit[:12]}")
    files = {name: _checked(hub_id, folder, name, before.files.get(name)) for name in names}
    now = replace(before, commit=commit or before.commit, files=before.files | files)
    if now != before:
        _write(every | {hub_id: now})


def _checked(hub_id: str, folder: Path, name: str, before: LockedFile | None) -> LockedFile:
    status = (folder / name).stat()
    seen = (status.st_size, status.st_mtime_ns)
    if before and before.seen == seen:
        return before
    now = LockedFile(sha256_of(folder / name), seen)
    if before and before.sha256 != now.sha256:
        raise _differs(hub_id, f"{name} has the SHA-256 {now.sha256}, and it had {before.sha256}")
    return now


def _differs(hub_id: str, how: str) -> InputError:
    return InputError(
        f"The model {hub_id} on the hub is not what it was when it was first used: {how}; if you trust the new one, "
        f"delete the entry {hub_id!r} from {lock_file()}."
    )


def _read() -> dict[str, LockedRepository]:
    path = lock_file()
    try:
        content: Any = read_json(path)
        return {
            hub_id: LockedRepository(
                str(one["commit"]), {name: typed(LockedFile, file) for name, file in one["files"].items()}
            )
            for hub_id, one in content.items()
        }
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path} can't be read ({error}); restore it, or delete it to trust the hub again.") from error


def _write(every: dict[str, LockedRepository]) -> None:
    import orjson

    path = lock_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as part:
            part.write_bytes(
                orjson.dumps({hub_id: asdict(one) for hub_id, one in every.items()}, option=orjson.OPT_INDENT_2)
            )
    except OSError as error:
        logging.getLogger("ses").warning(
            "%s can't be written (%s), so later downloads of models can't be compared with this one.", path, error
        )
