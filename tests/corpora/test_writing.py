"""Files and folders that are written whole or not at all."""

import errno
import fcntl
import os
import re
import stat
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

import corpora
from corpora.errors import ConflictError, UnavailableError
from corpora.writing import explaining, locking, private_folder, replacing


@pytest.mark.parametrize("locked", [True, False])
def test_a_file_is_replaced_when_it_is_whole(tmp_path, locked):
    place = tmp_path / "x"
    place.write_text("old")
    with replacing(place, locked=locked) as part:
        part.write_text("new")
        assert (part.parent, place.read_text()) == (tmp_path, "old")
    assert (place.read_text(), [*tmp_path.iterdir()]) == ("new", [place])


@pytest.mark.parametrize("locked", [True, False])
@pytest.mark.parametrize("folder", [True, False])
def test_an_error_leaves_the_old_one_and_nothing_else(tmp_path, folder, locked):
    place = tmp_path / "x"
    place.write_text("old")

    def write():
        with replacing(place, locked=locked) as part:
            part.mkdir() if folder else part.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert (place.read_text(), [*tmp_path.iterdir()]) == ("old", [place])


def test_a_folder_replaces_another_with_all_that_was_in_it(tmp_path):
    place = tmp_path / "x"
    (place / "old").mkdir(parents=True)
    with replacing(place) as part:
        (part / "new").mkdir(parents=True)
        (part / "new" / "file").write_text("text")
    assert [path.relative_to(place).as_posix() for path in sorted(place.rglob("*"))] == ["new", "new/file"]
    assert [*tmp_path.iterdir()] == [place]


def test_all_of_it_is_on_the_disk_before_it_is_moved_and_the_name_afterwards(tmp_path, monkeypatch):
    place, synced, sync = tmp_path / "x", [], os.fsync

    def noted(handle):
        synced.append((Path(f"/proc/self/fd/{handle}").readlink().name, place.exists()))
        sync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    with replacing(place, locked=True) as part:
        part.mkdir()
        (part / "file").write_text("text")
    assert synced == [("file", False), ("x.part", False), (tmp_path.name, True)]


def test_what_a_killed_process_left_is_removed_under_a_lock(tmp_path):
    (tmp_path / "x.part").mkdir()
    (tmp_path / "x.part" / "half").touch()
    with replacing(tmp_path / "x", locked=True) as part:
        part.write_text("whole")
    assert ((tmp_path / "x").read_text(), [*tmp_path.iterdir()]) == ("whole", [tmp_path / "x"])


def test_without_a_lock_the_last_one_wins(tmp_path):
    place = tmp_path / "x"
    with replacing(place) as first, first.open("w") as file:
        file.write("fir")
        file.flush()
        with replacing(place) as second:
            second.write_text("second")
        assert place.read_text() == "second"
        file.write("st")
    assert (place.read_text(), [*tmp_path.iterdir()]) == ("first", [place])


def test_links_and_permissions_stay(tmp_path):
    place, link = tmp_path / "folder" / "x", tmp_path / "link"
    place.parent.mkdir()
    place.write_text("old")
    place.chmod(0o640)
    link.symlink_to(place)
    with replacing(link) as part:
        part.write_text("new")
    assert (link.is_symlink(), place.read_text(), stat.S_IMODE(place.stat().st_mode)) == (True, "new", 0o640)


def test_a_pipe_is_written_in_place():
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "w"):
        with replacing(Path(f"/proc/self/fd/{writing}")) as part:
            part.write_text("text")
        assert os.read(reading, 10) == b"text"


def test_why_a_file_can_not_be_written_is_said_in_a_sentence(tmp_path):
    place = tmp_path / "none" / "x"
    told = f"{place} can't be written, since its folder doesn't exist; make it first."
    with pytest.raises(UnavailableError, match=re.escape(told)), explaining(place), replacing(place) as part:
        part.write_text("text")
    told = f"{tmp_path} can't be written (Is a directory); free some disk, or write to another place."
    with pytest.raises(UnavailableError, match=re.escape(told)), explaining(tmp_path):
        tmp_path.write_text("text")


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def _umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("_umask")
@pytest.mark.parametrize("locked", [True, False])
@pytest.mark.parametrize("there", [True, False])
def test_a_private_file_is_never_open_to_others(tmp_path, there, locked):
    place = tmp_path / "x"
    if there:
        place.write_text("old")
        place.chmod(0o644)
    with replacing(place, locked=locked, private=True) as part:
        assert mode(part) == 0o600
        part.write_text("new")
    assert (mode(place), place.read_text()) == (0o600, "new")


@pytest.mark.usefixtures("_umask")
def test_a_private_folder_is_made_and_an_open_one_is_closed(tmp_path):
    private_folder(tmp_path / "a" / "b")
    assert mode(tmp_path / "a" / "b") == 0o700
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    private_folder(tmp_path / "open")
    assert mode(tmp_path / "open") == 0o700


BUSY = ConflictError("Another run has it", "wait")


def test_a_lock_is_for_one_at_a_time_and_is_released(tmp_path):
    place = tmp_path / "x.lock"
    for error in (None, OSError("of the block")):
        with suppress(OSError), locking(place, BUSY):
            with pytest.raises(ConflictError, match="Another run has it"), locking(place, BUSY):
                pass
            if error:
                raise error
    with locking(place, BUSY):
        pass


@pytest.mark.parametrize("options", [{}, {"busy": BUSY, "wait": 60}])
def test_a_lock_is_awaited(tmp_path, options):
    held, ended = threading.Event(), []

    def work():
        with locking(tmp_path / "x.lock", BUSY):
            held.set()
            time.sleep(0.2)
            ended.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    held.wait()
    with locking(tmp_path / "x.lock", **options):
        assert ended
    thread.join()


def test_a_private_lock_is_its_owners_alone(tmp_path):
    with locking(tmp_path / "own", BUSY, private=True):
        assert mode(tmp_path / "own") == 0o600


LOCKLESS = r"x\.lock can't be locked \(.*\); it must be a file, on a file system that has locks"


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_reported(tmp_path, monkeypatch, number):
    def flock(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(UnavailableError, match=LOCKLESS), locking(tmp_path / "x.lock", BUSY):
        pass


def test_something_else_in_the_place_of_a_lock_is_reported(tmp_path):
    (tmp_path / "x.lock").mkdir()
    with pytest.raises(UnavailableError, match=LOCKLESS), locking(tmp_path / "x.lock"):
        pass
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"), locking(tmp_path / "file" / "x.lock"):
        pass


def test_the_folder_of_a_lock_is_made(tmp_path):
    with locking(tmp_path / "a" / "b" / "x.lock"):
        assert (tmp_path / "a" / "b").is_dir()


def test_all_locks_are_of_one_function():
    root = Path(corpora.__file__).parents[1]
    files = [*root.glob("*/**/*.py")]
    packages = {"ses", "training", "eval", "products", "indexer", "search_plugin", "encoders", "corpora"}
    using = [
        str(file.relative_to(root))
        for file in files
        if file.relative_to(root).parts[0] in packages and "filelock" in file.read_text(encoding="utf-8")
    ]
    assert using == ["corpora/writing.py"]
