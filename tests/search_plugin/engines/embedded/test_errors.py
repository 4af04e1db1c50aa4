"""What libraries and the file system raise, as sentences."""

from __future__ import annotations

import errno
import os
import struct
import zlib
from types import SimpleNamespace

import pytest

from corpora.errors import ConflictError, UnavailableError
from search_plugin.engines.embedded import errors
from search_plugin.engines.embedded.errors import explained, explains_errors, failure, reads_stored

THREAD = "An error occurred in a thread: 'An index writer was killed.'"
FULL = ("The disk of {} is full", "free some space and try again: it resumes")
BUSY = ("Another process is writing the same index in {}", "wait until it is done")
LONG = ("The path of {} is too long", "give a shorter one with <engine=embedded:DIR>")
UNWRITABLE = ("{} can't be written", "make it a writable folder, or give another with <engine=embedded:DIR>")


def damaged(reason):
    return f"The indexes in {{}} are damaged or can't be used ({reason})", "index again with <fresh>"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), FULL),
        (ValueError('IoError { error: Custom { kind: StorageFull, error: "x" } }'), FULL),
        (ValueError("Failed to acquire Lockfile: LockBusy. Some("), BUSY),
        (OSError(errno.ENAMETOOLONG, "File name too long"), LONG),
        (OSError(errno.EROFS, "Read-only file system"), UNWRITABLE),
        (ValueError("Permission denied (os error 13)"), UNWRITABLE),
        (PermissionError(errno.EPERM, "Not permitted"), UNWRITABLE),
        (FileExistsError(errno.EEXIST, "File exists"), damaged("[Errno 17] File exists")),
        (ValueError("a\n  b\tc"), damaged("a b c")),
        (ValueError("x" * 301), damaged("x" * 300)),
        (MemoryError(), damaged("MemoryError")),
    ],
)
def test_each_kind_of_error_has_its_sentence(tmp_path, error, told):
    found = failure(tmp_path, error)
    assert (found.sentence, found.hint) == (told[0].format(tmp_path), told[1])
    assert isinstance(found, ConflictError) == (told is BUSY)


@pytest.mark.parametrize(("free", "told"), [((16 << 20) - 1, FULL), (16 << 20, damaged(THREAD))])
def test_an_error_in_a_thread_on_a_full_disk_is_the_disks(tmp_path, monkeypatch, free, told):
    monkeypatch.setattr(errors.shutil, "disk_usage", lambda _path: SimpleNamespace(free=free))
    assert failure(tmp_path, ValueError(THREAD)).sentence == told[0].format(tmp_path)
    assert failure(tmp_path, ValueError("x")).sentence == damaged("x")[0].format(tmp_path)


def test_a_file_in_the_place_of_the_folder_can_not_be_written(tmp_path):
    root = tmp_path / "file"
    root.write_bytes(b"")
    for kind in (FileExistsError, NotADirectoryError):
        assert failure(root, kind(1, "x")).sentence == UNWRITABLE[0].format(root)
    assert failure(root, FileNotFoundError(2, "x")).sentence == damaged("[Errno 2] x")[0].format(root)


@pytest.mark.parametrize(("readable", "name", "read"), [(False, "f", True), (True, "f", False), (False, None, False)])
def test_a_file_that_can_be_read_is_not_said_to_be_unreadable(tmp_path, monkeypatch, readable, name, read):
    monkeypatch.setattr(os, "access", lambda _path, mode: readable or mode != os.R_OK)
    found = failure(tmp_path, PermissionError(errno.EACCES, "Permission denied", name))
    sentence = "f can't be read (Permission denied)" if read else UNWRITABLE[0].format(tmp_path)
    assert (found.sentence, found.hint == "let this user read it") == (sentence, read)


class PanicException(BaseException):
    """As a library of Rust raises."""


@pytest.mark.parametrize("kind", [OSError, RuntimeError, MemoryError, ValueError, PanicException])
def test_what_libraries_raise_is_explained(tmp_path, kind):
    with pytest.raises(UnavailableError, match=r"damaged or can't be used \(broken\)"), explained(tmp_path):
        raise kind("broken")


@pytest.mark.parametrize("kind", [KeyError, TypeError, KeyboardInterrupt])
def test_a_fault_of_the_program_stays_one(tmp_path, kind):
    with pytest.raises(kind), explained(tmp_path):
        raise kind("broken")


@pytest.mark.parametrize(
    "kind", [KeyError, IndexError, TypeError, AttributeError, OverflowError, struct.error, zlib.error]
)
def test_what_goes_wrong_with_stored_bytes_is_their_damage(kind):
    @reads_stored
    def read(error):
        raise error

    with pytest.raises(ValueError, match=f"^{kind.__name__}: .?broken"):
        read(kind("broken"))
    for other in (OSError, ZeroDivisionError):
        with pytest.raises(other):
            read(other("broken"))
    assert reads_stored(lambda one, *, other: (one, other))(1, other=2) == (1, 2)


def test_public_methods_of_a_class_are_explained(tmp_path):
    @explains_errors
    class Folder:
        root = tmp_path

        def fails(self, *args, **named):
            raise ValueError(f"{args} {named}")

        def _fails(self):
            raise ValueError

        def yields(self):
            yield 1
            raise ValueError

    folder = Folder()
    with pytest.raises(UnavailableError, match=r"\(\(1,\) {'x': 2}\)"):
        folder.fails(1, x=2)
    assert Folder.fails.__name__ == "fails"
    for call in (folder._fails, lambda: list(folder.yields())):
        with pytest.raises(ValueError):  # noqa: PT011 - without words
            call()
