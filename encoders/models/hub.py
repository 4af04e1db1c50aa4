"""Files from the Hugging Face hub: of a pinned commit, or the same as at their first use; offline from its cache.

A repository can change at any time, also by somebody who has stolen its owner's password. So a JSON file, the lock,
keeps by repository (or `repository@revision`, as the user named it) the commit of the first use, and for each file its
SHA-256, its size and its time. A file is read again only if size or time differ.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from corpora.checksums import sha256_of
from corpora.documents import read_json, typed
from corpora.errors import InputError, UnavailableError
from corpora.lazy import orjson
from corpora.writing import replacing
from encoders.models.known import PINNED

_COMMIT = re.compile("[0-9a-f]{40}")


def is_hub_id(name: str) -> bool:
    """Return whether a name looks like `org/model` or `org/model@revision`."""
    return name.count("/") == 1 and not name.startswith((".", "~", "/"))


def fetch(hub_id: str, patterns: Sequence[str], hint: str = "") -> Path:
    """Fetch some files of a repository on the hub; return the folder in the hub's cache that holds them.

    The repository is `org/model` or `org/model@revision`. Without a revision, the commit is the pinned one, else that
    of the first use on this machine. `patterns` are those of the files' names, and `hint` is a command that gets the
    files elsewhere, if there is one. Raises `InputError` if it is no such id, or the files are not those of the first
    use, and `UnavailableError` if the hub can't be reached and they are not in its cache, or there is no such
    repository.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    repository, _, revision = hub_id.partition("@")
    if repository != repository.strip():  # which older versions of the library let through
        raise _no_id(hub_id)
    chosen = revision or PINNED.get(repository) or commit_of(hub_id)
    try:
        folder = Path(snapshot_download(repository, revision=chosen or None, allow_patterns=list(patterns)))
    except HFValidationError as error:
        raise _no_id(hub_id) from error
    except Exception as error:
        # Besides OSError, what the hub's HTTP library raises on a broken connection; its versions differ in that.
        advice = f"run `{hint}`" if hint else "check the name and the network, or give <model> a local folder"
        raise UnavailableError(f"The model {hub_id} can't be fetched from the hub", advice) from error
    held = (path for pattern in patterns for path in folder.rglob(pattern) if path.is_file())
    check_same(hub_id, folder, sorted({path.relative_to(folder).as_posix() for path in held}))
    return folder


def _no_id(hub_id: str) -> InputError:
    return InputError(f"{hub_id!r} is not a hub id; one looks like allenai/specter2_base.")


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
    """Compare files with those of the first use, and lock new ones; `InputError` if the commit or a file differs."""
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


def used() -> tuple[str, ...]:
    """Return the ids of the repositories that were used on this machine before; `InputError` if the lock is damaged."""
    return tuple(_read())


def cached(hub_id: str, file: str = "config.json") -> Path | None:
    """Return the folder of a repository in the hub's cache, without asking the hub; None if it lacks a file there.

    The commit is the one that `fetch` would take.
    """
    from huggingface_hub import try_to_load_from_cache

    repository, _, revision = hub_id.partition("@")
    chosen = revision or PINNED.get(repository) or commit_of(hub_id)
    found = try_to_load_from_cache(repository, file, revision=chosen or None)
    return Path(found).parent if isinstance(found, str) else None
