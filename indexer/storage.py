"""Where block files are: a folder that machines share, or a URL of fsspec such as `s3://BUCKET/FOLDER`.

Files appear whole or not at all: a folder's are written beside their place and then moved, and a store of objects shows
an object once all of it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from corpora.errors import InputError, UnavailableError
from corpora.installed import extra, needing
from corpora.writing import explaining, replacing

_HINT = "look whether the URL is right, and whether this machine has credentials that may read and write there"


class Storage(Protocol):
    """A place of files that processes and machines share; `storage_at` finds it again by its text.

    Every method raises `UnavailableError` where the place can't be used, or refuses it.
    """

    def __str__(self) -> str:
        """Return the path or the URL."""

    def read(self, name: str) -> bytes:
        """Return the content of a file; `FileNotFoundError` if there is none."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file whole or not at all; an older one is replaced."""

    def delete(self, name: str) -> None:
        """Delete a file, if it is there."""

    def names(self, pattern: str) -> list[str]:
        """Return the names of the files that a pattern such as `shard-*.json` fits, the oldest first."""

    def clean(self, ours: Callable[[str], bool] | None = None) -> None:
        """Delete what killed processes have left of files, or of those alone whose names are ours."""


def storage_at(place: str | Path) -> Storage:
    """Return the storage at a path or a URL.

    Raises `InputError` for a URL of an unknown kind, and `UnavailableError` if a package for it is missing, or if it
    can't be opened.
    """
    text = str(place)
    if "://" not in text:
        return FolderStorage(Path(place).resolve())
    with needing(f"{text} needs the package fsspec", extra("scale")):
        import fsspec
    kind = text.partition("://")[0]
    if kind in ("file", "local"):
        return FolderStorage(Path(fsspec.core.url_to_fs(text)[1]))
    if kind.rpartition("::")[2] not in fsspec.available_protocols():
        raise InputError(
            f"There is no storage of the kind {kind}://", "give a folder, or a URL such as s3://BUCKET/FOLDER"
        )
    try:
        files, root = fsspec.core.url_to_fs(text)
    except ImportError as error:
        raise UnavailableError(
            f"{text} needs a package that is missing ({_reason(error)})", "install it on every machine that uses it"
        ) from error
    except Exception as error:  # what a store raises is its own
        raise UnavailableError(f"{text} can't be opened ({_reason(error)})", _HINT) from error
    return UrlStorage(text.rstrip("/"), files, root.rstrip("/"))


@dataclass(frozen=True, slots=True)
class FolderStorage:
    """A folder, as `Storage`; it is made when the first file is written."""

    folder: Path

    def __str__(self) -> str:
        return str(self.folder)

    def read(self, name: str) -> bytes:
        try:
            return (self.folder / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise FileNotFoundError(name) from error
        except OSError as error:
            raise UnavailableError(
                f"{self.folder / name} can't be read ({error.strerror or error})", "look who may read it"
            ) from error

    def write(self, name: str, content: bytes) -> None:
        with self._writing(name):
            self.folder.mkdir(parents=True, exist_ok=True)
            with replacing(self.folder / name) as part:
                part.write_bytes(content)

    def delete(self, name: str) -> None:
        with self._writing(name), suppress(FileNotFoundError, NotADirectoryError):
            (self.folder / name).unlink()

    def names(self, pattern: str) -> list[str]:
        return [path.name for path in sorted(self.folder.glob(pattern), key=lambda path: path.stat().st_mtime_ns)]

    def clean(self, ours: Callable[[str], bool] | None = None) -> None:
        for part in self.folder.glob(".*.part"):  # as `replacing` names them
            if ours is None or ours(part.name[1:].rsplit(".", 2)[0]):
                self.delete(part.name)

    def _writing(self, name: str) -> AbstractContextManager[None]:
        return explaining(self.folder / name, "free some disk, or give another folder with <shards>")


@dataclass(frozen=True, slots=True)
class UrlStorage:
    """Files behind a URL, as `Storage`.

    Attributes:
        url: The URL.
        files: The file system of fsspec.
        root: The folder in it.
    """

    url: str
    files: Any
    root: str

    def __str__(self) -> str:
        return self.url

    def read(self, name: str) -> bytes:
        with self._explaining(name, "read", passing=FileNotFoundError):
            content: bytes = self.files.cat_file(f"{self.root}/{name}")
        return content

    def write(self, name: str, content: bytes) -> None:
        with self._explaining(name, "written"):
            self.files.pipe_file(f"{self.root}/{name}", content)

    def delete(self, name: str) -> None:
        with self._explaining(name, "deleted"), suppress(FileNotFoundError):
            self.files.rm_file(f"{self.root}/{name}")

    def names(self, pattern: str) -> list[str]:
        with self._explaining(pattern, "listed"):
            self.files.invalidate_cache()  # others write there too
            found = self.files.glob(f"{self.root}/{pattern}")
            return [path.rpartition("/")[2] for path in sorted(found, key=self.files.modified)]

    def clean(self, ours: Callable[[str], bool] | None = None) -> None:
        """Do nothing, since parts of objects are never shown."""

    @contextmanager
    def _explaining(
        self, name: str, done: str, passing: type[Exception] | tuple[type[Exception], ...] = ()
    ) -> Iterator[None]:
        try:
            yield
        except passing:
            raise
        except Exception as error:  # what a store raises is its own
            raise UnavailableError(f"{self.url}/{name} can't be {done} ({_reason(error)})", _HINT) from error


def _reason(error: Exception) -> str:
    """Return the first line of what an error says."""
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
