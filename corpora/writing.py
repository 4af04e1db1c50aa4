"""Writes files and folders whole or not at all, and explains to the user why one can't be written."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from corpora.errors import SesError, UnavailableError

WRITABLE_DATA = "free some disk, or set SES_DATA_DIR to a folder that can be written"
"""A hint for files that the user has not named."""


@contextmanager
def replacing(place: Path, *, locked: bool = False, private: bool = False) -> Iterator[Path]:
    """Make a file or a folder beside its place, and move it there if the block ends without an error.

    A reader, and a process that is killed, see the old content or the new, never a part of it: the new is on the disk
    before it is moved. The move of a file is atomic; between an old folder and the new one there is a moment with
    neither. A link is followed, and a file keeps its permissions. A device or a pipe is written in place.

    Args:
        place: Path of the file or folder, which need not exist; the folder around it does.
        locked: Whether the caller keeps all others from writing the place. Then what a killed process left there is
            removed. Otherwise each block has a name of its own, so that the last one wins.
        private: Whether only its owner may read the file, which is there and empty when the block begins.

    Yields:
        A path at which the block makes the file or the folder.

    Raises:
        OSError: If the file system refuses; see `explaining`.
    """
    if place.exists() and not place.is_file() and not place.is_dir():
        yield place
        return
    place = Path(os.path.realpath(place))
    part = place.with_name(f"{place.name}.part" if locked else f".{place.name}.{os.urandom(4).hex()}.part")
    try:
        _remove(part)
        if private:
            os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield part
        if place.is_file() and not private:
            shutil.copymode(place, part)
        for path in (*part.rglob("*"), part):
            sync(path)
        if part.is_dir():
            _remove(place)
        part.replace(place)
        sync(place.parent)
    finally:
        with suppress(OSError):
            _remove(part)


def private_folder(folder: Path) -> None:
    """Make a folder that only its owner may enter, and close one that others may; `OSError` as the file system does."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        folder.chmod(0o700)


@contextmanager
def explaining(what: object, hint: str = "free some disk, or write to another place") -> Iterator[None]:
    """Turn an `OSError` of the block into an `UnavailableError`: what can't be written, why, and what to do."""
    try:
        yield
    except FileNotFoundError as error:
        raise UnavailableError(f"{what} can't be written, since its folder doesn't exist", "make it first") from error
    except OSError as error:
        raise UnavailableError(f"{what} can't be written ({error.strerror or error})", hint) from error


_UNLOCKABLE = (errno.ENOLCK, errno.EOPNOTSUPP, errno.EISDIR, errno.ELOOP, errno.EINVAL, errno.EBADF, errno.EIO)
"""What a file system says of a lock, apart from that it can't be written."""


@contextmanager
def locking(path: Path, busy: SesError | None = None, *, wait: float = 0, private: bool = False) -> Iterator[None]:
    """Lock other processes out of a block; the operating system releases the lock when a process dies.

    Args:
        path: The file that is locked, which stays; its folder is made.
        busy: What is raised if another process has the lock for longer than `wait` seconds; without it, it is awaited.
        wait: Seconds.
        private: Whether only its owner may open the file.

    Raises:
        UnavailableError: If the file system has no locks, or something else is in the place of the file.
        OSError: If the file can't be written.
    """
    from filelock import FileLock, Timeout

    timeout = -1 if busy is None else wait
    lock = FileLock(path, timeout, 0o600) if private else FileLock(path, timeout)
    try:
        lock.acquire()
    except Timeout:
        assert busy is not None  # noqa: S101 - without it there is no limit
        raise busy from None
    except OSError as error:
        if error.errno not in _UNLOCKABLE:
            raise
        raise UnavailableError(
            f"{path} can't be locked ({error.strerror or error})",
            "it must be a file, on a file system that has locks; if something else is in its place, move that away",
        ) from error
    try:
        yield
    finally:
        lock.release()


def sync(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk."""
    if os.name != "posix":  # Windows opens no folders, and syncs no file that is open for reading
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
