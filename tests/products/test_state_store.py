"""States that users keep by name."""

import os
import stat
from contextlib import suppress
from dataclasses import replace

import pytest
from filelock import FileLock

from corpora.errors import ConflictError, InputError, NotFoundError, UnavailableError
from products.feeds.feed import Feed, remove_seeds
from products.state_store import StateStore

FEED = Feed("papers", "embedded:/x", ("a", "b"), ("c",), filter="year>=2000")


@pytest.fixture
def kept(tmp_path):
    return StateStore(tmp_path / "feeds", Feed, "feed")


def test_what_was_kept_is_read_again(kept):
    assert kept.names() == []
    kept.create("one", FEED)
    kept.create("a-2", Feed("papers", "", query="virus"))
    assert (kept.load("one"), kept.names()) == (FEED, ["a-2", "one"])
    with kept.changing("one") as changing:
        changing.state = Feed("papers", "")
    assert kept.load("one") == Feed("papers", "")
    kept.delete("one")
    assert kept.names() == ["a-2"]


def test_only_their_owner_can_read_them(kept):
    before = os.umask(0)
    try:
        kept.create("one", FEED)
        with kept.changing("one") as changing:
            changing.state = Feed("papers", "")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (kept.folder, *kept.folder.iterdir())}
    assert modes == {"feeds": 0o700, "one.json": 0o600, "one.lock": 0o600}


def test_a_change_that_fails_changes_nothing(kept):
    kept.create("one", FEED)
    with pytest.raises(InputError), kept.changing("one") as changing:
        changing.state = remove_seeds(replace(changing.state, query="virus"), ["unknown"])
    assert kept.load("one") == FEED


def test_a_name_is_taken_once(kept):
    kept.create("one", FEED)
    with pytest.raises(InputError, match="There is a feed one already; choose another name, or delete it"):
        kept.create("one", Feed("others", ""))
    assert kept.load("one") == FEED


@pytest.mark.parametrize("name", ["", "../x", "a/b", "A", ".hidden", "x" * 65, "a b"])
def test_names_are_plain_file_names(kept, name):
    with pytest.raises(InputError, match="A feed can't be named"):
        kept.create(name, FEED)


def test_an_unknown_name_is_answered_with_the_known_ones(kept):
    with pytest.raises(NotFoundError, match="There is no feed 'one'; create the first feed"):
        kept.load("one")
    kept.create("two", FEED)
    with pytest.raises(NotFoundError, match="choose one of two"):
        kept.delete("one")


@pytest.mark.parametrize("content", [b"{", b'{"index": 3, "engine": ""}', b'{"index": "a", "engine": "", "more": 1}'])
def test_a_damaged_file_is_said_to_be(kept, content):
    kept.create("one", FEED)
    (kept.folder / "one.json").write_bytes(content)
    with pytest.raises(UnavailableError, match="was not written by this version of ses, or is damaged"):
        kept.load("one")


def test_two_changes_at_once_wait_for_each_other(kept, monkeypatch):
    monkeypatch.setattr("products.state_store._WAIT", 0.05)
    kept.create("one", FEED)
    with FileLock(kept.folder / "one.lock"), pytest.raises(ConflictError, match="Another run is changing the feed one"):
        kept.delete("one")
    assert kept.names() == ["one"]


def test_a_file_of_an_earlier_version_has_no_checksum_and_is_read(kept):
    kept.create("one", FEED)
    file = kept.folder / "one.json"
    lines = file.read_text().splitlines()
    assert lines[-2].startswith('  "checksum": ')
    file.write_text("\n".join([*lines[:-3], lines[-3].rstrip(","), "}"]))
    assert kept.load("one") == FEED
    with kept.changing("one") as changing:
        changing.state = replace(FEED, title="T")
    assert '"checksum": ' in file.read_text()


def test_a_bit_that_flipped_is_reported(kept):
    kept.create("one", FEED)
    file = kept.folder / "one.json"
    whole = file.read_bytes()
    for at in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[at // 8] ^= 1 << at % 8
        file.write_bytes(flipped)
        with suppress(UnavailableError):
            assert kept.load("one") == FEED  # spaces between its parts mean nothing


def test_what_can_not_be_locked_is_reported(kept):
    (kept.folder / "one.lock").mkdir(parents=True)
    with pytest.raises(UnavailableError, match=r"one\.lock can't be locked \(Is a directory\); it must be a file"):
        kept.create("one", FEED)


def test_an_error_of_the_block_is_not_one_of_the_lock(kept):
    kept.create("one", FEED)
    with pytest.raises(ConnectionError), kept.changing("one"):
        raise ConnectionError
